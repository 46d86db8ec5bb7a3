"""How a pass over a finite sum runs: natively for linear chains, trees and candidate lists, composed for the rest."""

from casimir.kernels.base import DualBlocks, Kernel, Pass
from casimir.kernels.composed import ComposedKernel
from casimir.kernels.native import NativeKernel, decode_trees, native_problem, native_smoothing

__all__ = [
    "ComposedKernel",
    "DualBlocks",
    "Kernel",
    "NativeKernel",
    "Pass",
    "decode_trees",
    "native_problem",
    "native_smoothing",
]
