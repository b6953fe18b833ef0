"""What a command of `python -m reports` will do, checked before any work starts."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bayes_lssvm.base.table_inputs import Options
from bayes_lssvm.base.text import listed
from validation.harness import Size, StudyData, load_data
from validation.registry import STUDIES, chosen, get_study

from . import gallery

DEFAULT_STUDIES = ("section-7-1", *gallery.ON_EVERY_SET)
_SCHEDULER_WAIT = 10  # seconds


@dataclass(frozen=True)
class PlannedStudy:
    """A study on its data (None where it simulates), and the command that does this task alone."""

    study: str
    data: StudyData | None
    command: str


@dataclass(frozen=True)
class Plan:
    """A command whose arguments have been checked.

    Attributes
    ----------
    tasks : tuple of PlannedStudy
    size : "toy", "quick" or "full"
    pages, cells : Path
        Folders of the HTML files and of the studies' cells.
    is_gallery : bool
    jobs : int
    scheduler : str or None
    remarks : tuple of str
        What a user should know before it starts: studies that are left out, and why; what the data's notes say.
    """

    tasks: tuple[PlannedStudy, ...]
    size: Size
    pages: Path
    cells: Path
    is_gallery: bool
    jobs: int
    scheduler: str | None
    remarks: tuple[str, ...] = ()


def make_plan(options: argparse.Namespace) -> Plan:
    """Check everything that can be checked before work starts.

    Raises
    ------
    ValueError or OSError
        With a sentence for the user.
    """
    if options.jobs < 1:
        raise ValueError(f"--jobs is the number of processes: at least 1, but got {options.jobs}.")
    chosen = _chosen(options.study)
    remarks: list[str] = []
    size: Size = options.size or ("full" if options.gallery else "quick")
    if options.gallery:
        if options.data or _said_about_file(options):
            raise ValueError("--gallery has its own data sets; leave out --data, --target and the like.")
        tasks = _gallery_tasks(chosen, size)
    else:
        tasks = _tasks(options, chosen, size, remarks)
    if options.scheduler is not None:
        _check_scheduler(options.scheduler)
    pages: Path = gallery.FOLDER if options.gallery else options.output
    cells: Path = options.output / "cells"
    return Plan(
        tuple(tasks), size, pages, cells, options.gallery, options.jobs, options.scheduler, remarks=tuple(remarks)
    )


def _chosen(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The studies that were asked for, each once; None where none was named."""
    if not names:
        return None
    return chosen(names, STUDIES, "study")


def _tasks(
    options: argparse.Namespace, chosen: tuple[str, ...] | None, size: Size, remarks: list[str]
) -> list[PlannedStudy]:
    source: str | None = options.data
    if source is None and (said := _said_about_file(options)):
        raise ValueError(f"{listed(said, 9)} say how to read a CSV file; give its path with --data.")
    named = bool(options.study) and "all" not in options.study
    studies = [get_study(name) for name in chosen or DEFAULT_STUDIES]
    data = None
    if source is not None or any(study.needs_data for study in studies):
        table = Options(options.ignore, options.categories, options.impute, options.decimal)
        data = load_data(source or "ripley", target=options.target, positive=options.positive, table=table)
    tasks, refusals = [], []
    for study in studies:
        own = data if study.needs_data else None
        try:
            study.cells(own, size)
        except ValueError as error:
            # a study that was named must run; of all studies, those run that can
            if named:
                raise ValueError(f"The study {study.name!r} cannot use these data: {error}") from error
            refusals.append(f"The study {study.name!r} is left out: {error}")
            continue
        words = {"--data": source} | _said_about_file(options)
        tasks.append(PlannedStudy(study.name, own, _command(study.name, size, words if study.needs_data else {})))
    if not tasks:
        raise ValueError(" ".join(refusals) or "There is nothing to run.")
    remarks += refusals
    if any(task.data is not None for task in tasks) and data is not None:
        remarks += data.notes  # rows that were left out, before anybody wonders at their number
    return tasks


def _gallery_tasks(chosen: tuple[str, ...] | None, size: Size) -> list[PlannedStudy]:
    tasks = []
    for exhibit in gallery.EXHIBITS:
        names = [name for name in exhibit.studies if chosen is None or name in chosen]
        data = load_data(exhibit.data) if exhibit.data and names else None
        for name in names:
            get_study(name).cells(data, size)  # says so now if it cannot use the data
            tasks.append(PlannedStudy(name, data, _command(name, size, {"--data": exhibit.data})))
    if not tasks:
        raise ValueError(f"The gallery does not show {' or '.join(chosen or ())}.")
    return tasks


def _said_about_file(options: argparse.Namespace) -> dict[str, str | list[str]]:
    """The options on how a CSV file is read, those that were given."""
    names = ("target", "positive", "ignore", "categories", "impute", "decimal")
    return {f"--{name}": value for name in names if (value := getattr(options, name))}


def _command(study: str, size: Size = "quick", arguments: Mapping[str, str | list[str] | None] | None = None) -> str:
    """What makes one page anew, for a shell."""
    words = ["python", "-m", "reports", "--study", study]
    for name, value in (arguments or {}).items():
        if value is not None:
            words += [name, *([value] if isinstance(value, str) else value)]
    words += {"quick": [], "full": ["--full"], "toy": ["--size", "toy"]}[size]
    return shlex.join(words)


def _check_scheduler(address: str) -> None:
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise ValueError(
            f"--scheduler needs a package that is not installed ({error}): install distributed."
        ) from error
    try:
        distributed.Client(address, timeout=_SCHEDULER_WAIT, set_as_default=False).close()
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"No Dask scheduler answers at {address!r} ({error}). Start one with `dask scheduler`, and give the "
            "address that it prints."
        ) from error
