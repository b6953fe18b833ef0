"""Model files as an accident or an attacker would leave them: each seed makes one, always the same."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile

import numpy as np

from bayes_lssvm.base.archive import checksum

STRANGE = (None, "x", "", -1, 0, 1, True, 3.7, 1e308, 1e400, -1e400, np.nan, 10**400, [], [1], {}, {"kind": "RBF"})
NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320)


def members_of(raw: bytes) -> dict[str, bytes]:
    """The packed members by name, ".npy" included."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: list[tuple[str, bytes]]) -> bytes:
    """An archive of these members, in which names may repeat."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.NameToInfo.pop(name, None)  # zipfile would warn of a name that repeats
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array) -> bytes:
    """An array as a member."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)
    return stream.getvalue()


def opened(raw: bytes) -> tuple[dict, dict]:
    """Header and arrays of an honest file."""
    with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(str(arrays.pop("header"))), arrays


def written(header: dict, arrays: dict, dice: random.Random) -> tuple[bytes, bool]:
    """A file whose checksum is right, stale, or absent as in earlier versions; and whether it vouches for the rest."""
    vouched = dice.random() < 0.2
    if not vouched:
        header = header | {"arrays": sorted(arrays)}
        try:
            header["sha256"] = checksum(header, arrays)
        except ValueError:  # arrays of objects cannot be written without pickling
            vouched = True
        if dice.random() < 0.3:
            header = {k: v for k, v in header.items() if k not in ("sha256", "arrays")} | {"version": 2}
    stream = io.BytesIO()
    np.savez_compressed(stream, header=np.array(json.dumps(header)), **arrays)
    return stream.getvalue(), vouched


# --- accidents: the bytes change ------------------------------------------------------------------------------------


def flipped(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    damaged = bytearray(raw)
    for _ in range(dice.choice((1, 1, 2, 8))):
        damaged[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
    return bytes(damaged), True


def truncated(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    return raw[: dice.randrange(len(raw))], True


def spliced(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    i, j = sorted(dice.randrange(len(raw)) for _ in range(2))
    return raw[:i] + dice.randbytes(dice.randrange(40)) + raw[dice.choice((i, j)) :], True


# --- somebody who knows archives ------------------------------------------------------------------------------------


def renamed(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    members = list(members_of(raw).items())
    k = dice.randrange(len(members))
    name = dice.choice((".npy", "x.npy", "../x.npy", "X.npy", "header.npy", "0/X.npy", members[k][0] + " ", "é\0.npy"))
    return packed([(name if i == k else n, c) for i, (n, c) in enumerate(members)]), True


def repeated_or_dropped(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    members = list(members_of(raw).items())
    k = dice.randrange(len(members))
    return packed(members[:k] + members[k + 1 :] if dice.random() < 0.5 else [*members, members[k]]), True


def described_otherwise(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    """The description of an array, which is Python's text in NumPy's format, replaced by something else."""
    members = members_of(raw)
    name = dice.choice(sorted(members))
    content = members[name]
    length = struct.unpack("<H", content[8:10])[0]
    texts = (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 1000000), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10L,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10, }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f0', 'fortran_order': False, 'shape': (0,), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (), }",
        "[" * 5000,
        "__import__('os').getcwd()",
        "",
    )
    text = (dice.choice(texts) + "\n").encode()
    start = content[:8] + struct.pack("<H", len(text)) + text
    members[name] = start + content[10 + length :]
    if dice.random() < 0.2:  # a description of up to four gigabytes
        members[name] = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + content[10:]
    return packed(list(members.items())), True


# --- somebody who knows the format ----------------------------------------------------------------------------------


def other_type_or_shape(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    header, arrays = opened(raw)
    name = dice.choice(sorted(arrays))
    a = arrays[name]
    changes = (
        lambda: a.astype(str),
        lambda: np.zeros(a.shape, dtype=dice.choice((">f8", "<f4", "<i8", "|b1", "<c16", "<M8[s]"))),
        lambda: a.reshape(-1),
        lambda: a[..., None],
        lambda: a[:0],
        lambda: np.concatenate([a, a]),
        lambda: np.array(0.0),
        lambda: a.T,
    )
    arrays[name] = dice.choice(changes)()
    return written(header, arrays, dice)


def other_numbers(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    header, arrays = opened(raw)
    name = dice.choice([name for name in sorted(arrays) if arrays[name].dtype == float])
    changed = arrays[name].copy()
    changed.reshape(-1)[dice.randrange(changed.size)] = dice.choice(NUMBERS)
    arrays[name] = changed
    return written(header, arrays, dice)


def other_header(raw: bytes, dice: random.Random) -> tuple[bytes, bool]:
    header, arrays = opened(raw)
    at = header
    while True:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        key = dice.choice(keys)
        if not isinstance(at[key], dict | list) or not at[key] or dice.random() < 0.2:
            break
        at = at[key]
    if isinstance(at, dict) and dice.random() < 0.2:
        del at[key]
    else:
        at[key] = dice.choice(STRANGE)
    return written(header, arrays, dice)


KINDS = (
    flipped,
    truncated,
    spliced,
    renamed,
    repeated_or_dropped,
    described_otherwise,
    other_type_or_shape,
    other_numbers,
    other_header,
)


def tampered(raw: bytes, seed: int) -> tuple[bytes, bool, str]:
    """A tampered file, whether its checksum should vouch for what is loaded, and what was done."""
    kind = KINDS[seed % len(KINDS)]
    return *kind(raw, random.Random(seed)), kind.__name__
