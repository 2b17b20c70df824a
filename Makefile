# make demo         the main job, in under a minute
# make test         the tests (no PyTorch needed)
# make bench        overhead against PyTorch (installs it)
# make check        ruff and mypy
# make oracle       the tests against live PyTorch (installs it)
# make conformance  PyTorch's own tests, counted in docs/conformance.md
# make conformance-torch FILES="test_nn.py ..."   the same of PyTorch itself

PYTHON ?= python3
WORKERS ?= auto
VENV := .venv
ORACLE := .venv-oracle
PIP_INSTALL := -m pip install -q --disable-pip-version-check

# One BLAS thread per test process: the processes are the parallelism.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := demo
.PHONY: demo test bench check oracle conformance conformance-torch
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	$(VENV)/bin/python examples/demo.py

test: $(VENV)/.installed-dev
	$(VENV)/bin/python -m pytest -q -n $(WORKERS) --maxprocesses 8

bench: $(ORACLE)/.installed
	$(ORACLE)/bin/python benchmarks/overhead.py

check: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

oracle: $(ORACLE)/.installed
	$(ORACLE)/bin/python -m pytest -q -n $(WORKERS) --maxprocesses 8 tests/oracle

conformance: $(VENV)/.installed-conformance
	$(VENV)/bin/python tools/conformance.py

conformance-torch: $(ORACLE)/.installed
	$(ORACLE)/bin/python $(PIP_INSTALL) -e '.[conformance]'
	$(ORACLE)/bin/python tools/conformance.py --torch $(FILES)

# A stamp is newer than pyproject.toml exactly when its environment has what pyproject.toml asks for.
$(VENV)/bin/python $(ORACLE)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Chainrule needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP_INSTALL) -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP_INSTALL) -e '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-conformance: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP_INSTALL) -e '.[conformance]'
	touch $@ $(VENV)/.installed

# PyTorch has an environment of its own, so that `make test` shows the package does not need it.
# A download of this size breaks now and then: once more, and without the cache.
$(ORACLE)/.installed: pyproject.toml | $(ORACLE)/bin/python
	$(ORACLE)/bin/python $(PIP_INSTALL) -e '.[dev]'
	$(ORACLE)/bin/python $(PIP_INSTALL) torch==2.13.0 || $(ORACLE)/bin/python $(PIP_INSTALL) --no-cache-dir torch==2.13.0
	$(ORACLE)/bin/python -c 'import torch; assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__'
	touch $@
