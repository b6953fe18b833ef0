"""Passes over shards: each is a function of a shard, and a way to merge what it gives.

On this machine shards are read one after the other; statistics that are finished can be kept in a folder, so that a run
that was stopped goes on where it was. On Dask the function goes to where the shards are, and results are merged in
pairs, so that no more than two of them meet anywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from ..base.archive import ModelFileError, open_state, write_state
from ..base.errors import BayesLSSVMWarning, warn
from ..base.memory import freed_memory_kept
from ..base.progress import tqdm
from ..base.standardisation import Standardiser
from ..base.threads import at_most
from ..base.typing import AnyArray, Array
from .blocks import ROWS, Block, Shard, ShardError
from .features import FeatureMap, NystromMap
from .objective import RowDerivative, block_gradient
from .sample import Look
from .statistics import Statistics

Found = TypeVar("Found")
_SEEN_TOGETHER = 15 * ROWS  # below 2¹⁴, so that a column of numbers stays below what malloc maps anew each time


class Runner(Protocol):
    """Does a pass over the shards that it knows."""

    def __call__(
        self, work: Callable[[Shard], Found], merge: Callable[[Found, Found], Found], what: str, key: str = ""
    ) -> Found:
        """What `work` gives for all shards, merged.

        `what` is shown on the progress bar; statistics are kept under `key`, where there is a folder.
        """


# --- the work on one shard -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TakeALook:
    """The first pass."""

    seed: int
    classes: bool

    def __call__(self, shard: Shard) -> Look | None:
        """What is seen of a shard; None of an empty one."""
        seen: list[Look] = []
        for X, y, weights in self._larger_blocks(shard):
            if len(X):
                seen.append(Look.at(X, y, self.seed, classes=self.classes, weights=weights, name=shard.name))
            # those that keep about as many rows are merged, so that all that are kept are not copied with every block
            while len(seen) > 1 and len(seen[-2].X) <= 2 * len(seen[-1].X):
                seen[-2:] = [seen[-2].merge(seen[-1])]
        return reduce(Look.merge, seen) if seen else None

    def _larger_blocks(self, shard: Shard) -> Iterator[Block]:
        """Several blocks put together: merging a look at each of them would copy their rows as often as it halves."""
        waiting: list[Block] = []
        for X, y, weights in shard.blocks():
            waiting.append((X, y if self.classes else _as_numbers(y, shard.name), weights))
            if sum(len(block[0]) for block in waiting) >= _SEEN_TOGETHER:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)


def _joined(blocks: list[Block]) -> Block:
    X, y, weights = zip(*blocks, strict=True)
    own = None
    if any(each is not None for each in weights):
        own = np.concatenate([np.ones(len(x)) if w is None else w for x, w in zip(X, weights, strict=True)])
    return np.concatenate(X), np.concatenate(y), own


def merge_looks(a: Look | None, b: Look | None) -> Look | None:
    """Both, where they saw anything."""
    if a is None or b is None:
        return b if a is None else a
    if len(a.mean) != len(b.mean):
        raise ShardError(f"{b.name}: it has {len(b.mean)} input columns, {a.name} before it {len(a.mean)}.")
    return a.merge(b)


@dataclass(frozen=True)
class Encoding:
    """From rows as given to what the sums are over: standardised inputs, and numbers of classes or real targets."""

    standardiser: Standardiser
    classes: AnyArray | None

    def __call__(self, X: Array, y: AnyArray, name: str) -> tuple[Array, AnyArray]:
        """Inputs and targets of a block of the shard `name`."""
        if self.classes is None:
            return self.standardiser(X), _as_numbers(y, name)
        labels = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        unknown = self.classes[labels] != y
        if unknown.any():
            raise ShardError(
                f"{name}: the label {y[unknown].tolist()[0]!r} is not one of the classes {self.classes.tolist()}."
            )
        return self.standardiser(X), labels


def _as_numbers(y: AnyArray, name: str) -> Array:
    try:
        numbers = y.astype(float)
    except (TypeError, ValueError):
        raise ShardError(f"{name}: the targets are not numbers.") from None
    if not np.isfinite(numbers).all():
        raise ShardError(
            f"{name}: a target is missing or not finite. Leave its row out; sums of other shards that were kept "
            "stay valid."
        )
    return np.asarray(numbers)


@dataclass(frozen=True)
class Collect:
    """The pass that sums over features."""

    features: FeatureMap
    encoding: Encoding
    by_class: bool

    def __call__(self, shard: Shard) -> Statistics:
        """The sums of a shard."""
        classes = 1 if self.encoding.classes is None else len(self.encoding.classes)
        found = Statistics.empty(self.features.size, classes, by_class=self.by_class)
        room = self.features.room(ROWS)
        for X, y, weights in shard.blocks(len(self.encoding.standardiser.mean)):
            inputs, targets = self.encoding(X, y, shard.name)
            found.add(self.features(inputs, room), targets, self.features.kernel.diag(inputs), weights)
        return found

    @property
    def key(self) -> str:
        """A name for all that the sums depend on, besides the shard."""
        digest = hashlib.sha256(json.dumps(self.features.kernel.to_dict(), sort_keys=True).encode())
        points = self.features.Z if isinstance(self.features, NystromMap) else np.empty(0)
        for array in (points, self.encoding.standardiser.mean, self.encoding.standardiser.scale):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(
            repr((self.by_class, None if self.encoding.classes is None else self.encoding.classes.tolist())).encode()
        )
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Differentiate:
    """The pass that sums what rows add to the gradient of the evidence."""

    features: NystromMap
    encoding: Encoding
    rows: Sequence[RowDerivative]

    def __call__(self, shard: Shard) -> Array:
        """The sum over a shard, for each of the kernel's log parameters."""
        total = np.zeros(len(self.features.kernel.log_params))
        room = self.features.room(ROWS)
        for X, y, weights in shard.blocks(len(self.encoding.standardiser.mean)):
            total += block_gradient(self.features, self.rows, *self.encoding(X, y, shard.name), weights, room)
        return total


