"""The names of solvers: what `choose` makes of them is loaded when something is trained."""

SOLVER_NAMES = (
    "auto",
    "bcfw",
    "casimir",
    "cuts",
    "dual",
    "eg",
    "excessive-gap",
    "lbfgs",
    "saga",
    "sdca",
    "sgd",
    "svrg",
)
