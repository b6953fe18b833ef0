# Two commands for newcomers: `make report` and `make test`. Each sets everything up first.
# PYTHON chooses the interpreter (3.11 or newer); every interpreter version gets a virtual environment of its own.

PYTHON ?= python3
OUTPUT ?= output
PYVERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV := .venv-$(PYVERSION)
BIN := $(VENV)/bin
DOCS_VENV := .venv-docs-$(PYVERSION)

# Each command installs what it uses: the report, and what tests and lint add. EXTRAS=1 adds the optional packages (Dask,
# GPy, dynesty, pyarrow), without which their tests are skipped. The documentation has an environment of its own.
READY := $(VENV)/.ready
TEST_READY := $(VENV)/.ready-test
LINT_READY := $(VENV)/.ready-lint
EXTRAS_READY := $(VENV)/.ready-extras
DOCS_READY := $(DOCS_VENV)/.ready
EXTRAS ?=
TESTED := $(TEST_READY) $(if $(EXTRAS),$(EXTRAS_READY))
INSTALL := -m pip install --quiet --disable-pip-version-check
# bytecode is written when a module is first imported, and most never are; where the environment forbids it, every start
# of Python would compile scikit-learn and JAX again, which takes longer than most commands
LOCKED := $(INSTALL) --no-compile --require-hashes --only-binary :all: -r
unexport PYTHONDONTWRITEBYTECODE

# One BLAS thread for each test process: with two processes on two cores that is faster than sharing threads.
# A file of tests stays in one process, so that what its tests share, sampled once, is not sampled twice.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help report reproduce gallery redraw test test-slow fuzz lint types check docs bench figures lock wheel clean \
  python-check

help:
	@echo "make report     the report on Ripley's data: section 7.1 and four studies as HTML pages (about 4 minutes)"
	@echo "                other studies or your data: make report ARGS='--study evidence --data my.csv --target label'"
	@echo "make reproduce  the papers' tables computed again (hours; ARGS=--quick for minutes, TABLES=paper0-table1)"
	@echo "make test       run the tests (a few minutes)"
	@echo "make test-slow  run the tests that need longer"
	@echo "make fuzz       thousands of hostile files and data (hours; FUZZ=5 for less, SEED=7 for other cases)"
	@echo "make check      lint, types and tests, as continuous integration does"
	@echo "make docs       the documentation as a site that opens without a network: output/docs/index.html (a few minutes)"
	@echo "make bench      the benchmark table (ratios measured side by side)"
	@echo "make gallery    all studies at full size into reports/gallery (hours)"
	@echo "make redraw     write the pages of reports/gallery again from their records (minutes)"
	@echo "make figures    redraw the figures of README and docs, or those that ARGS names"
	@echo "make lock       resolve the requirements*.lock files anew"
	@echo "make wheel      build the wheel"

python-check:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "bayes-lssvm needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)."; \
	  echo "Install one and name it, for example: make test PYTHON=python3.12"; exit 1; }

$(READY): requirements.lock pyproject.toml | python-check
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(LOCKED) requirements.lock
	@$(BIN)/python $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(TEST_READY) $(LINT_READY) $(EXTRAS_READY): $(VENV)/.ready-%: requirements-%.lock $(READY)
	@$(BIN)/python $(LOCKED) $<
	@touch $@

$(DOCS_READY): requirements-docs.lock pyproject.toml | python-check
	@echo "Setting up $(DOCS_VENV) (once; about a minute) ..."
	@$(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python $(LOCKED) requirements-docs.lock
	@$(DOCS_VENV)/bin/python $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

report: $(READY)
	@$(BIN)/python -m reports --output $(OUTPUT) $(ARGS)

TABLES ?= all
reproduce: $(READY)
	@$(TEST_ENV) $(BIN)/python -m reports reproduce $(TABLES) --jobs $(JOBS) --output $(OUTPUT) --pages $(ARGS)

gallery: $(READY)
	@$(BIN)/python -m reports --gallery --output $(OUTPUT) $(ARGS)

redraw: $(READY)
	@$(BIN)/python -m reports --redraw --gallery $(ARGS)

test: $(TESTED)
	@$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q $(ARGS)

# FUZZ multiplies each slice of tests/fuzz; another SEED takes other cases
FUZZ ?= 25
SEED ?= 0
fuzz: $(TESTED)
	@$(TEST_ENV) BAYES_LSSVM_FUZZ=$(FUZZ) BAYES_LSSVM_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -n $(JOBS) -q tests/fuzz $(ARGS)

# pytest's exit code 5 says that no test is marked slow
test-slow: $(TESTED)
	@$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q -m slow $(ARGS) || test $$? -eq 5

lint: $(LINT_READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# the optional packages are imported by what is checked, so that their types are wanted here in any case
types: $(LINT_READY) $(EXTRAS_READY)
	@$(BIN)/mypy

check: lint types test

# Warnings are errors; afterwards every link within the site is followed, and nothing may be fetched from elsewhere.
docs: $(DOCS_READY)
	@rm -rf $(OUTPUT)/docs
	@$(TEST_ENV) $(DOCS_VENV)/bin/python -m sphinx -q -E -W --keep-going -d $(OUTPUT)/docs-cache docs $(OUTPUT)/docs
	@$(DOCS_VENV)/bin/python docs/_ext/check_site.py $(OUTPUT)/docs
	@echo "The documentation is in $(OUTPUT)/docs/index.html"

bench: $(READY)
	@$(BIN)/python -m benchmarks $(ARGS)

figures: $(READY)
	@$(BIN)/python -m reports.docs $(ARGS)

# All packages in one resolution first, so that the other files, which are parts of it, agree. All extras but `field`: the
# rivals of the field study are no part of a checkout's packages. RESOLVE= keeps the versions of today where it can.
ALL_EXTRAS := sampling nested large dask gpc plots
RESOLVE ?= --upgrade
COMPILE = uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header

lock:
	@command -v uv >/dev/null || { echo "make lock needs uv on the path (pip install uv)."; exit 1; }
	@$(COMPILE) $(RESOLVE) pyproject.toml --group dev $(addprefix --extra ,$(ALL_EXTRAS)) -o requirements-extras.lock >/dev/null
	@rm -f requirements.lock requirements-test.lock requirements-lint.lock
	@$(COMPILE) -c requirements-extras.lock pyproject.toml --group report --extra sampling --extra plots -o requirements.lock >/dev/null
	@$(COMPILE) -c requirements-extras.lock --group pyproject.toml:test -o requirements-test.lock >/dev/null
	@$(COMPILE) -c requirements-extras.lock --group pyproject.toml:lint -o requirements-lint.lock >/dev/null
	@$(COMPILE) $(RESOLVE) -c requirements-extras.lock pyproject.toml --group docs --extra plots -o requirements-docs.lock >/dev/null

wheel: $(READY)
	@$(BIN)/python -m hatchling build -t wheel

clean:
	rm -rf .venv-* output dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
