"""The regularised empirical risk of eq. (1), its smoothings, gradients and dual points."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np

from casimir._arrays import dot
from casimir._outputs import Outputs, ShardedOutputs, as_outputs
from casimir._validate import positive_int, weights_of
from casimir.duality import DualPoint
from casimir.losses import Loss, as_loss
from casimir.models.base import Linearization, ScoreModel, is_linear, layout_of, linearize
from casimir.penalties import Penalty, as_penalty
from casimir.persistence.state import keeps
from casimir.problems import DualBlocks, Pass, PotentialBlocks, Problem, Term, Truth, core_penalty
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Entropy, Hard, Smoothing
from casimir.structures.base import Structure
from casimir.truth import TruthSets, has_masks, truth_sets


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


@dataclass
class Clock:
    """CPU seconds of passes that only report or certify; shared, as the counts are, by objectives made of one."""

    evaluations: float = 0.0


@keeps
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
    y              list of true outputs, one int64[p_i] per example; or, for some of them, masks of the outputs that may
                   be true, bool[p_i, L] for labels (see `Structure.restricted`)
    penalty        R: Ridge(lam), ElasticNet(lam, l1_ratio), ...; a number stands for Ridge(number)
    sample_weight  s, float64[n], 0 or larger; None: all 1. Weight 0 leaves an example out
    native         False: never on the fused kernels of the core
    n_threads      of full passes; None: CASIMIR_NUM_THREADS, or all CPUs
    offset         Scores that are added to those of the model and do not depend on w

    Where the truth of an example is a set A_i, f_i(w) = max^mu_y { score_i(y; w) + cost_i(y) } - max^mu_{y in A_i}
    score_i(y; w), the cost being 0 on all of A_i: a latent structural SVM, or, with Log(), the marginal likelihood.

    Where a truth is a set, or the scores of the model are not linear in w, F is not convex: there is no dual, and only
    solvers that say so can minimise it. Linear chains, linear trees, candidate lists and classes run on the core.
    `counts` has the inferences made, `examples` those of weight above 0, of which there are `n_active`.
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
        self.n_examples, self.n_params = model.n_examples, model.n_params
        self.loss: Loss = as_loss(loss)
        self.penalty: Penalty = as_penalty(penalty, self.n_params)
        self.n_threads = None if n_threads is None else positive_int(n_threads, "n_threads")
        self.y: Sequence[Any] = as_outputs(y)
        if len(self.y) != self.n_examples:
            raise ValueError(f"y has {len(self.y)} outputs; the model has {self.n_examples} examples.")
        if not self.y:
            raise ValueError("An objective needs at least one example.")
        self.sample_weight = None if sample_weight is None else checked_weights(sample_weight, self.n_examples)
        self.examples, scales, self._shares = _shares_of(self.sample_weight, self.n_examples)
        self.n_active = len(self.examples)
        self.counts, self.clock = Counts(), Clock()
        self.known_of_losses: dict[str, Any] = {}  # what was found out once; other penalties share it
        self.constant = 0.0  # added to F: what is left of truths that were completed
        self.sets = None if isinstance(self.y, Outputs | ShardedOutputs) else self._truth_sets()
        truth = Truth(self.y if self.sets is None else None)
        self.term = Term(model, structure, self.loss.cost, self.y, truth, offset, scales, native, self.n_threads)
        if self.sets is None:
            self._check_truth()

    def _truth_sets(self) -> TruthSets | None:
        """The sets of outputs that may be true, where there are any with more than one."""
        if not has_masks(self.y):
            return None
        sets = truth_sets(self.structure, layout_of(self.model), self.y)
        if sets.is_open.any():
            return sets
        self.y = sets.structure.max(layout_of(self.model) * 0.0).outputs
        return None

    def _check_truth(self) -> None:
        """Whatever does not fit is refused: the core has checked every output, else the first one tells.

        The truth must be among the outputs that the structure allows, or losses may be negative.
        """
        structure: Any = self.structure
        if self.term.fused is None:
            structure.select([0]).score_of(self.model.scores(np.zeros(self.n_params), [0]), self.y[:1])
        if hasattr(structure, "check_allowed") and getattr(structure, "is_constrained", True):
            structure.check_allowed(layout_of(self.model), self.y)

    @property
    def is_native(self) -> bool:
        """Whether the compiled core knows the model, the structure and the loss."""
        return self.term.fused is not None

    @property
    def is_convex(self) -> bool:
        """Whether the scores are linear in w and every truth is one output, so that F is convex and has a dual."""
        return self.sets is None and is_linear(self.model)

    @property
    def dual_variables(self) -> str | None:
        """How dual solvers keep those of the loss, as its smoothing says; None: there are no dual steps for it."""
        return getattr(self.loss.smoothing, "dual_variables", None)

    @property
    def oracle_calls(self) -> int:
        """Inferences so far, one per example."""
        return self.counts.oracle_calls

    def with_penalty(self, penalty: Penalty) -> Objective:
        """The same losses with another penalty; inferences are counted together."""
        other = copy.copy(self)
        other.penalty = penalty
        return other

    def permutation(self, rng: np.random.Generator) -> IntArray:
        """int64[n_active]: every example once, in random order."""
        order: IntArray = self._in_shards(rng) if self._starts is not None else rng.permutation(self.n_active)
        return order if self.n_active == self.n_examples else self.examples[order]

    def draw(self, rng: np.random.Generator, count: int) -> IntArray:
        """int64[count]: examples drawn with replacement, each with the same probability."""
        order: IntArray = rng.integers(self.n_active, size=count)
        if self._starts is not None:
            order = self._by_shard(order, rng)
        return order if self.n_active == self.n_examples else self.examples[order]

    @property
    def _starts(self) -> IntArray | None:
        """int64[shards + 1]: the first example of every shard; None where examples are not in shards."""
        return getattr(self.model, "starts", None)

    def _in_shards(self, rng: np.random.Generator) -> IntArray:
        """int64[n_active]: every example once, shard after shard in random order, in random order within each."""
        assert self._starts is not None
        starts: Any = np.searchsorted(self.examples, self._starts)
        shards = rng.permutation(len(starts) - 1).tolist()
        return np.concatenate([starts[s] + rng.permutation(starts[s + 1] - starts[s]) for s in shards])

    def _by_shard(self, order: IntArray, rng: np.random.Generator) -> IntArray:
        """The same examples, shard after shard in random order."""
        assert self._starts is not None
        starts: Any = np.searchsorted(self.examples, self._starts)
        rank = rng.permutation(len(starts) - 1)
        found: IntArray = order[np.argsort(rank[np.searchsorted(starts, order, side="right") - 1], kind="stable")]
        return found

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        """The scores of the examples at w, without offset, and both products by their Jacobian."""
        return linearize(self.model, w, examples)

    def check_convex(self, solver: str) -> None:
        """A TypeError that names the solver, unless F is convex."""
        if not self.is_convex:
            self.check_single_truths(solver)
            raise TypeError(
                f"{solver} needs scores that are linear in w, and those of {type(self.model).__name__} are not. "
                "Use ProxLinear() or SGD()."
            )

    def check_single_truths(self, solver: str) -> None:
        """A TypeError that names the solver, if an example has several true outputs."""
        if self.sets is not None:
            raise TypeError(
                f"{solver} needs one true output per example, and {int(self.sets.is_open.sum())} of {self.n_examples} "
                "have several. Use ConcaveConvex(), around any solver."
            )

    def problem(self, smoothing: Smoothing) -> Problem:
        """The problem that runs passes with this smoothing: fused where the core knows it."""
        return self.term.problem(smoothing)

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
        kind, began = count or ("full_gradients" if gradient else "evaluations"), process_time()
        found = self.term.problem(loss.smoothing).full_pass(w, loss.smoothing, loss.mu, gradient=gradient, keep=keep)
        self.count(kind, self.n_active)
        if self.sets is not None:
            found = self._less_truth(w, found, gradient)
        if kind == "evaluations":
            self.clock.evaluations += process_time() - began
        penalty, mean = self.penalty.value(w) + self.constant, self._mean
        seen = found.upper if loss is self.loss else found.max_value
        return Evaluation(
            None if seen is None else mean(seen) + penalty,
            mean(found.value) + penalty,
            found.gradient,
            None if found.gradient is None else self._dual_point(w, found),
            float(found.exact[self.examples].mean()),
            found.marginals,
        )

    def completed(self, w: FloatArray) -> Objective:
        """The convex objective that is F at w and nowhere below it: the truth is completed at w.

        A hinge loss takes the best output of every set; a smooth loss the distribution over the set, by its marginals.
        """
        assert self.sets is not None, "every truth is one output"
        other, inner = copy.copy(self), self._truth_term
        other.sets, other.known_of_losses = None, {}
        self.count("searches", self.n_examples)
        other.y = inner.best_outputs(w)
        if isinstance(self.loss.smoothing, Hard):
            other.term = self.term.with_truth(Truth(other.y))
            return other
        problem = inner.problem(self.loss.smoothing)
        self.count("full_gradients", self.n_active)
        found = problem.full_pass(w, self.loss.smoothing, self.loss.mu, gradient=True, keep=True)
        assert found.gradient is not None
        other.term = self.term.with_truth(Truth(None, found.marginals, problem.core is not None))
        other.constant = dot(w, found.gradient) - self._mean(found.value)
        return other

    def known(self, w: FloatArray) -> Objective | None:
        """The convex objective of the examples whose truth is one output; None where there are none."""
        assert self.sets is not None, "every truth is one output"
        weights = np.where(self.sets.is_open, 0.0, 1.0 if self.sample_weight is None else self.sample_weight)
        if not weights.any():
            return None
        outputs = self._truth_term.best_outputs(w)
        self.count("searches", self.n_examples)
        return Objective(
            self.model,
            self.structure,
            self.loss,
            outputs,
            self.penalty,
            weights,
            native=self.native,
            n_threads=self.n_threads,
            offset=self.offset,
        )

    @cached_property
    def _truth_term(self) -> Term:
        """sum_i p_i max^mu_{y in A_i} score_i(y; w)."""
        assert self.sets is not None
        return replace(self.term, structure=self.sets.structure, cost=None)

    def _less_truth(self, w: FloatArray, found: Pass, gradient: bool) -> Pass:
        """The losses, of the smoothed maxima over all outputs and those over the sets."""
        smoothing, mu = self.loss.smoothing, self.loss.mu
        inner = self._truth_term.problem(smoothing).full_pass(w, smoothing, mu, gradient=gradient, keep=False)
        self.count("full_gradients" if gradient else "evaluations", self.n_active)
        difference = None
        if found.gradient is not None and inner.gradient is not None:
            difference = found.gradient - inner.gradient
        return replace(
            found,
            value=found.value - inner.value,
            upper=found.upper - inner.value,
            max_value=None if found.max_value is None else found.max_value - inner.value,
            gradient=difference,
        )

    def count(self, kind: str, calls: int) -> None:
        """Add to the number of inferences of a kind, such as "oracle_calls"."""
        setattr(self.counts, kind, getattr(self.counts, kind) + calls)

    def dual_blocks(self) -> DualBlocks:
        """Dual variables over cached outputs, for block-coordinate solvers."""
        if self.dual_variables != "outputs":
            raise TypeError(
                f"Block-coordinate Frank-Wolfe needs Hinge(cost): the dual variables of {type(self.loss).__name__} are "
                "not a few outputs and their weights. Use DualProximal(), LBFGS() or Casimir()."
            )
        self.check_convex("Block-coordinate Frank-Wolfe")
        return self._dual_problem(Hard()).dual_blocks()

    def potential_blocks(self, eta: float | None = None) -> PotentialBlocks:
        """Dual variables as log-potentials, of a hinge loss or one smoothed by the entropy.

        eta  the length of every step; None: searched for
        """
        if self.dual_variables is None:
            raise TypeError(
                "Dual steps on log-potentials need Hinge(cost) or a loss that is smoothed by Entropy(), such as Log() "
                f"or SoftmaxMargin(cost), and {type(self.loss).__name__} is neither. Use Casimir()."
            )
        self.check_convex("A dual solver")
        return self._dual_problem(Entropy()).potential_blocks(self.loss.mu, eta)

    def _dual_problem(self, smoothing: Smoothing) -> Problem:
        """The one whose dual blocks can take the penalty and have the oracle: the core knows only some."""
        fused = self.term.fused if core_penalty(self.penalty) is not None else None
        return self.term.composed if fused is None or not fused.runs(smoothing) else fused

    def log_n_outputs(self) -> float:
        """The mean of log |Y_i|, or 1 where the structure does not know."""
        log_n_outputs = getattr(self.structure, "log_n_outputs", None)
        if log_n_outputs is None:
            return 1.0
        return self._mean(log_n_outputs(layout_of(self.model)))

    def curvature_at_zero(self, most: int) -> FloatArray | None:
        """float64[rows, rows], C: the Hessian at w = 0 of the losses, smoothed by mu Entropy(), is at most C x I / mu.

        w is rows of equal length, I as large as one. None where the model does not tell it, or has more rows than most.
        """
        own: Any = getattr(self.model, "curvature_at_zero", None)
        name = f"curvature of at most {most} rows"
        if name not in self.known_of_losses:
            self.known_of_losses[name] = None if own is None else own(self._shares, most)
        found: FloatArray | None = self.known_of_losses[name]
        return found

    def trivial_dual(self) -> DualPoint:
        """All weight on the truth: D = 0, a lower bound of every loss here."""
        return DualPoint(np.zeros(self.n_params), 0.0)

    def _mean(self, values: FloatArray) -> float:
        """sum_i p_i values_i"""
        return float(values.mean()) if self._shares is None else dot(self._shares, values)

    def _dual_point(self, w: FloatArray, found: Pass) -> DualPoint | None:
        """The oracle's weights u: <u_i, ell_i> - mu omega(u_i) = f_i(w) - <w, A_i^T u_i>, omega = 0 for Hard()."""
        assert found.gradient is not None
        if not self.is_convex:
            return None
        if isinstance(self.loss.smoothing, Hard):
            return DualPoint(found.gradient, self._mean(found.cost))
        ell = self._mean(found.value) + self.constant - dot(w, found.gradient)
        return DualPoint(found.gradient, ell)


def checked_weights(sample_weight: Any, n: int) -> FloatArray:
    """float64[n]: the weights of n examples, 0 or larger and one at least above."""
    weights = weights_of(sample_weight, n)
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; at least one example must count.")
    return weights


def _shares_of(weights: FloatArray | None, n: int) -> tuple[IntArray, FloatArray | None, FloatArray | None]:
    """The examples that count, their scales n_active p_i, and their shares p_i; None for both where all are equal."""
    if weights is None or (weights == weights[0]).all():
        return np.arange(n), None, None
    examples, shares = np.flatnonzero(weights), weights / weights.sum()
    return examples, shares * len(examples), shares
