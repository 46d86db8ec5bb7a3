"""Random instances of every structure, by size, for the oracle benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import casimir as cs

Instance = tuple[Any, cs.Scores]
LABELS = 9


@dataclass(frozen=True)
class Family:
    """Instances of one structure.

    unit      what a size counts
    make      (size, number of examples, random generator) -> structure and scores
    batch     examples per call, so that the call itself costs little
    sizes     oracle -> the sizes it is timed at
    k_size    the size at which top-K is compared with max
    """

    name: str
    unit: str
    make: Callable[[int, int, np.random.Generator], Instance]
    batch: int
    sizes: dict[str, tuple[int, ...]]
    k_size: int


def chain(p: int, n: int, rng: np.random.Generator) -> Instance:
    structure = cs.Chain(LABELS)
    return structure, structure.scores(list(rng.normal(size=(n, p, LABELS))), rng.normal(size=(LABELS, LABELS)))


def tree(p: int, n: int, rng: np.random.Generator) -> Instance:
    """Random recursive trees: every node hangs below an earlier one."""
    parents = [np.concatenate([[-1], rng.integers(0, np.arange(1, p))]) for _ in range(n)]
    structure = cs.Tree(parents, LABELS)
    unary, pairwise = rng.normal(size=(n, p, LABELS)), rng.normal(size=(n, p, LABELS, LABELS))
    return structure, structure.scores(list(unary), list(pairwise))


def strip(length: int, n: int, rng: np.random.Generator) -> Instance:
    """Grids of 3 x length nodes with 4 labels: treewidth 3."""
    edges, labels = grid_edges(length, 3), 4
    structure = cs.JunctionTree([edges] * n, labels)
    unary, pairwise = rng.normal(size=(n, 3 * length, labels)), rng.normal(size=(n, len(edges), labels, labels))
    return structure, structure.scores(list(unary), list(pairwise))


def grid(side: int, n: int, rng: np.random.Generator) -> Instance:
    """Grids of side x side nodes; unary scores from a smooth picture with noise, random prices for different labels."""
    edges = grid_edges(side, side)
    parts = [grid_parts(side, edges, rng) for _ in range(n)]
    structure = cs.GraphCut([edges] * n)
    different = 1.0 - np.eye(2)
    return structure, structure.scores([u for u, _ in parts], [-price[:, None, None] * different for _, price in parts])


def grid_parts(side: int, edges: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Unary scores [p, 2] and the price of different labels on each edge."""
    y, x = np.mgrid[:side, :side] / side
    picture = np.sin(9.0 * x) * np.cos(7.0 * y) + rng.normal(size=(side, side))
    unary = np.stack([np.zeros(side * side), picture.ravel()], axis=1)
    return unary, rng.exponential(1.0, len(edges))


def grid_edges(height: int, width: int) -> np.ndarray:
    """int64[m, 2]: pairs of neighbours in a grid whose nodes are numbered row by row."""
    number = np.arange(height * width).reshape(height, width)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([right, down])


def matching(p: int, n: int, rng: np.random.Generator) -> Instance:
    structure = cs.Matching()
    return structure, structure.scores(list(rng.normal(size=(n, p, p))))


def boxes(side: int, n: int, rng: np.random.Generator) -> Instance:
    """Score maps with one object on a negative background, and noise."""
    y, x = np.mgrid[:side, :side] / side
    bump = np.exp(-(((x - 0.4) / 0.2) ** 2) - ((y - 0.6) / 0.15) ** 2)
    structure = cs.BoxSearch()
    return structure, structure.scores(list(2.0 * bump - 0.5 + 0.3 * rng.normal(size=(n, side, side))))


LENGTHS = (50, 100, 200, 400, 800)
CHAINLIKE = dict.fromkeys(("max", "topk", "expect", "max_marginals"), LENGTHS)
STRIPS = dict.fromkeys(CHAINLIKE, LENGTHS[:4])
FAMILIES = {
    "chain": Family("Chain, 9 labels", "tokens", chain, 20, CHAINLIKE, 200),
    "tree": Family("Tree, 9 labels", "nodes", tree, 20, CHAINLIKE, 200),
    "junction": Family("JunctionTree, 3 x length, 4 labels", "length", strip, 5, STRIPS, 100),
    "graphcut": Family(
        "GraphCut, side x side",
        "side",
        grid,
        3,
        {"max": (10, 20, 40, 80, 160), "topk": (5, 10, 20), "max_marginals": (10, 20, 30, 40)},
        10,
    ),
    "matching": Family(
        "Matching",
        "words",
        matching,
        3,
        {"max": (25, 50, 100, 200, 400), "topk": (10, 20, 40, 80), "max_marginals": (25, 50, 100, 200)},
        50,
    ),
    "boxes": Family("BoxSearch, side x side", "side", boxes, 3, {"max": (16, 32, 64, 128), "topk": (16, 32, 64)}, 32),
}
