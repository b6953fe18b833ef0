"""The package as a whole: what it imports, what depends on what, what the wheel holds, what is documented."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bayes_lssvm
from tests.contracts.imports import TOPS, edges, longest_chain, modules, read_edges

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bayes_lssvm"
# Each folder may import the ones before it, and none after: reports → validation → models → bayes_lssvm.
LAYERS = ("bayes_lssvm", "models", "validation", "reports")
OUTSIDE = ("tests", "benchmarks")
HEAVY = ("jax", "jaxlib", "numpyro", "arviz", "arviz_base", "arviz_stats", "arviz_plots", "matplotlib")


def module_names() -> list[str]:
    found = pkgutil.walk_packages(bayes_lssvm.__path__, "bayes_lssvm.")
    return sorted(m.name for m in found if not m.name.endswith("__main__"))


def imported_packages(source: str) -> set[str]:
    """First part of every absolute import in a source text, those inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__"):
                names.add(str(node.args[0].value))
    return {name.split(".")[0] for name in names}


def climbs_out_of(path: Path, package: Path) -> bool:
    """Whether a relative import of the file reaches above its top-level package."""
    depth = len(path.relative_to(package).parts)
    levels = [n.level for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.ImportFrom)]
    return any(level > depth for level in levels)


# --- imports -------------------------------------------------------------------------------------------------------


def run_python(code: str) -> set[str]:
    """The words that a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_import_is_light():
    """All public names bring in NumPy, SciPy and scikit-learn, and nothing that samples or draws."""
    loaded = run_python("import sys; from bayes_lssvm import *; print(*{name.split('.')[0] for name in sys.modules})")
    assert loaded >= {"bayes_lssvm", "numpy", "scipy", "sklearn"}
    assert loaded.isdisjoint(HEAVY)
    assert loaded.isdisjoint((*LAYERS[1:], *OUTSIDE))


def test_the_library_fits_and_predicts_where_nothing_heavy_is_installed():
    """pandas too: scikit-learn imports it where it finds it, so its absence is shown by hiding it."""
    code = f"""
import sys
for name in {(*HEAVY, "pandas")!r}:
    sys.modules[name] = None  # an import of it now fails
import bayes_lssvm
data = bayes_lssvm.datasets.load("ripley")
model = bayes_lssvm.BayesianLSSVC(refine=False).fit(data.data[::5], data.target[::5])
print(*model.predict_proba(data.test_data[:9]).shape)
"""
    assert run_python(code) == {"9", "2"}


def test_the_reader_of_imports_sees_every_kind():
    source = """
import numpy.linalg, models.gp as gp
from validation import quadrature
from . import kernels
def later():
    import reports.command.tables
    import importlib
    importlib.import_module("jax.numpy")
