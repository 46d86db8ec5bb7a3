from .automaton import Automaton
from .automaton_chain import AutomatonChain
from .base import Best, Expectation, Structure, TopK
from .bmmf import CountedTopK, bmmf
from .boxes import BoxSearch
from .branch_and_bound import BranchAndBound
from .candidates import Candidates
from .chain import Chain
from .enumerated import Enumerated
from .graph_cut import GraphCut
from .junction import JunctionTree
from .layout import TensorLayout
from .matching import Matching
from .tree import Tree

__all__ = [
    "Automaton",
    "AutomatonChain",
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
