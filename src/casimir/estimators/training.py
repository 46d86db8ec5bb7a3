"""What the estimators share: penalties, seeds and threads from their parameters, a certified fit, its warnings."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from casimir._validate import positive_int
from casimir._warnings import warn
from casimir.costs import Cost
from casimir.losses import Hinge, Log, Loss
from casimir.objective import Objective
from casimir.penalties import ElasticNet, Penalty, Ridge
from casimir.scores import FloatArray
from casimir.solvers import Result, minimize
from casimir.solvers.base import Solver
from casimir.solvers.choose import choose

Method = TypeVar("Method", bound=Callable[..., Any])


def seed_of(random_state: Any) -> int | np.random.Generator:
    """A seed for `minimize` from anything that scikit-learn takes as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state={random_state!r}; it must be a whole number, 0 or larger, None, or a numpy generator."
    )


def number_of(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r}; it must be a number, or None for the default.") from None


def strength_of(lam: Any, total_weight: float) -> float:
    """lam; None is 1 / the total weight of the examples."""
    if lam is None:
        return 1.0 / total_weight if total_weight > 0.0 else 1.0
    return number_of(lam, "lam")


def penalty_of(lam: float, l1_ratio: Any, nonnegative: Any = None) -> Penalty:
    """Ridge(lam), or ElasticNet(lam, l1_ratio).

    nonnegative  bool[d]: weights that must be 0 or more, or None
    """
    if l1_ratio == 0.0:
        return Ridge(lam, nonnegative=nonnegative)
    return ElasticNet(lam, number_of(l1_ratio, "l1_ratio"), nonnegative=nonnegative)


def classifier_loss(name: str, cost: Cost) -> Loss:
    """Hinge(cost) or Log()."""
    if name not in ("hinge", "log"):
        raise ValueError(f"loss={name!r}; it must be 'hinge' or 'log'.")
    return Log() if name == "log" else Hinge(cost)


def _is_log(estimator: Any) -> bool:
    if estimator.loss != "log":
        raise AttributeError("predict_proba needs loss='log': a hinge loss trains no probabilities.")
    return True


def threads_of(n_jobs: int | None) -> int | None:
    """As scikit-learn counts: -1 is all CPUs, -2 all but one. None: as many as casimir takes by itself."""
    if n_jobs is None or n_jobs == -1:
        return None
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs) if n_jobs < 0 else positive_int(n_jobs, "n_jobs")


def for_log_loss(method: Method) -> Method:
    """A method that an estimator has with loss="log" only: a hinge loss trains no probabilities."""
    from sklearn.utils.metaestimators import available_if  # scikit-learn takes a second to load

    decorated: Method = available_if(_is_log)(method)
    return decorated


class CertifiedFit:
    """What every `fit` ends with: the regularised risk, a solver that runs on it, and what it proves is kept.

    An estimator that inherits it has the parameters solver, tol, random_state, max_epochs and verbose; for `_risk` lam,
    loss, l1_ratio and n_jobs as well.
    """

    lam: Any
    loss: str
    l1_ratio: Any
    n_jobs: int | None
    solver: Any
    tol: float
    random_state: Any
    max_epochs: int
    verbose: bool

    def _auto(self, objective: Objective) -> str | Solver:
        """What solver="auto" stands for."""
        return "auto"

    def _risk(
        self, model: Any, structure: Any, cost: Cost, y: Any, weights: FloatArray | None, nonnegative: Any = None
    ) -> Objective:
        """The mean loss of examples of these weights, all 1 if None, and the penalty. Sets lam_.

        nonnegative  bool[d]: weights of the model that must be 0 or more, or None
        """
        self.lam_ = strength_of(self.lam, float(model.n_examples if weights is None else np.sum(weights)))
        penalty, loss = penalty_of(self.lam_, self.l1_ratio, nonnegative), classifier_loss(self.loss, cost)
        shares = None if weights is None or np.ptp(weights) == 0.0 else weights
        return Objective(model, structure, loss, y, penalty, shares, n_threads=threads_of(self.n_jobs))

    def _minimize(self, objective: Objective) -> Result:
        """Sets objective_, dual_, gap_, status_, trace_, n_iter_ and solver_."""
        is_auto = isinstance(self.solver, str) and self.solver == "auto"
        solver = choose(self._auto(objective) if is_auto else self.solver, objective)
        epochs, seed = positive_int(self.max_epochs, "max_epochs"), seed_of(self.random_state)
        train = _shown if self.verbose else minimize
        result = train(objective, solver, epochs, self.tol, seed)
        self.objective_, self.dual_, self.gap_ = result.objective, result.dual, result.gap
        self.status_, self.trace_, self.solver_ = result.status, result.trace, solver
        self.n_iter_ = result.trace[-1].epoch
        if result.status != "converged":
            warn_of_the_end(result, self.tol)
        return result


def _shown(objective: Objective, solver: Any, epochs: int, tol: float, seed: Any) -> Result:
    """The training, with a line on stderr that tells how far it has come."""
    from casimir.progress import Progress

    with Progress() as progress:
        return minimize(objective, solver, epochs, tol, seed, [progress])


def warn_of_the_end(result: Result, tol: float) -> None:
    """Where the training ended before it was done; a callback that ended it knows."""
    where = f"after {result.trace[-1].epoch} epochs at a certified relative gap of {result.gap:.1e}"
    if result.status == "interrupted":
        message = f"Training was interrupted {where}; the best weights so far are kept."
    elif result.status == "epochs":
        message = f"Training ended {where}; tol={tol:.1e} was asked for. Allow more epochs, or a larger lam or tol."
    else:
        return
    from sklearn.exceptions import ConvergenceWarning

    warn(message, ConvergenceWarning)


def not_fitted(estimator: Any) -> Exception:
    """What scikit-learn raises for an estimator that was not fitted."""
    from sklearn.exceptions import NotFittedError

    name = type(estimator).__name__
    error: Exception = NotFittedError(
        f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    )
    return error
