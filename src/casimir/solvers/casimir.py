"""Casimir: Catalyst acceleration with smoothing (algo:catalyst), around any inner solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._validate import positive_int
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Inner, Monitor, check_inner
from casimir.solvers.catalyst import run_catalyst
from casimir.solvers.regimes import Sequence
from casimir.solvers.smoothness import level_of, needs_smoothing
from casimir.solvers.svrg import SVRG
from casimir.solvers.untuned import Settings, Untuned
from casimir.solvers.untuned_saga import UntunedSAGA

_SCHEMES = ("untuned", "const", "adapt")
_WARM_STARTS = ("prox-center", "extrapolation", "prev-iterate")
_PAPER_SVRG = SVRG(iterate="average", sampling="replacement")


@dataclass(frozen=True)
class Casimir:
    """w_k ~ argmin_w F_{mu_k}(w) + (kappa_k/2) |w - z_{k-1}|^2,   z_k = w_k + beta_k (w_k - w_{k-1}).

    As it is, a scheme that needs no tuning: mu_k falls in stages, kappa_k follows L, the extrapolation restarts (see
    `casimir.solvers.untuned`). `Casimir.paper` makes the paper's algorithm to the letter.

    inner       minimises the subproblems, with its own smoothing: SVRG(); SAGA(), whose scheme makes no full gradients;
                LBFGS(), GradientDescent(), or anything that meets `casimir.solvers.base.Inner`
    scheme      "untuned", or the paper's sequences "const" or "adapt"
    alpha0      in (0, 1); None: max((sqrt(5) - 1)/2, sqrt(q)), or the paper's
    mu, kappa   a number, or a function of k = 1, 2, ... that gives mu_k, kappa_k; None: the scheme's own. A number is
                the constant in the paper's sequences
    inner_epochs    inner epochs per subproblem

    Of the paper's sequences alone:
    delta       relative accuracies delta_k of the subproblems, like mu; needs stopping="accuracy"
    warm_start  where the inner solver starts: "prox-center", "extrapolation" or "prev-iterate"
    stopping    "budget": inner_epochs per subproblem; "accuracy": inner epochs until the gradient shows the relative
                accuracy delta_k of eq. (stopping_criterion), 100 at most
    """

    inner: Inner = SVRG()
    scheme: str = "untuned"
    alpha0: float | None = None
    mu: Sequence = None
    kappa: Sequence = None
    delta: Sequence = None
    inner_epochs: int = 1
    warm_start: str = "prox-center"
    stopping: str = "budget"

    @classmethod
    def paper(cls, regime: str = "const", inner: Inner | None = None, **options: Any) -> Casimir:
        """algo:catalyst with the sequences of the paper's propositions.

        regime   "const": mu_k = mu (prop:c:total_compl_svrg_sc, prop:c:total_compl_svrg_smooth); "adapt": mu_k falls
                 (prop:c:total_compl_sc:dec_smoothing and its sibling). Which of the two depends on lam > 0
        inner    None: SVRG(iterate="average", sampling="replacement"), with L by search, as the paper tunes it. With
                 lipschitz="bound" L = A_omega / mu, and kappa is the propositions'
        options  alpha0, mu, kappa, delta, inner_epochs, warm_start, stopping
        """
        if regime not in ("const", "adapt"):
            raise ValueError(f"regime={regime!r}; it must be 'const' or 'adapt'.")
        return cls(_PAPER_SVRG if inner is None else inner, regime, **options)

    def __post_init__(self) -> None:
        check_inner(self.inner)
        for name, choices in (("scheme", _SCHEMES), ("warm_start", _WARM_STARTS), ("stopping", ("budget", "accuracy"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}; it must be one of {', '.join(choices)}.")
        for name in ("mu", "kappa", "delta"):
            value = getattr(self, name)
            if value is not None and not callable(value) and not value > 0.0:
                raise ValueError(f"{name}={value}; it must be positive, a function of k, or None for the default.")
        if self.alpha0 is not None and not 0.0 < self.alpha0 < 1.0:
            raise ValueError(f"alpha0={self.alpha0}; it must lie between 0 and 1, or be None for the default.")
        positive_int(self.inner_epochs, "inner_epochs")
        self._check_used()

    def _check_used(self) -> None:
        """An option that would do nothing is an error."""
        if self.mu is not None and self.inner.mu is not None:
            raise ValueError(f"Casimir: mu={self.mu} and the inner solver's mu={self.inner.mu}; give one of them.")
        if self.scheme == "untuned" and (self.warm_start, self.stopping) != ("prox-center", "budget"):
            raise ValueError(
                "warm_start and stopping belong to the paper's sequences; the untuned scheme starts at z and gives "
                "every subproblem inner_epochs. Use Casimir.paper('const', ...)."
            )
        if self.delta is not None and self.stopping != "accuracy":
            raise ValueError("delta does nothing with stopping='budget'. Use Casimir.paper(..., stopping='accuracy').")
        if self.inner_epochs != 1 and self.stopping == "accuracy":
            raise ValueError("inner_epochs does nothing with stopping='accuracy'. Leave it out.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        objective.check_convex("Casimir")
        if self.scheme != "untuned":
            run_catalyst(self, objective, w0, monitor, rng)
            return
        settings = Settings(self.inner, self.alpha0, self._mu(objective, monitor.tol), self.kappa, self.inner_epochs)
        scheme = UntunedSAGA if hasattr(self.inner, "sweep") else Untuned
        scheme(settings, objective, w0, monitor, rng).run()

    def _mu(self, objective: Objective, tol: float) -> Sequence:
        """mu as it was given, here or to the inner solver; None where stages are to find it."""
        given = self.inner.mu if self.mu is None else self.mu
        if given is None:
            return None
        if not callable(given):
            return level_of(objective, self.inner.smoothing, given, tol, type(self.inner).__name__)
        if not needs_smoothing(objective, self.inner.smoothing):
            raise ValueError("Casimir: mu does nothing here, because nothing is smoothed. Leave it out.")
        return given
