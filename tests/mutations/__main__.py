"""Which faults in the formulas do the tests notice? `python -m tests.mutations [AREA ...] --seed 1 --sample 40`.

Every area gets a sample of the faults that `operators` can put into its modules. Each is written into a copy of the
tree, never into the checkout, and run against the fast tests of its area. The score is the share that a test notices,
of all but those that `equivalent.json` shows to change nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.mutations.areas import AREAS, HERE, Area, equivalents
from tests.mutations.operators import Mutant, mutants_of

ROOT = HERE.parents[1]
LEFT_OUT = (".git", ".venv*", "__pycache__", "output", "gallery", ".mypy_cache", ".ruff_cache", ".hypothesis")
KILLED = ("killed", "timed out")
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def sample(area: Area, seed: int, size: int, root: Path = ROOT) -> list[Mutant]:
    """Faults of an area, drawn without repeats."""
    every = [m for path in area.sources for m in mutants_of((root / path).read_text("utf-8"), path)]
    return random.Random(seed).sample(every, min(size, len(every)))


def listed(area: Area, root: Path = ROOT) -> list[Mutant]:
    """The faults of an area that `equivalent.json` names."""
    known = equivalents()
    every = [m for path in area.sources for m in mutants_of((root / path).read_text("utf-8"), path)]
    return [m for m in every if m.key in known or m.line_key in known]


def run(area: Area, mutants: Iterable[Mutant], seconds: float, root: Path = ROOT) -> list[dict[str, Any]]:
    """The verdict on each fault, from a copy of the tree; tests of that many seconds in all may look at it."""
    fields = [mutant._asdict() for mutant in mutants]
    return execute({"sources": area.sources, "tests": area.tests, "mutants": fields, "seconds": seconds}, root)


def execute(wanted: Mapping[str, Any], root: Path = ROOT) -> list[dict[str, Any]]:
    """What the worker finds out about a job, in a copy of the tree."""
    with tempfile.TemporaryDirectory() as folder:
        tree, job, results = Path(folder, "tree"), Path(folder, "job.json"), Path(folder, "results.jsonl")
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        job.write_text(json.dumps(wanted))
        command = [sys.executable, "-m", "tests.mutations.worker", str(job), str(results)]
        subprocess.run(command, cwd=tree, check=True, env={**os.environ, **THREADS, "PYTHONPATH": str(tree)})
        return [json.loads(line) for line in results.read_text().splitlines()]


def place(fault: Mapping[str, Any]) -> tuple[Any, ...]:
    """What names a fault as long as its file is the same."""
    return fault["path"], fault["start"], fault["end"], fault["after"]


def table(found: Mapping[str, list[dict[str, Any]]]) -> str:
    """Markdown: for each area how many faults there were and how many were noticed."""
    lines = ["| area | faults | equivalent | killed | survived | score |", "| --- | --- | --- | --- | --- | --- |"]
    total: Counter[str] = Counter()
    for area, verdicts in found.items():
        counts = count(verdicts)
        total += counts
        lines.append(row(area, counts))
    return "\n".join([*lines, row("all", total)])


def count(verdicts: list[dict[str, Any]]) -> Counter[str]:
    """How many faults were killed, survived, or are equivalent."""
    words = {**dict.fromkeys(KILLED, "killed"), "equivalent": "equivalent"}
    return Counter(words.get(verdict["verdict"], "survived") for verdict in verdicts)


def row(area: str, counts: Mapping[str, int]) -> str:
    killed, survived, equivalent = (counts.get(word, 0) for word in ("killed", "survived", "equivalent"))
    score = 100.0 * killed / max(killed + survived, 1)
    every = killed + survived + equivalent
    return f"| {area} | {every} | {equivalent} | {killed} | {survived} | {score:.0f} % |"


def main() -> None:
    """Sample, run and tell; `--output` keeps every verdict as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}; all by default")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--sample", type=int, default=40, help="faults for each area (40)")
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests for each fault, at most (30)")
    parser.add_argument(
        "--output", type=Path, help="a JSON file for the verdicts; faults that it has as killed are not run again"
    )
    parser.add_argument(
        "--listed",
        action="store_true",
        help="run what equivalent.json names instead; a test should notice none",
    )
    options = parser.parse_args()
    unknown = [area for area in options.areas if area not in AREAS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such area; there are {', '.join(AREAS)}.")
    if options.listed:
        for name in options.areas or AREAS:
            for fault in run(AREAS[name], listed(AREAS[name]), options.seconds):
                key = Mutant(**{field: fault[field] for field in Mutant._fields}).key
                print(f"{'noticed' if fault['verdict'] in KILLED else 'not noticed'}: {key}", flush=True)
        return
    known = equivalents()
    stored = {"seed": options.seed, "sample": options.sample, "areas": {}}
    if options.output and options.output.exists():
        stored = json.loads(options.output.read_text("utf-8"))
        if (stored["seed"], stored["sample"]) != (options.seed, options.sample):
            parser.error(f"{options.output} is of seed {stored['seed']}, sample {stored['sample']}; name another file.")
    for name in options.areas or AREAS:
        drawn = sample(AREAS[name], options.seed, options.sample)
        before = {place(fault): fault for fault in stored["areas"].get(name, ()) if fault["verdict"] in KILLED}
        reasons = {mutant: known.get(mutant.key, known.get(mutant.line_key)) for mutant in drawn}
        same = [{**m._asdict(), "verdict": "equivalent", "reason": reason} for m, reason in reasons.items() if reason]
        rest = [m for m, reason in reasons.items() if reason is None and place(m._asdict()) not in before]
        dead = [before[place(m._asdict())] for m in drawn if reasons[m] is None and place(m._asdict()) in before]
        stored["areas"][name] = same + dead + (run(AREAS[name], rest, options.seconds) if rest else [])
        for fault in stored["areas"][name]:
            if fault["verdict"] in ("survived", "not reached"):
                fields = {field: fault[field] for field in Mutant._fields}
                print(f"{fault['verdict']}: line {fault['line']}, {Mutant(**fields).key}", flush=True)
        if options.output:
            options.output.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(table(stored["areas"]))


if __name__ == "__main__":
    main()
