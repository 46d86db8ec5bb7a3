"""Random trees and forests, and all their labellings."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from casimir.structures.tree import Tree
from casimir.testing import Listing, list_graph


@st.composite
def parent_arrays(draw: st.DrawFn, most: int = 5) -> np.ndarray:
    """A tree or forest whose nodes are numbered in any order."""
    p = draw(st.integers(1, most))
    numbers = draw(st.permutations(range(p)))
    parents = np.full(p, -1)
    for i in range(1, p):
        above = draw(st.integers(-1 if draw(st.integers(0, 3)) == 0 else 0, i - 1))
        parents[numbers[i]] = -1 if above < 0 else numbers[above]
    return parents


def list_tree(tree: Tree, i: int) -> Listing:
    parents = tree.parents(i)
    return list_graph(tree.n_labels, len(parents), np.stack([np.arange(len(parents)), parents], axis=1))


def random_parents(p: int, rng: np.random.Generator, roots: float = 0.0) -> np.ndarray:
    numbers, parents = rng.permutation(p), np.full(p, -1)
    for i in range(1, p):
        if rng.random() >= roots:
            parents[numbers[i]] = numbers[rng.integers(i)]
    return parents
