PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-cpp lint bench asan docs clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

demo: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[plot]"
	$(BIN)/casimir demo

test: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[test]"
	$(BIN)/python -m pytest -n auto

# Configures, builds and runs the tests of the C++ core, which need no Python.
LEVELS ?= v1;v4
test-cpp:
	ctest --build-and-test . build/cpp-tests --build-generator "Unix Makefiles" \
	  --build-options -DCASIMIR_CPP_TESTS=ON "-DCASIMIR_LEVELS=$(LEVELS)" \
	  --test-command ctest --output-on-failure

lint: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[test,lint]"
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'cpp/*.hpp' 'cpp/*.cpp')

bench: $(VENV)/bin/python
	$(BIN)/pip install --quiet ".[bench]"
	$(BIN)/python -m benchmarks.ner

# Everything again under AddressSanitizer and UndefinedBehaviorSanitizer. Python itself is not instrumented, so their
# library is loaded ahead of it (with libstdc++, whose exceptions it watches), and what Python keeps until exit is no leak.
ASAN := .venv-asan
asan:
	ctest --build-and-test . build/asan-cpp-tests --build-generator "Unix Makefiles" \
	  --build-options -DCASIMIR_CPP_TESTS=ON -DCASIMIR_SANITIZE=ON "-DCASIMIR_LEVELS=$(LEVELS)" \
	  --test-command ctest --output-on-failure
	test -x $(ASAN)/bin/python || $(PYTHON) -m venv $(ASAN)
	$(ASAN)/bin/pip install --quiet ".[test]" -C build-dir=build/asan -C cmake.define.CASIMIR_SANITIZE=ON \
	  "-Ccmake.define.CASIMIR_LEVELS=$(LEVELS)"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(ASAN)/bin/python -m pytest -n auto

clean:
	rm -rf build dist $(VENV) $(ASAN)
