# Every target creates what it needs: a virtual environment with the package and the tools of that target.
PYTHON ?= python3
OUT ?= out
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
SOURCES := $(shell find core src/ukemi -name '*.hpp' -o -name '*.cpp' -o -name '*.py' -o -name '*.pyi') CMakeLists.txt pyproject.toml README.md

.PHONY: demo test test-all test-sanitize lint docs bench stubs clean

demo: $(VENV)/.test
	$(BIN)/ukemi filter --out $(OUT)
	@echo "look at $(OUT)/report.html"

test: $(VENV)/.test
	$(PYTEST) -m "not oracle and not fuzz and not slow"

# `test` runs first, before the other engines are there: it must do without them
test-all: test lint test-sanitize $(VENV)/.oracles
	$(PYTEST) -m "oracle or fuzz or slow"

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.oracles
	$(BIN)/python bench/run.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet --site-dir site

# The core once more under AddressSanitizer and UndefinedBehaviorSanitizer, for the tests that drive it.
test-sanitize: $(VENV)/.test
	bash scripts/test_sanitized.sh $(BIN)/python $(PYTEST)

clean:
	rm -rf $(VENV) build dist site out

# --- environments: each file is the mark of one installed set ---------------------------------------------------------
# `ukemi[...]` is the package that stands there already, so that only what the set needs beside it is installed; from `.` it
# would be built again for each.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

$(VENV)/.test: $(VENV)/bin/python $(SOURCES)
	$(PIP) '.[test]'
	@touch $@

$(VENV)/.oracles: $(VENV)/.test
	$(PIP) 'ukemi[oracles]'
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(PIP) 'ukemi[lint]'
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(PIP) 'ukemi[docs]'
	@touch $@
