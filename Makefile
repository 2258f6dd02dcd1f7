PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

SECONDS ?= 60

.PHONY: help demo paper docs test check format bench fuzz package clean
help:
	@echo "make demo    release a small real table: audit, safe table, verification, estimate"
	@echo "make paper   recompute the paper's figures into reproduction/ (QUICK=--quick: the short form)"
	@echo "make docs    build the documentation into build/docs, offline; a warning is an error"
	@echo "make test    run every test"
	@echo "make check   lint, format, types, import contracts, doctests"
	@echo "make format  rewrite the source in the house format"
	@echo "make bench   ours against rivals, into docs/benchmarks.md; QUICK=1: 2 minutes, printed only"
	@echo "make fuzz    properties with many examples, then every reader for SECONDS=60"
	@echo "make package wheel and sdist, checked, installed alone, and the demo run from there"

$(VENV)/core: pyproject.toml constraints.txt scripts/venv
	scripts/venv $(PYTHON) $(VENV) .
	@touch $@

$(VENV)/dev: $(VENV)/core
	scripts/venv $(PYTHON) $(VENV) ".[dev]"
	@touch $@

demo: $(VENV)/core
	rm -rf build/demo
	$(BIN)/lowlift demo --out build/demo

$(VENV)/paper: $(VENV)/core
	scripts/venv $(PYTHON) $(VENV) ".[paper]"
	@touch $@

paper: $(VENV)/paper
	$(BIN)/lowlift paper --out reproduction $(QUICK)

$(VENV)/docs: $(VENV)/core
	scripts/venv $(PYTHON) $(VENV) ".[docs]"
	@touch $@

docs: $(VENV)/docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

test: $(VENV)/dev
	scripts/system-packages
	$(BIN)/pytest

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q --doctest-modules --doctest-glob='*.md' src README.md docs

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bench: $(VENV)/dev
	scripts/venv $(PYTHON) $(VENV) ".[dev,bench]"
	@touch $@

build/rivals/done: constraints-rivals.txt scripts/rivals
	scripts/rivals $(PYTHON) build/rivals
	@touch $@

# QUICK=1: about 2 minutes, prints the table and leaves the documents alone. Else about 20 minutes on a free machine,
# and the table in README.md, docs/benchmarks.md and the plots are written anew.
bench: $(VENV)/bench build/rivals/done
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--form quick,--form full --publish) $(BENCH)
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/web_app.py

fuzz: $(VENV)/dev
	$(BIN)/pytest --hypothesis-profile=long tests/properties tests/fuzz
	$(BIN)/python scripts/fuzz --seconds $(SECONDS)

package: $(VENV)/dev
	$(BIN)/python scripts/package

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
