"""Members that are designed one by one: any binary estimator, in parallel, resumable.

Member l is a clone of the given estimator, fitted to the points whose class takes part in bit l, with targets ±1. What
decodings need of it are its output z and the ratio log p(x | y=+1) − log p(x | y=−1):

`BayesianLSSVC`        z_MP, and its moderated output at equal class priors
`FullyBayesianLSSVC`   the posterior mean of z, and its averaged moderated output at equal class priors
others                 `decision_function`, and the log odds of `predict_proba` less those of the training classes
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..base.archive import ModelFileError, State, open_state, write_state
from ..base.errors import (
    BayesLSSVMWarning,
    ConstantFeatureWarning,
    DamagedFileWarning,
    EvidenceDivergenceWarning,
    InterpolationWarning,
    NoSignalWarning,
    heard,
    warn,
)
from ..base.holds import Claims, remove_abandoned
from ..base.processes import own_workers
from ..base.progress import tqdm
from ..base.provenance import data_hash, provenance
from ..base.threads import Workers, at_most
from ..base.typing import AnyArray, Array

_SURE = 1e-15  # probabilities of the members are told from one no closer than this
_PAUSE = 0.5  # seconds between looks at members that another process fits


_CATEGORIES: dict[str, type[Warning]] = {
    kind.__name__: kind
    for kind in (
        ConstantFeatureWarning,
        ConvergenceWarning,
        EvidenceDivergenceWarning,
        InterpolationWarning,
        NoSignalWarning,
    )
}


class Keeper(NamedTuple):
    """How a fitted member becomes a state, and a state a member."""

    state_of: Callable[[Any], State]
    restored: Callable[[State], Any]


class Complaint(NamedTuple):
    """A warning that a member gave."""

    bit: int
    category: type[Warning]
    message: str


def fit_members(
    estimator: Any,
    X: Array,
    labels: AnyArray,
    code: Array,
    *,
    weights: Array | None = None,
    workers: Workers | None = None,
    folder: str | Path | None = None,
    keeper: Keeper | None = None,
) -> tuple[list[Any], list[Complaint]]:
    """Fit a clone of the estimator for each bit.

    Parameters
    ----------
    estimator : binary classifier
    X : array of shape (N, d)
    labels : array of int of shape (N,)
        Numbers of the classes, rows of the code book.
    code : array of shape (M, L)
    weights : array of shape (N,), optional
        Of the rows; each member is fitted with those of its own.
    workers : Workers, optional
        How many processes, and BLAS threads of each; this process alone by default.
    folder : path, optional
        Where finished members are kept as model files, and found again by a run with the same data, settings and
        versions. Nothing in them is code; one that is damaged is computed again, with a warning. Processes with the
        same folder share the work.
    keeper : Keeper, optional
        How members become states and back; needed for a folder.

    Returns
    -------
    list of fitted estimators, in the order of the bits
    list of Complaint
    """
    if folder is not None and keeper is None:
        raise ValueError(
            f"folder= keeps members as model files, which hold BayesianLSSVC only: {estimator!r} could only be "
            "kept as a pickle, and opening a pickle can run any code. Leave folder=None."
        )
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    jobs = {}
    for bit, column in enumerate(code.T):
        rows = np.flatnonzero(column[labels] != 0)
        y = column[labels[rows]].astype(int)
        own = () if weights is None else (weights[rows],)
        key = f"member-{bit:04d}-{_key(estimator, X[rows], y, *own)}"
        if folder is not None and (Path(folder) / f"{key}.npz").is_dir():
            raise ValueError(f"folder={str(folder)!r} has a folder {key}.npz where a member's file belongs; remove it.")
        jobs[key] = delayed(_fit_one)(bit, key, clone(estimator), (X[rows], y, *own), folder, keeper, workers)
    members: list[Any] = [None] * len(jobs)
    complaints: list[Complaint] = []
    with tqdm(total=len(jobs), desc="members", disable=None, leave=False) as bar:
        for bit, member, said in _as_they_come(jobs, 1 if workers is None else workers.processes, folder):
            members[bit] = member
            complaints.extend(said)
            bar.update()
    return members, sorted(complaints, key=lambda complaint: complaint.bit)


_Fitted = tuple[int, Any, list[Complaint]]


def _as_they_come(jobs: dict[str, Any], n_jobs: int, folder: str | Path | None) -> Iterator[_Fitted]:
    """Fitted members in any order; those that another process is at are taken from the folder when it has them."""
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", **own_workers())
    if folder is None:
        yield from parallel(jobs.values())
        return
    keys = list(jobs)
    remove_abandoned(Path(folder))
    with Claims(Path(folder), keys) as claims:
        while claims.left:
            for fitted in parallel(jobs[key] for key in claims):
                claims.done(keys[fitted[0]])
                yield fitted
            if claims.left:
                time.sleep(_PAUSE)


def _fit_one(
    bit: int,
    key: str,
    estimator: Any,
    data: tuple[AnyArray, ...],
    folder: str | Path | None,
    keeper: Keeper | None,
    workers: Workers | None,
) -> _Fitted:
    X, y, *weights = data
    settings = {"sample_weight": weights[0]} if weights else {}
    # a process begins with its share of the cores, unless the environment names a number of threads
    limit = nullcontext() if workers is None else at_most(workers.blas_threads)
    with heard() as said, limit:
        if folder is None or keeper is None:
            member = estimator.fit(X, y, **settings)
        else:
            path = Path(folder) / f"{key}.npz"
            member = _found(path, key, keeper)
            if member is None:
                with heard() as own:
                    member = estimator.fit(X, y, **settings)
                own_words = [[warning.category.__name__, warning.message] for warning in own]
                write_state(keeper.state_of(member) | State({"member": key, "warnings": own_words}, {}), path)
                said += own
    return bit, member, [Complaint(bit, category, message) for message, category in said]


def _found(path: Path, key: str, keeper: Keeper) -> Any:
    """The member that is kept in a file, whose warnings are given again; None where there is none that is whole."""
    if not path.exists():
        return None
    try:
        with open_state(path) as state:
            if state.header.get("member") != key:
                raise ValueError("it is the file of another member")
            member = keeper.restored(state)
            for name, message in state.header["warnings"]:
                warn(str(message), _CATEGORIES.get(name, BayesLSSVMWarning))
    except ModelFileError as error:
        warn(f"A member is computed again: {error}", DamagedFileWarning)
        return None
    return member


def _key(estimator: Any, *data: AnyArray) -> str:
    """A name that changes with the data, the settings and the versions."""
    versions = provenance(settings={}, data=())["versions"]
    settings = f"{type(estimator).__qualname__} {estimator.get_params()!r} {versions!r}"
    return hashlib.sha256((data_hash(*data) + settings).encode()).hexdigest()[:16]


def has_ratio(member: Any) -> bool:
    """Whether Bayesian decoding can use such a member."""
    return hasattr(member, "predict_proba")


def output_of(member: Any, X: Array) -> Array:
    """The output z of a fitted member for each row of X, positive for its class +1."""
    if hasattr(member, "latent"):
        return np.asarray(member.latent(X))
    if hasattr(member, "posterior_") and hasattr(member, "standardiser_"):
        return np.asarray(member.posterior_.predict(member.standardiser_(X)))
    if hasattr(member, "decision_function"):
        return np.asarray(member.decision_function(X), dtype=float)
    return _log_odds(member.predict_proba(X))


def log_ratio_of(member: Any, X: Array, share: float) -> Array:
    """Log p(x | y=+1) − log p(x | y=−1) by a fitted member, for each row of X.

    `share` is that of the class +1 among the member's training points.
    """
    if hasattr(member, "latent"):
        return np.asarray(member.decision_function(X, class_prior=[0.5, 0.5], costs=[[0.0, 1.0], [1.0, 0.0]]))
    if hasattr(member, "posterior_") and hasattr(member, "standardiser_"):
        return _log_odds(member.predict_proba(X, class_prior=[0.5, 0.5]))
    return _log_odds(member.predict_proba(X)) - float(logit(share))


def _log_odds(probabilities: Array) -> Array:
    return np.asarray(logit(np.clip(probabilities[:, 1], _SURE, 1.0 - _SURE)))


def rows_of(member: Any) -> tuple[Array, Array]:
    """Inputs and targets ±1 that an LS-SVM member was fitted to."""
    if hasattr(member, "X_fit_"):
        return member.X_fit_, member.y_fit_
    if hasattr(member, "posterior_"):
        return member.posterior_.X, member.posterior_.y
    raise ValueError(
        f"{type(member).__name__} does not keep its training data; give them to bayes_lssvm.trust instead."
    )
