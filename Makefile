PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

SECONDS ?= 60
WORKERS ?= 2

.PHONY: help demo paper docs test test-all test-rivals lowest check types doctests format bench fuzz package clean
help:
	@echo "make demo        release a small real table: audit, safe table, verification, estimate"
	@echo "make paper       recompute the paper's figures into reproduction/ (QUICK=--quick: the short form)"
	@echo "make docs        build the documentation into build/docs, offline; a warning is an error"
	@echo "make test        run the tests of the library, the engines, the CLI and the web app"
	@echo "make test-all    run them and the long ones: documentation and its commands, dbt, package, full paper"
	@echo "make test-rivals compare with other packages (some are GPL, some are compiled)"
	@echo "make lowest      run the tests at the lowest versions that pyproject.toml declares"
	@echo "make check       lint, format, types, import contracts, doctests"
	@echo "make format      rewrite the source in the house format"
	@echo "make bench       ours against rivals, into docs/benchmarks.md; QUICK=1: 2 minutes, printed only"
	@echo "make fuzz        properties with many examples, then every reader for SECONDS=60"
	@echo "make package     wheel and sdist, checked, installed alone, and the demo run from there"
	@echo "Another Python: make test PYTHON=python3.13 VENV=build/venv-3.13"

# An environment grows: each extra that a target needs is installed into it once; dev has those of test and docs.
INSTALL := pyproject.toml constraints.txt scripts/venv

$(VENV)/core: $(INSTALL)
	scripts/venv $(PYTHON) $(VENV) . constraints.txt
	@touch $@

$(VENV)/with-%: $(INSTALL)
	scripts/venv $(PYTHON) $(VENV) ".[$*]" constraints.txt
	@touch $@ $(if $(filter dev,$*),$(VENV)/core $(VENV)/with-test $(VENV)/with-docs)

demo: $(VENV)/core
	rm -rf build/demo
	$(BIN)/lowlift demo --out build/demo

paper: $(VENV)/with-paper
	$(BIN)/lowlift paper --out reproduction $(QUICK)

docs: $(VENV)/with-docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadgroup

test: $(VENV)/with-test
	scripts/system-packages
	$(PYTEST) -m "not second_lane" $(ARGS)

test-all: $(VENV)/with-dev build/dbt/done
	scripts/system-packages
	$(PYTEST) $(ARGS)

test-rivals: $(VENV)/with-bench
	$(BIN)/pytest tests/benchmarks/rivals $(ARGS)

# Old versions use what newer versions of their own dependencies deprecate; that is no fault of ours.
lowest: $(INSTALL) scripts/lowest
	mkdir -p build
	scripts/lowest pyproject.toml > build/lowest.txt
	scripts/venv $(PYTHON) build/venv-lowest ".[test]" build/lowest.txt
	scripts/system-packages
	build/venv-lowest/bin/pytest -n $(WORKERS) --dist loadgroup -m "not second_lane" \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning $(ARGS)

check: $(VENV)/with-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(MAKE) --output-sync=target -j 2 types doctests

types: $(VENV)/with-dev
	$(BIN)/mypy

# The first example of a kernel compiles it, which takes minutes on a busy machine.
doctests: $(VENV)/with-dev
	$(BIN)/pytest -q --timeout=1200 --doctest-modules --doctest-glob='*.md' src README.md docs

format: $(VENV)/with-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build/%/done: constraints-%.txt scripts/apart
	scripts/apart $(PYTHON) build/$* $<
	@touch $@

# QUICK=1: about 2 minutes, prints the table and leaves the documents alone. Else about 20 minutes on a free machine,
# and the table in README.md, docs/benchmarks.md and the plots are written anew; some ten hours more for simulations of
# populations that benchmarks/population.json does not have yet.
bench: $(VENV)/with-bench build/rivals/done
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--form quick,--form full --publish) $(BENCH)
	$(BIN)/python benchmarks/one_record.py
	$(BIN)/python benchmarks/population.py $(if $(QUICK),--targets --samples 5,--form full --publish)
	$(if $(QUICK),,$(BIN)/python benchmarks/population.py --cells)
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/web_app.py
	$(BIN)/python benchmarks/time_limits.py $(if $(QUICK),--limits 1 --most 2000)

fuzz: $(VENV)/with-dev
	$(BIN)/pytest -n 0 --hypothesis-profile=long tests/properties tests/fuzz
	$(BIN)/python scripts/fuzz --seconds $(SECONDS)

package: $(VENV)/with-dev
	$(BIN)/python scripts/package

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
