"""Solvers: frozen dataclasses of hyperparameters, run by `minimize`."""

from casimir.solvers.bcfw import BCFW
from casimir.solvers.casimir import Casimir
from casimir.solvers.run import Result, minimize
from casimir.solvers.trace import Trace, TraceRow

__all__ = ["BCFW", "Casimir", "Result", "Trace", "TraceRow", "minimize"]
