"""Solvers: frozen dataclasses of hyperparameters, run by `minimize`."""

from casimir.solvers.bcfw import BCFW
from casimir.solvers.casimir import Casimir
from casimir.solvers.concave_convex import ConcaveConvex
from casimir.solvers.cutting_planes import CuttingPlanes
from casimir.solvers.dual_proximal import DualProximal
from casimir.solvers.excessive_gap import ExcessiveGap
from casimir.solvers.exponentiated_gradient import ExponentiatedGradient
from casimir.solvers.gradient_descent import GradientDescent
from casimir.solvers.lbfgs import LBFGS
from casimir.solvers.prox_linear import ProxLinear
from casimir.solvers.run import Result, minimize
from casimir.solvers.saga import SAGA
from casimir.solvers.schedules import Constant, Inverse, InverseRoot, Pegasos, StepDecay
from casimir.solvers.sdca import SDCA
from casimir.solvers.sgd import SGD
from casimir.solvers.svrg import SVRG
from casimir.solvers.trace import Trace, TraceRow

__all__ = [
    "BCFW",
    "LBFGS",
    "SAGA",
    "SDCA",
    "SGD",
    "SVRG",
    "Casimir",
    "ConcaveConvex",
    "Constant",
    "CuttingPlanes",
    "DualProximal",
    "ExcessiveGap",
    "ExponentiatedGradient",
    "GradientDescent",
    "Inverse",
    "InverseRoot",
    "Pegasos",
    "ProxLinear",
    "Result",
    "StepDecay",
    "Trace",
    "TraceRow",
    "minimize",
]
