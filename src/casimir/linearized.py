"""The convex model of a non-convex objective around a point, which prox-linear steps minimise."""

from __future__ import annotations

import numpy as np

from casimir._arrays import dot
from casimir._validate import positive_float
from casimir.models.base import scores_in_batches
from casimir.models.linearized import linear_model
from casimir.objective import Objective
from casimir.scores import FloatArray


class Linearized(Objective):
    """F_eta(w; w_k) = (1/n) sum_i h_i(g_i(w_k) + J_i (w - w_k)) + (lam/2) |w|^2 + (1/(2 eta)) |w - w_k|^2.

    g_i are the part scores, J_i their Jacobian at w_k, and h_i the loss as a function of them. The two squares are
    (sigma/2) |w - c|^2 + constant, with sigma = lam + 1/eta and c = w_k / (1 + lam eta). So in v = w - c this is an
    Objective like any other, with linear scores J_i v, the offset g_i(w_k) + J_i (c - w_k), and sigma for lam: every
    solver minimises it and certifies it. Without eta there is no last term, c = 0, and v is w.

    objective  F
    anchor     float64[d]: w_k
    eta        step length, or None
    jacobian   "stored", "products" or "auto": see casimir.models.linearized.linear_model
    """

    def __init__(
        self, objective: Objective, anchor: FloatArray, eta: float | None = None, jacobian: str = "auto"
    ) -> None:
        if objective.nonnegative is not None:
            raise TypeError(
                "Prox-linear steps cannot keep weights non-negative, as this model wants. For a linear model use "
                "Casimir(), BCFW(), LBFGS() or SGD()."
            )
        self.anchor = np.ascontiguousarray(anchor, dtype=np.float64)
        if self.anchor.shape != (objective.n_params,) or not np.isfinite(self.anchor).all():
            raise ValueError(f"anchor must be {objective.n_params} finite numbers; got shape {list(np.shape(anchor))}.")
        self.eta = None if eta is None else positive_float(eta, "eta")
        lam = objective.lam
        self.center = np.zeros_like(self.anchor) if eta is None else self.anchor / (1.0 + lam * eta)
        self.constant = 0.0 if eta is None else 0.5 * lam / (1.0 + lam * eta) * dot(self.anchor, self.anchor)
        at = scores_in_batches(objective.model, self.anchor)
        model = linear_model(objective.model, self.anchor, at, jacobian)
        offset = at + scores_in_batches(model, self.center - self.anchor)
        super().__init__(
            model=model,
            structure=objective.structure,
            cost=objective.cost,
            y=objective.y,
            lam=lam if eta is None else lam + 1.0 / eta,
            loss=objective.loss,
            native=objective.native,
            n_threads=objective.n_threads,
            offset=offset if objective.offset is None else offset + objective.offset,
        )

    def weights(self, v: FloatArray) -> FloatArray:
        """float64[d]: w = c + v."""
        return np.asarray(self.center + v, dtype=np.float64)

    def variables(self, w: FloatArray) -> FloatArray:
        """float64[d]: v = w - c."""
        return np.asarray(w - self.center, dtype=np.float64)

    def model_value(self, w: FloatArray) -> float:
        """F_eta(w; w_k), with n oracle calls."""
        return self.value(self.variables(w)) + self.constant
