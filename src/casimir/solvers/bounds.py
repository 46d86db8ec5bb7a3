"""A_omega, the constant of the paper's propositions (eq. c:A_defn): F_mu is A_omega / mu smooth, plus lam.

    A_omega = max_i |A_i|^2_{2,alpha},     the rows of A_i being a_iy = Phi(x_i, y) - Phi(x_i, y_i) over all outputs y

Entropy   |A|_{2,1}: the longest row. Exact for candidates, else an upper bound by the model
L2        |A|_{2,2}: the largest singular value. Exact for candidates. Else at most k rows share the weight, with L2()
          `cap` of them, so that k times the longest row is a bound
"""

from __future__ import annotations

from typing import Any

from casimir.objective import Objective
from casimir.smoothing import L2, Entropy, Smoothing


def a_omega(objective: Objective, smoothing: Smoothing) -> float:
    """The largest over the examples that count. Linear chains, trees, candidates and `LinearPartsModel` know theirs."""
    model: Any = objective.model
    if not hasattr(model, "longest_rows"):
        raise TypeError(
            f"A_omega needs a model with longest_rows, which {type(model).__name__} does not have. Give lipschitz as a "
            "number, or None for a search."
        )
    counted, y = objective.examples, objective.y
    if isinstance(smoothing, Entropy):
        return float(model.longest_rows(y)[counted].max())
    if not isinstance(smoothing, L2):
        raise TypeError(f"A_omega is known for L2 and Entropy, not for {smoothing!r}. Give lipschitz as a number.")
    if hasattr(model, "singular_values"):
        return float(model.singular_values(y)[counted].max())
    return float((smoothing.k or smoothing.cap) * model.longest_rows(y)[counted].max())
