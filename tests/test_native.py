"""The compiled core: the level for this CPU is loaded, a forced one too, and all of them agree."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from casimir import _native
from casimir._arrays import combine

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import casimir as cs
from casimir._native import isa_level
from casimir.solvers.bcfw import dual_start
from casimir.solvers.sgd import sgd_epoch
from problems import candidate_parts, chain_parts

numbers = []
for parts in (chain_parts(n_labels=5, valued=True, weighted_cost=True), candidate_parts(dim=21)):
    objective = parts.objective(0.3)
    w, n = parts.model.adjoint(parts.model.scores(parts.model.zeros() + 0.3) * 0.2), objective.n_examples
    smooth = cs.FenchelYoung(cs.L2(3), 0.7, parts.cost)
    for loss in (objective.loss, smooth, cs.FenchelYoung(cs.Entropy(), 0.7, parts.cost)):
        found = objective.evaluate(w, loss)
        numbers += [found.smoothed, *found.gradient]
    problem = objective.problem(smooth.smoothing)
    for penalty in (cs.Ridge(0.1), cs.ElasticNet(0.1, 0.5)):
        sgd_epoch(problem, np.arange(n), np.full(n, 0.2), penalty, smooth, w)
        numbers += [*w]
    blocks, iterate = objective.dual_blocks(), dual_start(objective.penalty, objective.n_params)
    blocks.exact_pass(np.arange(n), False, 1, 0.0, iterate)
    numbers += [*iterate.w, blocks.ell]
print(json.dumps([isa_level, numbers]))
"""


def run_at(level: str) -> tuple[str, np.ndarray]:
    environment = os.environ | {"CASIMIR_ISA": level}
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(Path(__file__).parent)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded, numbers = json.loads(done.stdout)
    return loaded, np.array(numbers)


def built(level: str) -> bool:
    return importlib.util.find_spec(f"casimir._core_{level}") is not None


def test_the_loaded_core_is_one_that_was_built() -> None:
    assert built(_native.isa_level)
    assert _native.core.__name__ == f"casimir._core_{_native.isa_level}"


@pytest.mark.parametrize("level", ["v1", "v3"])
def test_results_do_not_depend_on_the_level(level: str) -> None:
    if not built(level) or level > _native.isa_level:
        pytest.skip(f"the core was not built for {level}, or this CPU does not run it")
    loaded, numbers = run_at(level)
    assert loaded == level
    np.testing.assert_allclose(numbers, run_at(_native.isa_level)[1], rtol=0, atol=1e-12)


def test_an_unknown_level_is_refused() -> None:
    environment = os.environ | {"CASIMIR_ISA": "v9"}
    command = [sys.executable, "-c", "import casimir; casimir.Chain"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "CASIMIR_ISA='v9' is not a known level; use one of v4, v3, v1." in done.stderr


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_combine_is_a_sum_of_two_vectors_and_may_write_to_either(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(2, n))
    wanted = 2.0 * x - 0.5 * y
    np.testing.assert_allclose(combine(2.0, x, -0.5, y), wanted, rtol=0, atol=1e-15)
    for a, b in ((x.copy(), y), (x, y.copy())):
        out = a if b is y else b
        assert combine(2.0, a, -0.5, b, out=out) is out
        np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-15)


def test_combine_refuses_vectors_of_other_lengths() -> None:
    with pytest.raises(ValueError, match="one length"):
        combine(1.0, np.zeros(3), 1.0, np.zeros(2))


@pytest.mark.parametrize("n", [0, 1, 31, 32, 100])
def test_products_of_a_sum_are_those_of_the_vector_that_is_not_made(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(2, n))
    g = combine(2.0, x, -0.5, y)
    np.testing.assert_allclose(_native.core.products_of_sum(2.0, x, -0.5, y), [g @ g, g @ y], rtol=1e-13, atol=1e-15)
