"""The regularised empirical risk of eq. (1), its smoothings, gradients and dual points."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from casimir._arrays import dot
from casimir._threads import n_threads as default_threads
from casimir._validate import positive_int
from casimir.duality import DualPoint
from casimir.losses import Loss, as_loss, is_smooth
from casimir.losses.fenchel_young import check_own_smoothing
from casimir.models.base import Linearization, ScoreModel, is_linear, layout_of, linearize
from casimir.penalties import Penalty, as_penalty
from casimir.problems import (
    ComposedProblem,
    DualBlocks,
    FusedProblem,
    Pass,
    Problem,
    core_penalty,
    core_problem,
    core_smoothing,
)
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Smoothing
from casimir.structures.base import Structure


@dataclass
class Counts:
    """Inferences made, by what they were for; together they are the oracle calls."""

    steps: int = 0
    full_gradients: int = 0
    evaluations: int = 0
    searches: int = 0

    @property
    def oracle_calls(self) -> int:
        return self.steps + self.full_gradients + self.evaluations + self.searches

    def since(self, before: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) - getattr(before, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """What one full pass at w tells.

    objective  F(w), or an upper bound of it where an oracle gave up; None when the smoothing does not see the max
    smoothed   F_mu(w)
    gradient   float64[d] = sum_i p_i grad f_i(w), without the penalty's, or None
    dual       the feasible point given by the oracle's weights, or None where there is no dual or no gradient
    exact      share of examples on which the smoothing was exact
    marginals  kept for variance-reduced steps, or None
    """

    objective: float | None
    smoothed: float
    gradient: FloatArray | None
    dual: DualPoint | None
    exact: float
    marginals: FloatArray | None


class Objective:
    """F(w) = sum_i s_i f_i(w) / sum_i s_i + R(w).

    loss           f_i: Hinge(cost), Log(), SoftmaxMargin(cost) or FenchelYoung(...); a cost stands for Hinge(cost)
    y              list of true outputs, one int64[p_i] per example
    penalty        R: Ridge(lam), ElasticNet(lam, l1_ratio), ...; a number stands for Ridge(number)
    sample_weight  s, float64[n], 0 or larger; None: all 1. Weight 0 leaves an example out
    native         False: never on the fused kernels of the core
    n_threads      of full passes; None: CASIMIR_NUM_THREADS, or all CPUs
    offset         Scores that are added to those of the model and do not depend on w

    Where the scores of the model are not linear in w, F is not convex: there is no dual, and only solvers that say so
    can minimise it. Linear chains, linear trees and candidate lists run on the core. `counts` has the inferences made.
    """

    def __init__(
        self,
        model: ScoreModel,
        structure: Structure,
        loss: Any,
        y: Any,
        penalty: Any,
        sample_weight: Any = None,
        *,
        native: bool = True,
        n_threads: int | None = None,
        offset: Scores | None = None,
    ) -> None:
        self.model, self.structure, self.native, self.offset = model, structure, native, offset
        self.loss: Loss = as_loss(loss)
        self.penalty: Penalty = as_penalty(penalty)
        check_own_smoothing(self.loss.smoothing)
        self.n_threads = None if n_threads is None else positive_int(n_threads, "n_threads")
        self.y = [_whole_numbers(output, i) for i, output in enumerate(y)]
        if len(self.y) != model.n_examples:
            raise ValueError(f"y has {len(self.y)} outputs; the model has {model.n_examples} examples.")
        if not self.y:
            raise ValueError("An objective needs at least one example.")
        self.sample_weight = _checked_weights(sample_weight, model.n_examples)
        self.examples, self._scales, self._shares = _shares_of(self.sample_weight, model.n_examples)
        self.counts = Counts()
        self._composed: list[ComposedProblem] = []  # made when it is first needed, and shared with subproblems
        layout = model.scores(np.zeros(model.n_params), [0])
        structure.select([0]).score_of(layout, self.y[:1])  # the error of a wrong label or length comes early
        self._check_truth()
        problem = core_problem(model, structure, self.loss.cost, self.y, offset) if native else None
        self._fused = None if problem is None else FusedProblem(problem, n_threads or default_threads(), self._scales)

    def _check_truth(self) -> None:
        """The truth must be among the outputs that the structure allows, or losses may be negative."""
        check_allowed = getattr(self.structure, "check_allowed", None)
        if check_allowed is not None:
            check_allowed(layout_of(self.model), self.y)

    @property
    def n_examples(self) -> int:
        return self.model.n_examples

    @property
    def n_params(self) -> int:
        return self.model.n_params

    @property
    def n_active(self) -> int:
        """Examples whose weight is above 0, the n of a pass."""
        return len(self.examples)

    @property
    def is_native(self) -> bool:
        return self._fused is not None

    @property
    def is_convex(self) -> bool:
        """Whether the scores are linear in w, so that F is convex and has a dual."""
        return is_linear(self.model)

    @property
    def oracle_calls(self) -> int:
        return self.counts.oracle_calls

    def with_penalty(self, penalty: Penalty) -> Objective:
        """The same losses with another penalty; inferences are counted together."""
        other = copy.copy(self)
        other.penalty = penalty
        return other

    def permutation(self, rng: np.random.Generator) -> IntArray:
        """int64[n_active]: every example once, in random order."""
        order: IntArray = rng.permutation(self.n_active)
        return order if self.n_active == self.n_examples else self.examples[order]

    def draw(self, rng: np.random.Generator, count: int) -> IntArray:
        """int64[count]: examples drawn with replacement, each with the same probability."""
        order: IntArray = rng.integers(self.n_active, size=count)
        return order if self.n_active == self.n_examples else self.examples[order]

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        """The scores of the examples at w, without offset, and both products by their Jacobian."""
        return linearize(self.model, w, examples)

    def check_convex(self, solver: str) -> None:
        if not self.is_convex:
            raise TypeError(
                f"{solver} needs scores that are linear in w, and those of {type(self.model).__name__} are not. "
                "Use ProxLinear() or SGD()."
            )

    def problem(self, smoothing: Smoothing) -> Problem:
        """The problem that runs passes with this smoothing: fused where the core knows it."""
        if self._fused is not None and core_smoothing(smoothing, 1.0) is not None:
            return self._fused
        return self._composed_problem()

    def _composed_problem(self) -> ComposedProblem:
        if not self._composed:
            parts = self.model, self.structure, self.loss.cost, self.y, self.offset, self._scales
            self._composed.append(ComposedProblem(*parts))
        return self._composed[0]

    def value(self, w: FloatArray) -> float:
        """F(w)."""
        value = self.evaluate(w, gradient=False).objective
        assert value is not None
        return value

    def evaluate(
        self,
        w: FloatArray,
        loss: Loss | None = None,
        *,
        gradient: bool = True,
        keep: bool = False,
        count: str | None = None,
    ) -> Evaluation:
        """One full pass, an oracle call per example; `loss` is a smoothed version of the objective's own.

        count  what it counts as; None: "full_gradients" with a gradient, else "evaluations"
        """
        loss = self.loss if loss is None else loss
        found = self.problem(loss.smoothing).full_pass(w, loss.smoothing, loss.mu, gradient=gradient, keep=keep)
        self.count(count or ("full_gradients" if gradient else "evaluations"), self.n_active)
        penalty, mean = self.penalty.value(w), self._mean
        seen = found.upper if is_smooth(loss) and loss is self.loss else found.max_value
        return Evaluation(
            None if seen is None else mean(seen) + penalty,
            mean(found.value) + penalty,
            found.gradient,
            self._dual_point(w, found),
            float(found.exact[self.examples].mean()),
            found.marginals,
        )

    def count(self, kind: str, calls: int) -> None:
        setattr(self.counts, kind, getattr(self.counts, kind) + calls)

    def dual_blocks(self) -> DualBlocks:
        """Dual variables over cached outputs, for block-coordinate solvers."""
        if is_smooth(self.loss):
            raise TypeError(
                f"Block-coordinate Frank-Wolfe needs Hinge(cost); the dual of {type(self.loss).__name__} has no finite "
                "outputs. Use LBFGS()."
            )
        self.check_convex("Block-coordinate Frank-Wolfe")
        if self._fused is not None and core_penalty(self.penalty) is not None:
            return self._fused.dual_blocks()
        return self._composed_problem().dual_blocks()

    def log_n_outputs(self) -> float:
        """The mean of log |Y_i|, or 1 where the structure does not know."""
        log_n_outputs = getattr(self.structure, "log_n_outputs", None)
        if log_n_outputs is None:
            return 1.0
        return self._mean(log_n_outputs(layout_of(self.model)))

    def trivial_dual(self) -> DualPoint:
        """All weight on the truth: D = 0, a lower bound of every loss here."""
        return DualPoint(np.zeros(self.n_params), 0.0)

    def _mean(self, values: FloatArray) -> float:
        """sum_i p_i values_i"""
        return float(values.mean()) if self._shares is None else dot(self._shares, values)

    def _dual_point(self, w: FloatArray, found: Pass) -> DualPoint | None:
        """The oracle's weights u: for a smooth loss <u_i, ell_i> - mu omega(u_i) = f_i(w) - <w, A_i^T u_i>."""
        if found.gradient is None or not self.is_convex:
            return None
        if not is_smooth(self.loss):
            return DualPoint(found.gradient, self._mean(found.cost))
        return DualPoint(found.gradient, self._mean(found.value) - dot(w, found.gradient))


def _whole_numbers(output: Any, example: int) -> IntArray:
    """int64[p] of one output; numbers with a fraction are no labels."""
    array = np.atleast_1d(np.asarray(output))
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"y[{example}] has {array.dtype} entries; outputs are whole numbers such as label numbers.")
    return array.astype(np.int64, copy=False)


def _checked_weights(sample_weight: Any, n: int) -> FloatArray | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.dtype.kind not in "fiub" or weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {list(weights.shape)}; it must be {n} numbers, one per example.")
    weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite, 0 or larger.")
    if not weights.any():
        raise ValueError("sample_weight is 0 everywhere; at least one example must count.")
    return weights


def _shares_of(weights: FloatArray | None, n: int) -> tuple[IntArray, FloatArray | None, FloatArray | None]:
    """The examples that count, their scales n_active p_i, and their shares p_i; None for both where all are equal."""
    if weights is None or (weights == weights[0]).all():
        return np.arange(n), None, None
    examples, shares = np.flatnonzero(weights), weights / weights.sum()
    return examples, shares * len(examples), shares
