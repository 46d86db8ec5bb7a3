"""Training by online updates: the averaged perceptron, passive-aggressive and AROW, as CRFsuite runs them."""

from __future__ import annotations

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir._outputs import Outputs
from casimir.compat.certified import Trained
from casimir.compat.log import TrainingLog
from casimir.compat.masks import KeptPairs
from casimir.compat.parameters import Plan
from casimir.features import PackedSequences
from casimir.scores import FloatArray


def train(X: PackedSequences, y: Outputs, kept: KeptPairs, plan: Plan, log: TrainingLog) -> Trained:
    """A visit to every sentence per iteration, in random order; weights move where the best labels are wrong.

    Iterations end once the mean loss is below epsilon. The weights of an average are those of all visits, w - sum / u,
    with u the number of visits and `sum` that of all steps times the number of theirs.
    """
    features = X.offsets, X.indptr, X.indices, X.values, X.n_features
    problem = core.linear_chain(*features, len(kept.transitions), y.flat.astype(np.int32), None, None)
    w, total, variance = _start(problem.n_params, plan)
    rule, mask, rng = _rule(plan), kept.mask().view(np.uint8), np.random.default_rng(0)
    visits = 1
    result = w
    for iteration in range(1, plan["max_iterations"] + 1):
        loss = core.online_epoch(problem, rng.permutation(len(X)), rule, mask, float(visits), w, total, variance)
        is_at_rest = loss == 0.0 and plan["epsilon"] == 0.0  # nothing will ever move again, but the average
        visits += len(X) * (plan["max_iterations"] - iteration + 1 if is_at_rest else 1)
        result = w if total is None else w - total / visits
        log.add(iteration, loss, result)
        if is_at_rest or loss / len(X) < plan["epsilon"]:
            break
    return Trained(result)


def _start(n_params: int, plan: Plan) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """(w, sum of steps or None, variances or None)"""
    is_averaged = plan.algorithm == "ap" or (plan.algorithm == "pa" and plan["averaging"])
    variance = np.full(n_params, float(plan["variance"])) if plan.algorithm == "arow" else None
    return aligned_zeros(n_params), aligned_zeros(n_params) if is_averaged else None, variance


def _rule(plan: Plan) -> core.OnlineRule:
    if plan.algorithm == "ap":
        return core.OnlineRule("perceptron")
    if plan.algorithm == "arow":
        return core.OnlineRule("arow", gamma=float(plan["gamma"]))
    sensitive = bool(plan["error_sensitive"])
    return core.OnlineRule("passive-aggressive", int(plan["pa_type"]), float(plan["c"]), sensitive)
