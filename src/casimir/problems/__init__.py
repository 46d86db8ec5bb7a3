"""A finite sum as solvers see it: fused in the core for linear chains, trees and candidate lists, else composed."""

from casimir.problems.base import Answer, DualBlocks, DualIterate, Pass, PotentialBlocks, Problem, Truth
from casimir.problems.combination import Combination
from casimir.problems.composed import ComposedProblem
from casimir.problems.core_arguments import core_penalty, core_smoothing
from casimir.problems.core_problems import core_problem, decode_trees
from casimir.problems.fused import FusedProblem
from casimir.problems.term import Term

__all__ = [
    "Answer",
    "Combination",
    "ComposedProblem",
    "DualBlocks",
    "DualIterate",
    "FusedProblem",
    "Pass",
    "PotentialBlocks",
    "Problem",
    "Term",
    "Truth",
    "core_penalty",
    "core_problem",
    "core_smoothing",
    "decode_trees",
]