"""
    assert imported_packages(source) == {"numpy", "models", "validation", "reports", "importlib", "jax"}


@pytest.mark.parametrize("layer", LAYERS)
def test_dependence_goes_one_way(layer):
    forbidden = {*LAYERS[LAYERS.index(layer) + 1 :], *OUTSIDE}
    files = sorted((ROOT / layer).rglob("*.py"))
    if layer == "bayes_lssvm":
        assert len(files) > 20
        forbidden |= set(LAYERS[1:])
    for path in files:
        assert not imported_packages(path.read_text("utf-8")) & forbidden, path.relative_to(ROOT)
        assert not climbs_out_of(path, ROOT / layer), path.relative_to(ROOT)


def test_what_the_library_imports_at_the_top_is_what_it_declares():
    """Every third-party import at module level is a dependency of the package."""
    declared = {"numpy", "scipy", "sklearn", "joblib", "tqdm"}
    for path in PACKAGE.rglob("*.py"):
        top = [n for n in ast.parse(path.read_text("utf-8")).body if isinstance(n, ast.Import | ast.ImportFrom)]
        names = imported_packages("\n".join(map(ast.unparse, top)))
        third_party = names - set(sys.stdlib_module_names) - {"bayes_lssvm"}
        assert third_party <= declared, path.relative_to(ROOT)
    required = importlib.metadata.requires("bayes-lssvm") or []
    always = {re.match(r"[\w-]+", line)[0] for line in required if "extra ==" not in line}
    assert always == {"joblib", "numpy", "scipy", "scikit-learn", "tqdm"}


# --- rooms ---------------------------------------------------------------------------------------------------------

# Rooms of the library from the ground up: each may import those on the lines above it, and none beside or below it.
FLOORS = (
    ("base",),
    ("linalg", "priors"),
    ("kernels", "sampling"),
    ("levels",),
    ("search",),
    ("evidence",),
    ("press", "marginal", "multiclass"),
    ("comparison",),
    ("selection", "fixed_size"),
    ("estimators",),
    ("trust", "files", "kernel_search", "displays"),
    ("cli",),
)
# Modules in the library's root: its surface, its version, and the rooms of a single module.
ROOT_MODULES = {"__init__", "_version", "priors", "trust", "files", "kernel_search"}
LONGEST_CHAIN = 18
# Commands parse before they import, so that `--help` and a wrong argument are answered at once.
COMMANDS = {"bayes_lssvm.cli.main", "reports.__main__"}


def floor(module: str) -> tuple[str, int]:
    """The room of a module of the library and its floor; the surface stands on the roof."""
    room = module.split(".")[1] if "." in module else "the surface"
    return room, next((i for i, rooms in enumerate(FLOORS) if room in rooms), len(FLOORS))


def wrong_floors(found):
    """Edges of the library that do not go down. `datasets` stands beside the house: it needs the ground floor only."""
    for edge in found:
        if not (edge.source.startswith("bayes_lssvm.") and edge.target.startswith("bayes_lssvm")):
            continue
        (room, i), (below, j) = floor(edge.source), floor(edge.target)
        if room == below or below == "_version" or edge.function == "__getattr__" or edge.typing_only:
            continue
        if room == "datasets":
            allowed = below == "base"
        elif below == "datasets":
            allowed = room == "cli"
        else:
            allowed = j < i
        if not allowed:
            yield edge


def private_doors(found):
    """Edges through a module or to a name with an underscore in front, from outside its package."""
    for edge in found:
        parts = edge.target.split(".")
        private = [i for i, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
        if edge.name.startswith("_") and not edge.name.startswith("__"):
            private.append(len(parts) - 1 if modules()[edge.target].name != "__init__.py" else len(parts))
        for i in private:
            owner = ".".join(parts[:i])
            if parts[i:] != ["_version"] and f"{edge.source}.".startswith(f"{owner}.") is False:
                yield edge


def late_imports(found):
    """Imports of our own modules inside functions, but for a package's lazy surface and a command."""
    for edge in found:
        lazy_surface = edge.function == "__getattr__" and modules()[edge.source].name == "__init__.py"
        if edge.function and not lazy_surface and edge.source not in COMMANDS:
            yield edge


def forbidden_between_rooms(found):
    """The rules within validation and reports."""
    experiments = (["validation", "studies"], ["validation", "papers"])
    for edge in found:
        source, target = edge.source.split("."), edge.target.split(".")
        if source[:2] == ["validation", "harness"] and target[:2] in experiments:
            yield edge, "the harness knows no study"
        studies = source[:2] == target[:2] == ["validation", "studies"] and len(source) > 2 and len(target) > 2
        if studies and source[2] != target[2]:
            yield edge, "studies do not know each other"
        frame = source[:2] in (["reports", "frame"], ["reports", "draw"])
        if frame and target[:2] in (["reports", "pages"], *experiments):
            yield edge, "the frame and the drawing know no page and no study"


def listed(found):
    return "\n" + "\n".join(map(str, found))


def test_a_room_imports_only_the_floors_below_it():
    wrong = list(wrong_floors(edges()))
    assert not wrong, listed(wrong)


def test_no_import_goes_through_a_private_door():
    wrong = list(private_doors(edges()))
    assert not wrong, listed(wrong)


def test_our_own_modules_are_imported_at_the_top():
    wrong = list(late_imports(edges()))
    assert not wrong, listed(wrong)


def test_rooms_of_validation_and_reports_keep_apart():
    wrong = [f"{edge}: {rule}" for edge, rule in forbidden_between_rooms(edges())]
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("top", TOPS)
def test_imports_form_short_chains_without_a_cycle(top):
    chain = longest_chain(top, edges())
    assert top != "bayes_lssvm" or len(chain) <= LONGEST_CHAIN, " → ".join(chain)


def test_the_root_of_the_library_is_its_surface():
    assert {path.stem for path in PACKAGE.glob("*.py")} == ROOT_MODULES


def test_the_rules_find_what_breaks_them():
    known = {*modules(), "bayes_lssvm.base._hidden"}
    source = """
from ..estimators.plain import LSSVC
from ..base._hidden import x
def later():
    from ..base.errors import warn
"""
    found = list(read_edges(source, "bayes_lssvm.levels.level9", False, known))
    assert [edge.target for edge in wrong_floors(found)] == ["bayes_lssvm.estimators.plain"]
    assert [edge.target for edge in private_doors(found)] == ["bayes_lssvm.base._hidden"]
    said = "bayes_lssvm.levels.level9 (line 5) imports bayes_lssvm.base.errors inside later()"
    assert [str(edge) for edge in found if edge.function] == [said]
    study = list(read_edges("from validation.studies.evidence import x", "validation.studies.field.run", False, known))
    assert [rule for _, rule in forbidden_between_rooms(study)] == ["studies do not know each other"]


