"""The convex model of a non-convex objective around a point, which prox-linear steps minimise."""

from __future__ import annotations

import numpy as np

from casimir._validate import positive_float
from casimir.models.base import scores_in_batches
from casimir.models.jacobian import linear_model
from casimir.models.linear_candidates import FeatureArray, LinearCandidateModel
from casimir.objective import Objective
from casimir.penalties import Proximal
from casimir.scores import FloatArray


class Linearized(Objective):
    """F_eta(w; w_k) = sum_i p_i h_i(g_i(w_k) + J_i (w - w_k)) + R(w) + (1/(2 eta)) |w - w_k|^2.

    g_i are the part scores, J_i their Jacobian at w_k, and h_i the loss as a function of them. It is an objective like
    any other, with linear scores J_i w, the offset g_i(w_k) - J_i w_k, and a penalty with one more square: every solver
    minimises it and certifies it. Without eta there is no last term.

    objective  F
    anchor     float64[d]: w_k
    eta        step length, or None
    jacobian   "stored", "products" or "auto": see casimir.models.jacobian.linear_model
    out        `rows` of another model of F, which must not be used any more: they are overwritten
    rows       float32 or float64[N, d]: the Jacobian where it is stored, else None
    """

    def __init__(
        self,
        objective: Objective,
        anchor: FloatArray,
        eta: float | None = None,
        jacobian: str = "auto",
        out: FeatureArray | None = None,
    ) -> None:
        self.anchor = np.ascontiguousarray(anchor, dtype=np.float64)
        if self.anchor.shape != (objective.n_params,) or not np.isfinite(self.anchor).all():
            raise ValueError(f"anchor must be {objective.n_params} finite numbers; got shape {list(np.shape(anchor))}.")
        self.eta = None if eta is None else positive_float(eta, "eta")
        at = scores_in_batches(objective.model, self.anchor)
        model = linear_model(objective.model, self.anchor, at, jacobian, out)
        offset = at - scores_in_batches(model, self.anchor)
        self.rows: FeatureArray | None = None
        if isinstance(model, LinearCandidateModel) and model is not objective.model:
            self.rows = model.memory
        super().__init__(
            model,
            objective.structure,
            objective.loss,
            objective.y,
            objective.penalty if eta is None else Proximal(objective.penalty, 1.0 / eta, self.anchor),
            objective.sample_weight,
            native=objective.native,
            n_threads=objective.n_threads,
            offset=offset if objective.offset is None else offset + objective.offset,
        )
