# Every target makes the environment it needs: PyPI and a C++20 compiler are all that has to be there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ASAN_VENV := .venv-asan
ASAN_BIN := $(ASAN_VENV)/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
LEVELS := v1;v4
# $(call cpp_tests,programs,build folder,options): configures, builds and runs the tests of the C++ core.
cpp_tests = $(1)/ctest --build-and-test . $(2) --build-generator "Unix Makefiles" --build-options \
  -DCASIMIR_CPP_TESTS=ON "-DCASIMIR_LEVELS=$(LEVELS)" $(3) --test-command $(abspath $(1))/ctest --output-on-failure

.PHONY: demo test test-cpp lint bench asan docs wheel clean

demo: $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) ".[plot]"
	$(BIN)/casimir demo

test: $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) ".[test]"
	$(BIN)/python -m pytest -n auto

# The C++ core alone, without Python, at the lowest and the highest instruction set level.
test-cpp: $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) cmake
	$(call cpp_tests,$(BIN),build/cpp-tests)

lint: $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) ".[test,lint]"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'cpp/*.hpp' 'cpp/*.cpp')

bench: $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) ".[bench]"
	$(BIN)/python -m benchmarks.ner

docs: $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) ".[docs]"
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# The sanitizers have to be loaded before Python; leaks of Python itself are not ours to report.
asan: $(ASAN_BIN)/python
	$(ASAN_BIN)/python $(PIP_INSTALL) cmake
	$(call cpp_tests,$(ASAN_BIN),build/asan-cpp-tests,-DCASIMIR_SANITIZE=ON)
	$(ASAN_BIN)/python $(PIP_INSTALL) ".[test]" -C build-dir=build/asan \
	  -C cmake.define.CASIMIR_SANITIZE=ON -C "cmake.define.CASIMIR_LEVELS=$(LEVELS)"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(ASAN_BIN)/python -m pytest -n auto

wheel: $(BIN)/python
	PYTHON=$(BIN)/python tools/check_wheel.sh

clean:
	rm -rf build dist docs/_build demo-output bench-output .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  $(VENV) $(ASAN_VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(ASAN_BIN)/python:
	$(PYTHON) -m venv $(ASAN_VENV)
