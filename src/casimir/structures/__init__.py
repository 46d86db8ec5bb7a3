"""Structures: oracles over part scores."""

from casimir.structures.base import Best, Expectation, Structure, TopK
from casimir.structures.bmmf import CountedTopK, bmmf
from casimir.structures.boxes import BoxSearch
from casimir.structures.branch_and_bound import BranchAndBound
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.enumerated import Enumerated
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.layout import TensorLayout
from casimir.structures.matching import Matching
from casimir.structures.tree import Tree

__all__ = [
    "Best",
    "BoxSearch",
    "BranchAndBound",
    "Candidates",
    "Chain",
    "CountedTopK",
    "Enumerated",
    "Expectation",
    "GraphCut",
    "JunctionTree",
    "Matching",
    "Structure",
    "TensorLayout",
    "TopK",
    "Tree",
    "bmmf",
]
