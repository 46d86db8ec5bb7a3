"""Beyond the paper: exact l2 smoothing against top-K, inside Casimir-SVRG-const."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob, Method
from casimir.experiments.methods import const
from casimir.experiments.sources.letters import TASKAR
from casimir.experiments.sources.localization import LINEAR
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned

EXACT = 0  # in the place of K
METHODS = tuple(
    Method(
        f"const-{mu}-{k or 'exact'}",
        const,
        f"μ = {mu}, K = {k}" if k else f"μ = {mu}, exact",
        fixed={"mu": mu, "k": k},
        knobs={"lipschitz": Knob(128.0)},
    )
    for mu in (1, 4)
    for k in (1, 2, 5, 10, EXACT)
)

EXPERIMENT = Experiment(
    "exact-l2",
    "Beyond the paper: exact l2 smoothing against top-K",
    (Case(CONLL, 0.1), Case(TASKAR, 1.0), Case(LINEAR["sheep"], 10.0)),
    with_tuned("exact-l2", METHODS),
    passes=10,
    seeds=2,
    evaluate_every_tuning=5,
)
