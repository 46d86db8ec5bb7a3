"""The methods that several experiments share: the paper's five (Sec. 7.2), and three of ours without parameters.

Every function makes a solver from the size of a case and parameters; a `Method` names it and says what is tuned.
"""

from __future__ import annotations

from casimir.experiments.base import Knob, Method, Size
from casimir.smoothing import L2, Hard
from casimir.solvers import BCFW, SAGA, SGD, SVRG, Casimir, ProxLinear, StepDecay


def paper_svrg(lipschitz: float, mu: float | None = None, k: int = 5) -> SVRG:
    """Averaged iterates, examples drawn independently, top-K smoothing, gamma = 1 / (L + lam + kappa).

    k = 0 is exact l2 smoothing.
    """
    return SVRG(L2(k=int(k)) if k else L2(), mu, lipschitz, iterate="average", sampling="replacement")


def sgd(size: Size, gamma0: float, t0: float) -> SGD:
    """gamma_t = gamma0 / (1 + floor(t / (t0 n))), averaged with weights t."""
    return SGD(StepDecay(gamma0, t0 * size.n))


def bcfw(size: Size) -> BCFW:
    """bcfw-wavg: the average with weights t is what counts, even where the last iterate is better."""
    return BCFW(averaging="weighted")


def svrg(size: Size, lipschitz: float, mu: float, k: int = 5) -> SVRG:
    return paper_svrg(lipschitz, mu, k)


def const(size: Size, lipschitz: float, mu: float, k: int = 5, warm_start: str = "prox-center") -> Casimir:
    return Casimir.paper("const", paper_svrg(lipschitz, mu, k), warm_start=warm_start)


def adapt(size: Size, lipschitz: float, mu: float, k: int = 5, warm_start: str = "prox-center") -> Casimir:
    return Casimir.paper("adapt", paper_svrg(lipschitz, None, k), mu=mu, warm_start=warm_start)


def svrg_hard(size: Size, lipschitz: float) -> SVRG:
    """The heuristic use without smoothing: subgradients in the place of gradients."""
    return SVRG(Hard(), None, lipschitz, iterate="average", sampling="replacement")


def const_hard(size: Size, lipschitz: float) -> Casimir:
    """const without smoothing; kappa is what its proposition takes for L."""
    return Casimir.paper("const", svrg_hard(size, lipschitz))


def adapt_hard(size: Size, lipschitz: float) -> Casimir:
    """adapt without smoothing: what is left of it is kappa = lam."""
    return Casimir.paper("const", svrg_hard(size, lipschitz), kappa=size.lam)


def prox_linear(
    size: Size,
    lipschitz: float,
    eta: float,
    mu: float = 0.1,
    k: int = 10,
    smoothing: str = "adaptive",
    inner_epochs: int = 5,
    warm_start: str = "prox-center",
) -> ProxLinear:
    """PL-Casimir-SVRG: every step is taken; mu_k = mu / j and L_k = j L_0 in step j where smoothing is adaptive."""
    inner = const(size, lipschitz, mu, int(k), warm_start)
    return ProxLinear(inner, eta, int(inner_epochs), accept="always", smoothing=smoothing)


def casimir_svrg(size: Size) -> Casimir:
    return Casimir(SVRG())


def casimir_saga(size: Size) -> Casimir:
    return Casimir(SAGA())


def auto(size: Size) -> str:
    return "auto"


def paper_five(gamma0: Knob, t0: Knob, lipschitz: Knob, mu: Knob, adapt_mu: float, k: int) -> tuple[Method, ...]:
    """What is tuned follows Sec. 7.3: the step sizes, L, and mu where it is constant; adapt's mu is given."""
    top = {"k": k}
    return (
        Method("sgd", sgd, "SGD", knobs={"gamma0": gamma0, "t0": t0}),
        Method("bcfw", bcfw, "BCFW"),
        Method("svrg", svrg, "SVRG", fixed=top, knobs={"lipschitz": lipschitz, "mu": mu}),
        Method("casimir-const", const, "Casimir-SVRG-const", fixed=top, knobs={"lipschitz": lipschitz, "mu": mu}),
        Method(
            "casimir-adapt", adapt, "Casimir-SVRG-adapt", fixed={**top, "mu": adapt_mu}, knobs={"lipschitz": lipschitz}
        ),
    )


UNTUNED = (
    Method("casimir-svrg", casimir_svrg, "Casimir(SVRG()), untuned"),
    Method("casimir-saga", casimir_saga, "Casimir(SAGA()), untuned"),
    Method("auto", auto, "auto: DualProximal()"),
)

# Of `prox_linear`. "We perform grid search in powers of 10 to find the best prox-linear learning rate" (Sec. 7.3). The
# paper tunes mu as well; here it is 0.1, and loc-smoothing shows what others do.
PROX_LINEAR_KNOBS = {"lipschitz": Knob(2.5), "eta": Knob(1e4, 10.0)}
