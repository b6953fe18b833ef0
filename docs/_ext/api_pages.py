"""Pages of the reference, made from the public names: one for each class and function, and a list of all."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from sphinx.application import Sphinx
from surface import MODULES, Public, public_names

FOLDER = "reference/api"
HEADINGS = {
    "bayes_lssvm": "Estimators and what is done with them",
    "bayes_lssvm.kernels": "Kernels",
    "bayes_lssvm.priors": "Priors of the hyperparameters",
    "bayes_lssvm.marginal": "Marginalisation",
    "bayes_lssvm.trust": "Trust reports",
    "bayes_lssvm.multiclass": "More than two classes",
    "bayes_lssvm.kernel_search": "Search for kernels",
    "bayes_lssvm.evidence": "Evidence of other models",
    "bayes_lssvm.datasets": "Data sets",
    "bayes_lssvm.files": "Model files",
}
# Members that come from elsewhere, and are described there.
FOREIGN = "BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, SelectorMixin, tuple, dict, ABC, Exception"

REFERENCE = re.compile(r"(?<=\w)_(?!\w)|\|")  # what reStructuredText would take for a link or a substitution


def first_sentence(value: object) -> str:
    """The summary line of a docstring, in one line."""
    summary = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(summary.split())


def page(public: Public) -> str:
    """The page of one name, in reStructuredText."""
    kind = "function"
    options = ""
    if public.is_message:
        kind = "exception"
    elif isinstance(public.value, type):
        kind = "class"
        options = f"   :members:\n   :inherited-members: {FOREIGN}\n   :show-inheritance:\n"
    title = public.path.removeprefix("bayes_lssvm.")
    return (
        f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {public.module}\n\n.. auto{kind}:: {public.name}\n{options}"
    )


def listing(names: list[Public]) -> str:
    """The rows of a list of names."""
    head = ".. list-table::\n   :widths: 30 70\n   :class: api-list\n\n"
    rows = [f"   * - :py:obj:`~{n.path}`\n     - {first_sentence(n.value)}\n" for n in names]
    return head + "".join(rows)


def index(names: list[Public]) -> str:
    """The list of all names, by module."""
    parts = ["API reference\n=============\n\nEvery public name, by the module that it is imported from.\n"]
    for module in MODULES:
        own = [n for n in names if n.module == module and n.is_code]
        heading = HEADINGS.get(module, module)
        if not own:
            continue
        parts.append(f"\n{heading}\n{'-' * (2 * len(heading))}\n\n``{module}``\n\n")
        if module not in {n.path for n in names}:  # `bayes_lssvm.trust` is the function
            parts.append(f".. py:module:: {module}\n\n")
        groups = {False: [n for n in own if not n.is_message], True: [n for n in own if n.is_message]}
        for messages, group in groups.items():
            if group:
                parts.append(("Errors and warnings:\n\n" if messages else "") + listing(group) + "\n")
        constants = [n.name for n in names if n.module == module and not n.is_code]
        if constants:
            parts.append("Constants: " + ", ".join(f"``{name}``" for name in constants) + ".\n\n")
    entries = "".join(f"   {n.path}\n" for n in names if n.is_code)
    return "".join(parts) + f"\n.. toctree::\n   :hidden:\n\n{entries}"


def write(app: Sphinx) -> None:
    """Write what has changed, and remove pages of names that are gone."""
    for module in MODULES:
        importlib.import_module(module)
    names = public_names()
    pages = {"index": index(names)} | {n.path: page(n) for n in names if n.is_code}
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def plain_text(line: str) -> str:
    """A line in which names that end in an underscore, and bars, are text; code in backticks stays as it is."""
    parts = re.split(r"(``.*?``|`.*?`)", line)
    return "".join(part if i % 2 else REFERENCE.sub(lambda m: "\\" + m[0], part) for i, part in enumerate(parts))


def escape(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are written to be read as text: Greek letters with indices, attributes with their underscore."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[i] = plain_text(line)


def skip(app: Sphinx, what: str, name: str, obj: object, skipped: bool, options: object) -> bool | None:
    """Leave out what scikit-learn puts into every estimator."""
    foreign = str(getattr(obj, "__module__", "")).startswith("sklearn.") or name.endswith("_request")
    return True if foreign or name in ("get_metadata_routing", "set_output") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", write, priority=100)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
