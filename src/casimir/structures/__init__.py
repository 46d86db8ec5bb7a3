"""Structures: oracles over part scores."""

from casimir.structures.base import Best, Expectation, Structure, TopK
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.enumerated import Enumerated

__all__ = ["Best", "Candidates", "Chain", "Enumerated", "Expectation", "Structure", "TopK"]