# --- where it is done ------------------------------------------------------------------------------------------------


def kept(work: Callable[[Shard], Found], shard: Shard, folder: Path | None, key: str) -> Found:
    """What the work gives for a shard, or has given before: statistics are kept in a folder, under a key."""
    if folder is None or not key:
        return work(shard)
    own = hashlib.sha256(f"{shard.name}\0{shard.version}".encode()).hexdigest()[:24]
    path = folder / key / f"{own}.npz"
    if path.exists():
        try:
            with open_state(path) as state:
                return Statistics.from_state(state)  # type: ignore[return-value]
        except ModelFileError as error:
            warn(f"{error} The shard {shard.name} is read again.", BayesLSSVMWarning)
    found: Any = work(shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_state(found.state(), path)
    return cast(Found, found)


@dataclass(frozen=True)
class Local:
    """Shard after shard on this machine.

    Attributes
    ----------
    shards : sequence of Shard
    folder : Path, optional
        Where the statistics of finished shards are kept.
    """

    shards: Sequence[Shard]
    folder: Path | None = None
    _rows: dict[str, int] = field(default_factory=dict, repr=False)  # of the shards, for the estimates of later passes

    def __call__(
        self, work: Callable[[Shard], Found], merge: Callable[[Found, Found], Found], what: str, key: str = ""
    ) -> Found:
        total = sum(self._rows.values()) if len(self._rows) == len(self.shards) else None
        with tqdm(total=total, desc=what, unit="row", unit_scale=True, delay=2.0, disable=None, leave=False) as bar:
            return reduce(merge, (self._found(work, shard, key, bar) for shard in self.shards))

    def _found(self, work: Callable[[Shard], Found], shard: Shard, key: str, bar: Any) -> Found:
        seen = 0

        def read() -> Iterator[tuple[Any, ...]]:
            nonlocal seen
            for block in shard.read():
                yield block
                seen += len(block[0])
                bar.update(len(block[0]))

        found = kept(work, replace(shard, read=read), self.folder, key)
        if not seen:  # kept from before
            bar.update(self._rows.get(shard.name, 0))
        self._rows[shard.name] = seen or self._rows.get(shard.name, 0)
        return found


@dataclass(frozen=True)
class OnDask:
    """Tasks on a Dask cluster, or on the default scheduler.

    Attributes
    ----------
    parts : sequence
        Shards, which workers can read; or for each partition a tuple of its name and its delayed inputs, targets and
        weights, if there are any.
    client : distributed.Client, optional
    folder : Path, optional
        Where the statistics of finished parts are kept; workers see the same files.
    """

    parts: Sequence[Any]
    client: Any = None
    folder: Path | None = None

    def __call__(
        self, work: Callable[[Shard], Found], merge: Callable[[Found, Found], Found], what: str, key: str = ""
    ) -> Found:
        from dask.base import compute
        from dask.delayed import delayed

        own, join = delayed(_on_part, pure=False), delayed(merge, pure=False)
        # a task of its own, so that the m × m numbers of a feature map travel once and not with every part
        shared = delayed(work, pure=False, traverse=False)
        level = [own(shared, self.folder, key, part) for part in self.parts]
        while len(level) > 1:
            pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            level = pairs + ([level[-1]] if len(level) % 2 else [])
        if self.client is None:
            (found,) = compute(level[0])  # type: ignore[no-untyped-call]
            return cast(Found, found)
        try:
            return cast(Found, self.client.compute(level[0]).result())
        except Exception as error:
            raise _lost(error, what, self.folder) from error


def _on_part(work: Callable[[Shard], Found], folder: Path | None, key: str, part: Any) -> Found:
    """The work on a part that has come to this worker, by one BLAS thread: other parts are at work beside it."""
    with at_most(1), freed_memory_kept():
        if isinstance(part, Shard):
            return kept(work, part, folder, key)
        name, *columns = part
        return kept(work, Shard(name, lambda: [tuple(columns)]), None, key)


_LOST = ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError")


def _lost(error: Exception, what: str, folder: Path | None) -> Exception:
    """A cluster that went away as one sentence; what rows are to blame for stays what it is."""
    if not isinstance(error, OSError) and type(error).__name__ not in _LOST:
        return error
    found = (
        f"finished parts are kept in {folder}"
        if folder is not None
        else "nothing was kept, since folder= was not given"
    )
    return ConnectionError(
        f"The Dask cluster was lost during the pass {what!r} ({type(error).__name__}); {found}. The same call "
        "resumes from there, with or without a scheduler."
    )
