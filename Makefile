PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench asan docs clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

demo: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[plot]"
	$(BIN)/casimir demo

test: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[test]"
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[test,lint]"
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'cpp/*.hpp' 'cpp/*.cpp')

bench: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[bench]"
	$(BIN)/python -m benchmarks.ner

clean:
	rm -rf build dist $(VENV)
