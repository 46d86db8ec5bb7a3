"""A test-suite that every structure inherits, and brute force to judge it by.

Needs pytest and hypothesis, which are not run-time dependencies.
"""

from casimir.testing.brute_force import (
    Listing,
    Ranked,
    flatten,
    l2_max,
    list_chain,
    list_graph,
    project_by_bisection,
    random_like,
    rank,
)
from casimir.testing.contract import REALS, TIES, Instance, StructureContract

__all__ = [
    "REALS",
    "TIES",
    "Instance",
    "Listing",
    "Ranked",
    "StructureContract",
    "flatten",
    "l2_max",
    "list_chain",
    "list_graph",
    "project_by_bisection",
    "random_like",
    "rank",
]
