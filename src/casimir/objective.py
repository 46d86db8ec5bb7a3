"""The regularised empirical risk of eq. (1), its smoothings, gradients, dual values and certified gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._arrays import dot
from casimir._threads import n_threads as default_threads
from casimir._validate import positive_int
from casimir.costs import Cost
from casimir.kernels import ComposedKernel, DualBlocks, Kernel, NativeKernel, Pass, native_problem, native_smoothing
from casimir.models.base import Linearization, ScoreModel, is_linear, linearize, nearest_allowed, scores_in_batches
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Entropy, Hard, Smoothing
from casimir.structures.base import Structure


@dataclass(frozen=True, eq=False, slots=True)
class DualPoint:
    """A point of the dual of F: D = ell - |g|^2 / (2 lam) <= min F.

    g = mean_i A_i^T u_i and ell = mean_i <u_i, ell_i>, with every u_i in the simplex. For a CRF, whose losses have no
    cost, ell is the mean entropy of the u_i.
    """

    g: FloatArray
    ell: float

    def value(self, lam: float) -> float:
        return self.ell - dot(self.g, self.g) / (2.0 * lam) if lam > 0.0 else 0.0

    def towards(self, other: DualPoint, lam: float) -> DualPoint:
        """The best point on the segment to `other`: D is a concave parabola along it, and every point is feasible."""
        step = other.g - self.g
        curvature = dot(step, step) / lam
        slope = other.ell - self.ell - dot(self.g, step) / lam
        theta = slope / curvature if curvature > 0.0 else float(slope > 0.0)
        theta = min(max(theta, 0.0), 1.0)
        return DualPoint(self.g + theta * step, self.ell + theta * (other.ell - self.ell))


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """What one full pass at w tells.

    objective  F(w), or None when the smoothing's oracle does not see the max
    smoothed   F_mu(w)
    gradient   float64[d] = grad F_mu(w), or None
    dual       the feasible point given by the oracle's weights, or None where there is no dual or no gradient
    exact      share of examples on which the smoothing was exact
    marginals  kept for variance-reduced steps, or None
    """

    objective: float | None
    smoothed: float
    gradient: FloatArray | None
    dual: DualPoint | None
    exact: float
    marginals: Any


@dataclass
class Objective:
    """F(w) = (1/n) sum_i f_i(w) + (lam/2) |w|^2.

    loss "hinge": f_i(w) = max_y { score_i(y; w) + cost(y_i, y) } - score_i(y_i; w)
    loss "crf":   f_i(w) = log sum_y exp(score_i(y; w)) - score_i(y_i; w), no cost: the exp oracle with mu = 1

    Where the scores of the model are not linear in w, F is not convex: there is no dual, and only solvers that say so
    can minimise it. With an `offset`, score_i(y; w) is that of the model plus offset_i(y), which does not depend on w.
    Where the model wants some weights non-negative, F is minimised over those w alone. Solvers may then hold any w;
    it stands for P(w), the nearest one allowed, here and in every oracle.

    y: list of outputs, one int64[p_i] per example. Linear chains, linear trees and candidate lists run on the native
    kernel unless native=False; with an offset, candidate lists alone. `oracle_calls` counts every inference that was
    made.
    """

    model: ScoreModel
    structure: Structure
    cost: Cost | None
    y: list[IntArray]
    lam: float
    loss: str = "hinge"
    native: bool = True
    n_threads: int | None = None
    offset: Scores | None = None
    oracle_calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.loss not in ("hinge", "crf"):
            raise ValueError(f"loss={self.loss!r}; it must be 'hinge' or 'crf'.")
        if self.loss == "crf" and self.cost is not None:
            raise ValueError("loss='crf' takes no cost; pass cost=None, or use loss='hinge'.")
        if not (np.isfinite(self.lam) and self.lam >= 0.0):
            raise ValueError(f"lam={self.lam}; it must be a finite number, 0 or larger. 1/n is a good start.")
        if self.n_threads is not None:
            positive_int(self.n_threads, "n_threads")
        self.y = [_whole_numbers(output, i) for i, output in enumerate(self.y)]
        if len(self.y) != self.model.n_examples:
            raise ValueError(f"y has {len(self.y)} outputs; the model has {self.model.n_examples} examples.")
        if not self.y:
            raise ValueError("An objective needs at least one example.")
        self._composed_kernel: ComposedKernel | None = None
        self._native_kernel: NativeKernel | None = None
        layout = self.model.scores(np.zeros(self.model.n_params), [0])
        self.structure.select([0]).score_of(layout, self.y[:1])  # the error of a wrong label or length comes early
        if self.native:
            problem = native_problem(self.model, self.structure, self.cost, self.y, self.offset)
            if problem is not None:
                self._native_kernel = NativeKernel(problem, self.n_threads or default_threads())

    @property
    def n_examples(self) -> int:
        return self.model.n_examples

    @property
    def n_params(self) -> int:
        return self.model.n_params

    @property
    def is_native(self) -> bool:
        return self._native_kernel is not None

    @property
    def is_smooth(self) -> bool:
        """Whether F itself is smooth, so that no smoothing applies."""
        return self.loss == "crf"

    @property
    def is_convex(self) -> bool:
        """Whether the scores are linear in w, so that F is convex and has a dual."""
        return is_linear(self.model)

    @property
    def nonnegative(self) -> npt.NDArray[np.bool_] | None:
        """bool[d]: weights that must not be negative, or None."""
        mask: npt.NDArray[np.bool_] | None = getattr(self.model, "nonnegative", None)
        return mask

    def allowed(self, w: FloatArray) -> FloatArray:
        """P(w), the nearest weights that the model allows; w itself when it allows all."""
        return nearest_allowed(self.model, w)

    def bound(self, dual: DualPoint) -> float:
        """D = ell + min_w { <g, w> + (lam/2) |w|^2 } over the allowed w, which is at P(-g / lam)."""
        return DualPoint(self.allowed(-dual.g), dual.ell).value(self.lam)

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        """The scores of the examples at w, without offset, and both products by their Jacobian."""
        return linearize(self.model, w, examples)

    def check_convex(self, solver: str) -> None:
        if not self.is_convex:
            raise TypeError(
                f"{solver} needs scores that are linear in w, and those of {type(self.model).__name__} are not. "
                "Use ProxLinear() or SGD()."
            )

    def kernel(self, smoothing: Smoothing) -> Kernel:
        """The kernel that runs passes with this smoothing."""
        if self._native_kernel is not None and native_smoothing(smoothing, 1.0) is not None:
            return self._native_kernel
        if self._composed_kernel is None:
            self._composed_kernel = ComposedKernel(self.model, self.structure, self.cost, self.y, self.offset)
        return self._composed_kernel

    def resolve(self, smoothing: Smoothing, mu: float) -> tuple[Smoothing, float]:
        """The smoothing to run with: a CRF always uses its own exp oracle."""
        return (Entropy(), 1.0) if self.is_smooth else (smoothing, mu)

    def mu_of(self, smoothing: Smoothing, mu: float) -> float | None:
        """mu as a trace reports it: None where nothing is smoothed."""
        return None if self.is_smooth or isinstance(smoothing, Hard) else mu

    def value(self, w: FloatArray) -> float:
        """F(w)."""
        value = self.evaluate(w, gradient=False).objective
        assert value is not None
        return value

    def evaluate(
        self,
        w: FloatArray,
        smoothing: Smoothing | None = None,
        mu: float = 0.0,
        *,
        gradient: bool = True,
        keep: bool = False,
    ) -> Evaluation:
        """One full pass: n oracle calls."""
        smoothing, mu = self.resolve(smoothing if smoothing is not None else Hard(), mu)
        result = self.kernel(smoothing).full_pass(w, smoothing, mu, gradient=gradient, keep=keep)
        self.oracle_calls += self.n_examples
        w = self.allowed(w)
        penalty = 0.5 * self.lam * dot(w, w)
        smoothed = float(result.value.mean()) + penalty
        objective = smoothed if self.is_smooth else None
        if not self.is_smooth and result.max_value is not None:
            objective = float(result.max_value.mean()) + penalty
        dual, full = None, None
        if result.gradient is not None:
            dual = DualPoint(result.gradient, self._ell(w, result)) if self.is_convex else None
            full = result.gradient + self.lam * w
        return Evaluation(objective, smoothed, full, dual, float(result.exact.mean()), result.marginals)

    def dual_blocks(self) -> DualBlocks:
        """Dual variables over cached outputs, for block-coordinate solvers."""
        if self.is_smooth:
            raise TypeError(
                "Block-coordinate Frank-Wolfe needs loss='hinge'; a CRF's dual has no finite outputs. Use LBFGS()."
            )
        self.check_convex("Block-coordinate Frank-Wolfe")
        return self.kernel(Hard()).dual_blocks()

    def log_n_outputs(self) -> float:
        """mean_i log |Y_i|, or 1 where the structure does not know."""
        log_n_outputs = getattr(self.structure, "log_n_outputs", None)
        if log_n_outputs is None:
            return 1.0
        return float(np.mean(log_n_outputs(scores_in_batches(self.model, np.zeros(self.n_params)))))

    def trivial_dual(self) -> DualPoint:
        """All weight on the truth: D = 0, a lower bound of every loss here."""
        return DualPoint(np.zeros(self.n_params), 0.0)

    def _ell(self, w: FloatArray, result: Pass) -> float:
        if not self.is_smooth:
            return float(result.cost.mean())
        assert result.gradient is not None
        return float(result.value.mean()) - dot(w, result.gradient)  # entropy = f_i - <w, A_i^T u_i>


@dataclass(frozen=True, eq=False)
class Proximal:
    """F(w) + (kappa/2) |w - z|^2, the subproblem of an outer step around the centre z. kappa = 0 is F itself."""

    objective: Objective
    kappa: float
    center: FloatArray

    @property
    def sigma(self) -> float:
        """Its strong convexity, lam + kappa."""
        return self.objective.lam + self.kappa

    def smoothed(self, w: FloatArray, evaluation: Evaluation) -> float:
        """F_mu(w) + (kappa/2) |w - z|^2, given F's evaluation at w."""
        moved = w - self.center
        return evaluation.smoothed + 0.5 * self.kappa * dot(moved, moved)

    def gradient(self, w: FloatArray, evaluation: Evaluation) -> FloatArray:
        assert evaluation.gradient is not None
        return evaluation.gradient + self.kappa * (w - self.center)

    def fixed_point(self, evaluation: Evaluation) -> FloatArray:
        """c with g + lam w + kappa (w - z) = sigma (w - c), the affine part of the gradient; -g when sigma = 0."""
        assert evaluation.dual is not None
        if self.sigma == 0.0:
            return -evaluation.dual.g
        return np.asarray((self.kappa * self.center - evaluation.dual.g) / self.sigma, dtype=np.float64)


def _whole_numbers(output: Any, example: int) -> IntArray:
    """int64[p] of one output; numbers with a fraction are no labels."""
    array = np.atleast_1d(np.asarray(output))
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"y[{example}] has {array.dtype} entries; outputs are whole numbers such as label numbers.")
    return array.astype(np.int64)


def relative_gap(objective: float, dual: float) -> float:
    """(F - D) / F: how far F can still fall, as a share of it. 0 when both are 0."""
    gap = max(objective - dual, 0.0)
    return gap / abs(objective) if gap > 0.0 else 0.0
