"""What a penalty is: a convex function of the weights with a conjugate and a proximal step."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Protocol

from casimir.scores import FloatArray


class Quadratic(NamedTuple):
    """R(w) = (sigma/2) |w - center|^2 + constant, over all w; center None is 0."""

    sigma: float
    center: FloatArray | None


class Penalty(Protocol):
    """R(w), convex; infinite where w is not allowed.

    A penalty may also have `separable`, a `casimir.penalties.separable.Separable` that equals it: with it stochastic
    steps run natively and touch only the weights of their example, and L-BFGS can take it.
    """

    @property
    def strong_convexity(self) -> float:
        """The largest c for which R(w) - (c/2) |w|^2 is convex; dual solvers need c > 0."""
        ...

    @property
    def quadratic(self) -> Quadratic | None:
        """Where R is a plain square over all w: its curvature and centre; else None."""
        ...

    def value(self, w: FloatArray) -> float:
        """R(w)."""
        ...

    def conjugate(self, g: FloatArray) -> float:
        """R*(g) = max_w <g, w> - R(w), infinite where there is no maximum."""
        ...

    def domain_share(self, g: FloatArray) -> float:
        """The largest t in [0, 1] with R*(t g) finite: 1 where R is strongly convex."""
        ...

    def primal(self, g: FloatArray) -> FloatArray:
        """float64[d] = grad R*(g), the w that attains it; needs strong_convexity > 0."""
        ...

    def prox(self, w: FloatArray, t: float) -> FloatArray:
        """float64[d] = argmin_v R(v) + |v - w|^2 / (2 t)."""
        ...


def as_penalty(penalty: Any, n_params: int) -> Penalty:
    """The penalty itself, of so many weights; a number stands for Ridge(number)."""
    from casimir.penalties.ridge import Ridge

    if isinstance(penalty, Real) and not isinstance(penalty, bool):
        return Ridge(float(penalty))
    missing = [name for name in _METHODS if not hasattr(penalty, name)]
    if missing:
        raise TypeError(
            f"penalty={penalty!r}; it must be a number, or a penalty such as Ridge(lam) or ElasticNet(lam, l1_ratio). "
            f"It has no {', '.join(missing)}."
        )
    separable = getattr(penalty, "separable", None)
    if separable is not None:
        separable.check_size(n_params)
    given: Penalty = penalty
    return given


def require(penalty: Penalty, solver: str, *, strongly_convex: bool = False, separable: bool = False) -> None:
    """Whether a solver can take the penalty; the error names what is missing."""
    name = type(penalty).__name__
    if strongly_convex and not penalty.strong_convexity > 0.0:
        raise TypeError(
            f"{solver} works on the dual, which needs Penalty.strong_convexity > 0, and that of {name} is 0. Use "
            "lam > 0 and l1_ratio < 1, or DualProximal(), LBFGS(), SVRG() or SGD()."
        )
    if separable and penalty.quadratic is None and getattr(penalty, "separable", None) is None:
        raise TypeError(f"{solver} needs Penalty.separable, which {name} does not have. Use SVRG(), SAGA() or SGD().")


_METHODS = ("strong_convexity", "quadratic", "value", "conjugate", "domain_share", "primal", "prox")