# --- the wheel -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_library_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folders = {name.split("/")[0] for name in names}
    assert folders == {"bayes_lssvm", f"bayes_lssvm-{bayes_lssvm.__version__}.dist-info"}
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if name.startswith("bayes_lssvm/")} == in_tree


def test_the_wheel_has_the_data_the_types_and_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(n).decode() for n in names if n.endswith(".dist-info/METADATA")]
        (entry_points,) = [archive.read(n).decode() for n in names if n.endswith("entry_points.txt")]
    data = [name for name in names if re.fullmatch(r"bayes_lssvm/datasets/data/\w+\.csv\.gz", name)]
    assert len(data) == len(list((PACKAGE / "datasets" / "data").iterdir())) >= 18
    assert "bayes_lssvm/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert f"Version: {bayes_lssvm.__version__}" in metadata
    assert "bayes-lssvm = bayes_lssvm.cli:main" in entry_points


def test_the_command_of_the_entry_point_exists():
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="bayes-lssvm")
    assert callable(entry.load())


def test_the_version_is_that_of_the_installed_package():
    assert bayes_lssvm.__version__ == importlib.metadata.version("bayes-lssvm")
    assert re.fullmatch(r"\d+\.\d+\.\d+(\S*)", bayes_lssvm.__version__)


# --- sources -------------------------------------------------------------------------------------------------------


def sources() -> list[Path]:
    """Text files of the repository but for tests, Makefile and the settings of continuous integration."""
    folders = [ROOT / name for name in (*LAYERS, "benchmarks", "docs")]
    inside = [path for folder in folders if folder.is_dir() for path in folder.rglob("*")]
    top = [path for path in ROOT.iterdir() if path.suffix in {".md", ".toml", ".cff", ".yaml", ".lock"}]
    text = {".py", ".md", ".toml", ".cff", ".yaml", ".lock", ".html", ".css", ".j2", ".json", ".txt", ".typed"}
    return sorted(p for p in (*inside, *top) if p.is_file() and p.suffix in text and "__pycache__" not in p.parts)


def test_no_source_names_a_path_of_a_machine():
    checked = sources()
    assert PACKAGE / "__init__.py" in checked
    assert ROOT / "pyproject.toml" in checked
    machine = re.compile(r"(?<![\w.:/])/(home|root|tmp|work|Users)/")
    found = [
        f"{path.relative_to(ROOT)}:{i}: {line.strip()}"
        for path in checked
        for i, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if machine.search(line)
    ]
    assert not found


@pytest.mark.parametrize("name", ["bayes_lssvm", *module_names()])
def test_every_module_says_what_it_is(name):
    module = importlib.import_module(name)
    assert module.__doc__, name
    assert len(module.__doc__.split()) >= 3, name
    for attribute, value in vars(module).items():
        own = getattr(value, "__module__", None) == name and not attribute.startswith("_")
        if own and (inspect.isclass(value) or inspect.isfunction(value)):
            assert inspect.getdoc(value), f"{name}.{attribute}"


def test_every_public_name_exists():
    for name in ("bayes_lssvm", "bayes_lssvm.kernels", "bayes_lssvm.datasets", "bayes_lssvm.estimators"):
        module = importlib.import_module(name)
        assert module.__all__, name
        assert len(set(module.__all__)) == len(module.__all__), name
        assert all(hasattr(module, public) for public in module.__all__), name


def test_the_methods_of_the_estimators_are_documented():
    for name in bayes_lssvm.estimators.__all__:
        cls = getattr(bayes_lssvm, name)
        own = [m for m in vars(cls) if inspect.isfunction(vars(cls)[m]) and not m.startswith("_")]
        assert {"fit", "predict"} <= set(own)
        for method in own:
            assert inspect.getdoc(vars(cls)[method]), f"{name}.{method}"
        for parameter in inspect.signature(cls).parameters:
            documented = (cls.__doc__ or "") + (bayes_lssvm.LSSVC.__doc__ or "")
            assert re.search(rf"^\s*{parameter} :", documented, re.MULTILINE), f"{name}({parameter})"


@pytest.mark.parametrize("name", ["bayes_lssvm", *module_names()])
def test_the_examples_of_the_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.failed == 0
    if name in {
        "bayes_lssvm.datasets",
        "bayes_lssvm.estimators.plain",
        "bayes_lssvm.estimators.classifier",
        "bayes_lssvm.estimators.regressor",
    }:
        assert result.attempted >= 4  # the examples are there
