# Each target makes the virtual environment it needs; the second time that costs nothing.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
MADE   := $(VENV)/.ready-made
RUN    := $(VENV)/.ready-run
READY  := $(VENV)/.ready
DOCS   := $(VENV)/.ready-docs
BENCH  := $(VENV)/.ready-bench
# Byte code is written for the modules that are imported, not for all that are installed.
PIP    := $(BIN)/python -m pip install --quiet --no-compile

# The same versions everywhere; PIP_CONSTRAINT= takes the newest.
export PIP_CONSTRAINT ?= $(CURDIR)/constraints.txt

# Many containers set it. Every process would then compile the sources of numpy, scipy and all else
# that it imports: one second of processor time instead of a third, for hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint compiled forms bench fuzz docs dist clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN) ## run the demonstration; its page is demo/report.html
	$(BIN)/boolrank demo --out demo

# Loops are compiled beside the linters, once: the processes of the tests would each compile them.
# There is a process of tests for each core, and one that works while others wait for servers. With
# threads of its own, BLAS in one of them would wait for those of another, in a loop: five times the
# processor time.
WORKERS := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)' 2>/dev/null || echo auto)
test: export OPENBLAS_NUM_THREADS ?= 1
test: $(READY) ## lint, then all tests: tests/, the examples in src/, README.md and docs/
	@$(MAKE) --no-print-directory --jobs 2 lint compiled forms
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  --doctest-modules tests src

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

compiled: $(READY)
	@$(BIN)/boolrank doctor --all >/dev/null

forms: $(READY)
	@$(BIN)/python tests/loops.py

bench: $(BENCH) ## measure accuracy, time and memory, beside other libraries; about forty minutes
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/ranker.py qp growth
	$(BIN)/python benchmarks/inverse.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/catalogue.py
	$(BIN)/python benchmarks/cold_items.py
	$(BIN)/python benchmarks/peers.py

fuzz: $(READY) ## damage saved models of every kind a thousand times; signal commands at random
	$(BIN)/python tests/folder_fuzz.py 1000 0
	$(BIN)/python tests/random_signals.py 200 0

docs: $(DOCS) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

dist: $(READY) ## build wheel and sdist into dist/, and test them as installed in an empty environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	tests/installed.sh dist $(PYTHON)

clean: ## remove whatever the targets above made, the virtual environment too
	rm -rf $(VENV) demo site dist bench .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "boolrank needs Python 3.11 or newer and there is no '$(PYTHON)':" \
	       "try  make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "boolrank needs Python 3.11 or newer and '$(PYTHON)' is $$($(PYTHON) --version 2>&1):" \
	       "try  make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	@touch $@

# The demonstration is met first, and waits for nothing that only tests need.
$(RUN): $(MADE)
	$(PIP) --editable '.[cli,report]'
	@touch $@

$(READY): $(MADE)
	$(PIP) --editable '.[all,dev]'
	@touch $(RUN) $@

$(BENCH): $(READY)
	$(PIP) --editable '.[bench]'
	@touch $@

$(DOCS): $(READY)
	$(PIP) --editable '.[docs]'
	@touch $@
