"""dual <= min F <= objective at every row of every trace, whatever the loss, penalty, weights, outputs and solver.

min F is found without the library, on all outputs written down (`judge`, `listing`). Any two of family, loss, penalty,
weights and solver meet in some row of the sample.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from certificates.cases import (
    LOSSES,
    PENALTIES,
    SMOOTH,
    SOLVERS,
    STRONGLY_CONVEX,
    WEIGHTS,
    Case,
    covering,
    optimum,
    refusals,
)
from certificates.judge import Judged
from certificates.listing import FAMILIES

import casimir as cs

TOL = 1e-3
_SHARE = 1e-7  # of F(0), or of 0.01: the judge's accuracy, and that of sums of doubles


def check(result: cs.Result, judged: Judged, best: float, tol: float = TOL) -> None:
    """The bounds hold at every row, and the result is what it says it is."""
    value, slack = judged.value(result.w), _SHARE * max(judged.value(np.zeros(judged.n_params)), best, 0.01)
    assert result.trace["dual"].max() <= best + slack
    assert result.trace["objective"].min() >= best - slack
    assert np.all(np.diff(result.trace["dual"]) >= 0.0)
    assert result.objective == pytest.approx(value, abs=slack)
    assert result.dual == result.trace[-1].dual
    assert result.gap == pytest.approx((value - result.dual) / value if value > 0.0 else 0.0, abs=1e-6)
    if result.converged:
        assert result.gap <= tol
        assert value - best <= tol * value + slack


def run(objective: cs.Objective, solver: Any, epochs: int | None = None, tol: float = TOL) -> cs.Result:
    """Few epochs where they take long: certificates hold from the first one on."""
    if epochs is None:
        slow = isinstance(solver, cs.ProxLinear) or getattr(solver, "stopping", "") == "accuracy"
        epochs = (3 if slow else 40) if objective.is_native else 1 if slow else 6
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casimir's inner solver", RuntimeWarning)
        return cs.minimize(objective, solver, epochs=epochs, tol=tol)


def sample() -> list[tuple[Case, str]]:
    """Without a penalty smooth losses may have no minimum; that of the tiny chains is attained."""
    rows = covering([FAMILIES, tuple(LOSSES), tuple(PENALTIES), tuple(WEIGHTS), tuple(SOLVERS)])
    cases = []
    for family, loss, penalty, weights, solver in rows:
        tiny = penalty == "none" and loss != "hinge"
        case = Case("chain-tiny", loss, penalty, "equal") if tiny else Case(family, loss, penalty, weights)
        cases.append((case, solver))
    return cases


SAMPLE = sample()


@pytest.mark.parametrize(("case", "solver"), [pytest.param(*row, id="-".join([*row[0], row[1]])) for row in SAMPLE])
def test_bounds_hold_at_every_row_or_the_solver_names_what_is_missing(case: Case, solver: str) -> None:
    reasons = refusals(case, solver)
    if reasons:
        with pytest.raises((TypeError, ValueError), match="|".join(reasons)):
            run(case.objective(), SOLVERS[solver])
        return
    check(run(case.objective(), SOLVERS[solver]), case.judged(), optimum(case))


CLOSED_BY: dict[str, tuple[str, ...]] = {
    "hinge": ("bcfw-pairwise", "dual", "eg", "cuts", "excessive-gap"),
    **dict.fromkeys(SMOOTH, ("svrg", "lbfgs", "gradient", "casimir", "casimir-lbfgs", "cuts")),
}
for entropic in ("log", "softmax-margin", "entropy"):
    CLOSED_BY[entropic] += ("dual", "sdca", "eg")
CLOSING = [
    (Case(family, loss, penalty, "unequal"), solver)
    for loss, solvers in CLOSED_BY.items()
    for solver in solvers
    for family, penalty in zip(
        ("chain", "tree-constrained", "candidates"), ("ridge", "net", "ridge-masks"), strict=True
    )
]


@pytest.mark.parametrize(("case", "solver"), [pytest.param(*row, id="-".join([*row[0], row[1]])) for row in CLOSING])
def test_solvers_close_the_gap_that_they_certify(case: Case, solver: str) -> None:
    result = run(case.objective(), SOLVERS[solver], epochs=400)
    assert result.converged
    check(result, case.judged(), optimum(case))


@pytest.mark.parametrize("family", ["chain", "tree", "tree-constrained", "candidates", "enumerated"])
@pytest.mark.parametrize("penalty", ["l1", "l1-masks"])
@pytest.mark.parametrize("loss", ["hinge", "log", "softmax-margin"])
def test_the_dual_solver_certifies_absolute_values_alone(family: str, penalty: str, loss: str) -> None:
    case = Case(family, loss, penalty, "unequal")
    result = run(case.objective(), cs.DualProximal(), epochs=400)
    assert result.converged
    check(result, case.judged(), optimum(case))


def test_the_sample_covers_every_pair_and_mostly_runs() -> None:
    assert {row[0].penalty for row in SAMPLE} == set(PENALTIES)
    assert {(row[0].penalty, row[1]) for row in SAMPLE} >= {(p, s) for p in STRONGLY_CONVEX for s in SOLVERS}
    assert sum(not refusals(*row) for row in SAMPLE) > 0.7 * len(SAMPLE)
