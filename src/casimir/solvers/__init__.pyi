from .bcfw import BCFW
from .casimir import Casimir
from .checkpoint import Checkpoint
from .concave_convex import ConcaveConvex
from .cutting_planes import CuttingPlanes
from .dual_proximal import DualProximal
from .excessive_gap import ExcessiveGap
from .exponentiated_gradient import ExponentiatedGradient
from .gradient_descent import GradientDescent
from .lbfgs import LBFGS
from .prox_linear import ProxLinear
from .run import Result, minimize
from .saga import SAGA
from .schedules import Constant, Inverse, InverseRoot, Pegasos, StepDecay
from .sdca import SDCA
from .sgd import SGD
from .svrg import SVRG
from .trace import Trace, TraceRow

__all__ = [
    "BCFW",
    "LBFGS",
    "SAGA",
    "SDCA",
    "SGD",
    "SVRG",
    "Casimir",
    "Checkpoint",
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
