"""Beyond the paper: entropy against l2 smoothing, inside Casimir-SVRG-const and -adapt."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob, Method, Size
from casimir.experiments.methods import adapt, const
from casimir.experiments.sources.letters import TASKAR
from casimir.experiments.sources.localization import LINEAR
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned
from casimir.smoothing import Entropy
from casimir.solvers import SVRG, Casimir


def entropy_svrg(lipschitz: float, mu: float | None = None) -> SVRG:
    """The paper's SVRG with the exp oracle."""
    return SVRG(Entropy(), mu, lipschitz, iterate="average", sampling="replacement")


def const_entropy(size: Size, lipschitz: float, mu: float) -> Casimir:
    return Casimir.paper("const", entropy_svrg(lipschitz, mu))


def adapt_entropy(size: Size, lipschitz: float, mu: float) -> Casimir:
    return Casimir.paper("adapt", entropy_svrg(lipschitz), mu=mu)


L, TOP, MU = Knob(128.0), {"k": 5}, {"mu": 2.0}
METHODS = (
    Method("const-l2", const, "const, l2", fixed=TOP, knobs={"lipschitz": L, "mu": Knob(1.0)}),
    Method("const-entropy", const_entropy, "const, entropy", knobs={"lipschitz": L, "mu": Knob(0.25)}),
    Method("adapt-l2", adapt, "adapt, l2", fixed={**TOP, **MU}, knobs={"lipschitz": L}),
    Method("adapt-entropy", adapt_entropy, "adapt, entropy", fixed=MU, knobs={"lipschitz": L}),
)

EXPERIMENT = Experiment(
    "entropy",
    "Beyond the paper: entropy against l2 smoothing",
    (Case(CONLL, 0.1), Case(TASKAR, 1.0), Case(LINEAR["sheep"], 10.0)),
    with_tuned("entropy", METHODS),
    passes=10,
    seeds=2,
    evaluate_every_tuning=5,
)
