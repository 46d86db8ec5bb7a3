"""An inexact proximal point method around dual steps: Casimir's outer loop with a dual inner solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from casimir._arrays import aligned_zeros, combine, dot
from casimir._native import core
from casimir._threads import n_threads
from casimir.duality import DualPoint
from casimir.objective import Objective
from casimir.penalties import Penalty, Proximal, Ridge
from casimir.problems import DualIterate
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.bcfw import BCFW, dual_start
from casimir.solvers.kept import Kept
from casimir.solvers.proximal_kappa import (
    Conditioning,
    Kappa,
    absolute_values,
    has_bounded_dual,
    hinge_extrapolation,
    hinge_kappa,
    smooth_kappa,
)
from casimir.solvers.sdca import SDCA, memory_of

_LONGEST_WAIT = 25  # epochs: a prediction that was far off must not put the next evaluation off for good
_LONG_LIST = 100  # outputs
_FALL = 0.1  # of the prediction, until F is evaluated again
_NOISY = 0.3  # share of the gap that S is: above it an average of the w_k may be better than the last of them
# The inner solver, by what the dual variables of the loss are, and what the outputs are.
_INNER: dict[str | None, BCFW | SDCA] = {
    "outputs": BCFW(pairwise=True, light_passes=1, cached_passes=6, skip_below=2.0),
    "listed outputs": BCFW(pairwise=True, cached_passes=8, skip_below=0.5),
    "potentials": SDCA(),
}


@dataclass(frozen=True)
class DualProximal:
    """w_k ~ argmin_w F(w) + (kappa_k/2) |w - z_k|^2; the subproblems are solved in the dual, without smoothing.

    It certifies small gaps fastest and is what "auto" takes. w0 is the first centre z_0; the dual variables start at
    the truth wherever that is, so a good w0 saves no more than a tenth of the oracle calls.

    inner  BCFW(pairwise=True, ...) for a hinge loss, SDCA(...) for one smoothed by the entropy; its dual variables go
           from one subproblem to the next. None: the one that fits the loss: SDCA, or BCFW with one light and 6
           cached passes after every one over all examples. For long lists of candidates BCFW makes no light passes,
           but 8 cached ones over more of the examples: an oracle call looks at the whole list
    kappa  None: by what the gradients of a few examples at w = 0 tell to begin with (see `hinge_kappa`,
           `smooth_kappa`); then, unless there are absolute values alone, it follows the run (see `Kappa`)

    The next centre lies beyond w_k: as far as in Casimir for a smooth loss; for a hinge loss hardly, and for large lam
    not at all, and there the average of the w_k is looked at as well, while w_k is noisy.
    """

    starts_at_zero: ClassVar[bool] = True  # what wraps it gives it no start; a penalty's centre serves as one

    inner: BCFW | SDCA | None = None
    kappa: float | None = None

    def __post_init__(self) -> None:
        is_cached = isinstance(self.inner, BCFW) and self.inner.pairwise
        if not (self.inner is None or is_cached or isinstance(self.inner, SDCA)):
            raise ValueError(
                f"inner={self.inner!r}; DualProximal keeps dual variables, so it needs BCFW(pairwise=True, ...) for a "
                "hinge loss or SDCA() for a log loss."
            )
        if self.kappa is not None and not self.kappa > 0.0:
            raise ValueError(f"kappa={self.kappa}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        inner, bounded = self._inner(objective), has_bounded_dual(objective)
        is_free, at = self.kappa is None and not bounded, Conditioning.of(objective)
        if isinstance(inner, SDCA):
            first, manner = smooth_kappa(at), _Manner(averages=False, beta=None)
        else:
            first = hinge_kappa(at, is_l1=bounded and absolute_values(objective) > 0.0)
            manner = _Manner(averages=True, beta=0.0 if bounded else hinge_extrapolation(at))
        balances, lam = is_free and isinstance(inner, SDCA), objective.penalty.strong_convexity
        kappa = Kappa(self.kappa or first, rises=is_free, balances=balances, most=at.enough, lam=lam)
        _Run(objective, inner, kappa, manner, rng, monitor, w0).run()

    def _inner(self, objective: Objective) -> BCFW | SDCA:
        inner = self.inner or default_inner(objective)
        if inner is None:
            raise TypeError(
                f"DualProximal has no dual steps for {type(objective.loss).__name__}: it needs Hinge(cost), or a loss "
                "that is smoothed by Entropy(), such as Log(). Use Casimir()."
            )
        return inner


def has_dual_steps(objective: Objective) -> bool:
    """Whether DualProximal() can minimise F: loss and penalty have to fit, and the dual variables into memory."""
    penalty, inner = objective.penalty, default_inner(objective)
    fits = inner is not None and (isinstance(inner, BCFW) or memory_of(objective) <= inner.memory)
    return fits and (penalty.strong_convexity > 0.0 or penalty.quadratic is None)


def default_inner(objective: Objective) -> BCFW | SDCA | None:
    """The inner solver that fits the loss, or None."""
    variables = objective.dual_variables
    if variables is None:
        return None
    is_listed = variables == "outputs" and _has_long_lists(objective)
    return _INNER["listed outputs" if is_listed else variables]


def _has_long_lists(objective: Objective) -> bool:
    """Whether every output is a part of its own, and there are many: as many outputs as marginals."""
    problem = objective.problem(objective.loss.smoothing)
    parts = problem.marginal_offset(problem.n_examples) / problem.n_examples
    return parts >= _LONG_LIST and objective.log_n_outputs() <= math.log(parts) + 1e-9


class _Manner(NamedTuple):
    """How the outer loop goes.

    averages  whether the average of the w_k is reported where it is better
    beta      how far z goes beyond w, in units of the last step; None: as far as in Casimir
    """

    averages: bool
    beta: float | None


class _Run:
    """The state of a run.

    The subproblem differs from F by its penalty alone, so its dual variables, and hence g = sum_i p_i A_i^T u_i and
    ell, are kept from one centre to the next. They are feasible for F itself: D = ell - R*(-g).

    The subproblem's mean block gap is S = loss(w) - ell - <g, w>, so F(w) - D = S + ell + <g, w> + R(w) - D. S is known
    only from the last visits, and the average of the w's may be better than the last, so this prediction is scaled by
    what it was off by the last time. F is evaluated when the tolerance may be reached, when nine tenths of the
    predicted gap have gone, and every 25 epochs at the least.

    Where kappa was so small that the centres went astray, z goes back to where it began, and its momentum with it. The
    dual variables stay: they are feasible around any centre.

    Vectors are most of the memory of a training on text, so those that are not needed are not there. Steps between
    cached outputs leave most weights at 0 and move w alone: under a plain square z, the w of before and the average
    are kept without zeros from one epoch to the next.
    """

    def __init__(
        self,
        objective: Objective,
        inner: BCFW | SDCA,
        kappa: Kappa,
        manner: _Manner,
        rng: np.random.Generator,
        monitor: Monitor,
        w0: FloatArray,
    ) -> None:
        self.objective, self.inner, self.manner, self.rng, self.monitor = objective, inner, manner, rng, monitor
        self.kappa = kappa
        rest, n = w0 if w0.any() else _resting_point(objective), objective.n_params
        self.first_centre, self.begun = rest, 0  # begun: the epoch before the first one from there
        self.z: FloatArray | Kept = aligned_zeros(n)
        self.before: FloatArray | Kept | None = None if manner.beta == 0.0 else aligned_zeros(n)
        self.mean = self._kept(aligned_zeros(n)) if manner.averages else None
        if rest is not None:
            self.z[:] = rest
        if rest is not None and self.before is not None:
            self.before[:] = rest
        penalty = Proximal(objective.penalty, kappa.value, self.z)
        self.blocks: Any = inner.blocks(objective.with_penalty(penalty))
        is_kept = _keeps(inner, objective.penalty)
        curvature = Ridge(penalty.strong_convexity)  # of a plain square, all that steps ask for
        self.iterate: DualIterate = dual_start(curvature if is_kept and rest is None else penalty, n)
        self.mean_dual = objective.trivial_dual() if has_bounded_dual(objective) else None
        self.average_wins = False
        if is_kept:
            self.z, self.before = self._kept(self.z), None if self.before is None else self._kept(self.before)
            self.iterate.penalty = curvature

    def run(self) -> None:
        k, last_k, last_predicted, correction = 0, 0, math.inf, 1.0
        if self.monitor.resumed is not None:
            k, last_k, last_predicted, correction, of_run = self.monitor.resumed
            self._restore(*of_run)
        while True:
            self.monitor.rest((k, last_k, last_predicted, correction, self))
            k += 1
            block_gap = self.inner.passes(self.objective, self.blocks, self.iterate, self.rng)
            share = 6.0 / (k + 5.0)
            if self.mean is not None:
                self.mean.mix(1.0 - share, share, self.iterate.w)
            dual, predicted = self._dual_and_prediction(block_gap, share)
            enough = max(self.monitor.tol * dual / correction, _FALL * last_predicted)
            is_worth_it = predicted <= enough or k - last_k >= _LONGEST_WAIT
            if self.monitor.is_last or (self.monitor.is_due and is_worth_it):
                is_noisy = k > 2 and block_gap > _NOISY * predicted  # the first average is that w
                value, done = self._report(dual, is_noisy)
                if done:
                    return
                correction = (value - dual) / predicted if predicted > 0.0 and value > dual else 1.0
                last_k, last_predicted = k, predicted
            else:
                self.monitor.skip()
            kappa, starts_over = self.kappa.after(block_gap, predicted, correction, dual)
            if starts_over:
                self.begun = k
            self._recentre(kappa, k - self.begun)

    def state(self) -> Any:
        iterate, more = self.iterate, (self.mean, self.mean_dual, self.average_wins, self.begun)
        return [self.z, self.before, iterate.w, iterate.g, self.blocks, self.kappa, *more]

    def _restore(self, z: Any, before: Any, w: Any, g: Any, blocks: Any, kappa: Any, *more: Any) -> None:
        mean, self.mean_dual, self.average_wins, self.begun = more
        self.blocks.restore(blocks)
        self.kappa.restore(kappa)
        self.mean = None if mean is None else self._kept(mean)
        self.z, self.before, penalty = z, before, self.objective.penalty
        self.iterate = DualIterate(Proximal(penalty, self.kappa.value, z), w, g)
        if _keeps(self.inner, penalty):
            self.z, self.before = self._kept(z), None if before is None else self._kept(before)
            self.iterate.penalty = Ridge(self.iterate.penalty.strong_convexity)

    def _kept(self, w: FloatArray) -> Kept:
        return Kept.of(w, self.objective.n_threads or n_threads())

    def _dual_and_prediction(self, block_gap: float, share: float) -> tuple[float, float]:
        w, penalty, ell = self.iterate.w, self.objective.penalty, self.objective.constant + self.blocks.ell
        if _is_plain_square(penalty):
            # g = kappa z - sigma w, of which nobody needs more than two numbers
            kappa, sigma = self.kappa.value, self.iterate.penalty.strong_convexity
            if isinstance(self.z, Kept):
                square, product = self.z.products_of_sum(kappa, -sigma, w)
            else:
                square, product = core.products_of_sum(kappa, self.z, -sigma, w)
            dual = ell - square / (2.0 * penalty.strong_convexity)
            return dual, block_gap + ell + product + penalty.value(w) - dual
        g = self.iterate.gradient()
        dual = DualPoint(g, ell).value(penalty)
        if self.mean_dual is not None:
            self.mean_dual = self.mean_dual.mixed(DualPoint(g.copy(), ell), share)  # steps change g in place
            dual = max(dual, self.mean_dual.value(penalty))
        return dual, block_gap + ell + dot(g, w) + penalty.value(w) - dual

    def _report(self, dual: float, is_noisy: bool) -> tuple[float, bool]:
        """The better of w and the average, and whether the run is over.

        The average is looked at where w is noisy, in the memory of w, which is written back. Once it has won, w is
        left out.
        """
        w = self.iterate.w
        value = math.inf if self.average_wins else self.objective.value(w)
        if self.mean is None or not (is_noisy or self.average_wins):
            return value, self.monitor.epoch(w, objective=value, dual=dual, kappa=self.kappa.value)
        last = self._kept(w)
        self.mean.write(w)
        of_mean = self.objective.value(w)
        if of_mean < value:
            value, self.average_wins = of_mean, True
        else:
            last.write(w)
        done = self.monitor.epoch(w, objective=value, dual=dual, kappa=self.kappa.value)
        last.write(w)
        return value, done

    def _recentre(self, kappa: float, k: int) -> None:
        """z = w + beta (w - w of before), for k = 0 the first centre; w is the primal point of the same g around it.

        For a square of curvature lam and sigma = lam + kappa, that is w' = (kappa' z' + sigma w - kappa z) / sigma'.
        The memory of z, and that of the w of before, are used again: all stay aligned.
        """
        objective, w, g = self.objective, self.iterate.w, self.iterate.g
        new_z, own = w, objective.penalty.quadratic
        beta = self.manner.beta
        if beta is None:
            beta = _extrapolation(objective.penalty.strong_convexity, kappa, k)
        if isinstance(self.z, Kept):
            self._recentre_kept(self.z, kappa, beta)
            return
        if k == 0 or beta > 0.0:
            assert isinstance(self.before, np.ndarray)
            new_z = self.before
        if k == 0:
            new_z[:] = 0.0 if self.first_centre is None else self.first_centre
        elif beta > 0.0:
            combine(-beta, new_z, 1.0 + beta, w, out=new_z)
        penalty: Any = Proximal(objective.penalty, kappa, new_z)
        new_w = self.z
        if g is not None:
            new_w[:] = penalty.primal(-g)
        else:
            assert own is not None
            sigma = own.sigma + kappa
            of_w, of_z = (own.sigma + self.kappa.value) / sigma, -self.kappa.value / sigma
            if new_z is w:
                combine(of_z, new_w, of_w + kappa / sigma, w, out=new_w)
            else:
                combine(of_z, new_w, of_w, w, out=new_w)
                combine(1.0, new_w, kappa / sigma, new_z, out=new_w)
        self.z, self.kappa.value = new_z, kappa
        if k == 0:
            w[:] = new_z
        if self.before is not None:
            self.before = w
        self.iterate = DualIterate(penalty, new_w, g)

    def _recentre_kept(self, z: Kept, kappa: float, beta: float) -> None:
        """The same for a plain square, in the memory of w."""
        w, lam = self.iterate.w, self.objective.penalty.strong_convexity
        sigma, last = lam + kappa, self._kept(w)
        of_w, of_z = (lam + self.kappa.value) / sigma, -self.kappa.value / sigma
        if isinstance(self.before, Kept):
            self.before.mix(-beta, 1.0 + beta, w)
            z.add_to(w, of_z, of_w)
            self.before.add_to(w, kappa / sigma, 1.0)
            self.z, self.before = self.before, last
        else:
            z.add_to(w, of_z, of_w + kappa / sigma)
            self.z = last
        self.kappa.value, self.iterate.penalty = kappa, Ridge(sigma)


def _extrapolation(lam: float, kappa: float, k: int) -> float:
    """beta = (1 - sqrt(q)) / (1 + sqrt(q)) with q = lam / (lam + kappa), and no more than k / (k + 3)."""
    root = math.sqrt(lam / (lam + kappa))
    return min((1.0 - root) / (1.0 + root), k / (k + 3.0))


def _resting_point(objective: Objective) -> FloatArray | None:
    """The w that the penalty alone would take: the centre of a proximal penalty; None for 0."""
    penalty = objective.penalty
    if penalty.strong_convexity == 0.0 or _is_plain_square(penalty):
        return None
    return penalty.primal(np.zeros(objective.n_params))


def _keeps(inner: BCFW | SDCA, penalty: Penalty) -> bool:
    """Whether vectors lie without zeros between epochs; those of SDCA have none."""
    return isinstance(inner, BCFW) and _is_plain_square(penalty)


def _is_plain_square(penalty: Penalty) -> bool:
    """Whether R is (lam/2) |w|^2 and nothing else."""
    own = getattr(penalty, "separable", None)
    return own is not None and own.is_plain and own.center is None and own.strong_convexity > 0.0
