"""Problems, losses, penalties and costs on which the fused core is compared with the composed path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from problems import (
    Parts,
    PerToken,
    automaton_parts,
    candidate_parts,
    chain_parts,
    class_parts,
    edge_parts,
    label_parts,
    shared_parts,
    tree_parts,
)

import casimir as cs
from casimir.models.linear_labels import LinearLabelModel
from casimir.penalties import Penalty, Proximal
from casimir.scores import FloatArray, Scores

CLOSE = {"rtol": 0.0, "atol": 1e-10}
SMOOTHINGS = {"hard": cs.Hard(), "l2-3": cs.L2(3), "l2": cs.L2(), "entropy": cs.Entropy()}
# Costs are random so that no two outputs tie: of equal scores, rounding would decide.
PROBLEMS: dict[str, Callable[[], Parts]] = {
    "binary-1": lambda: chain_parts(n_labels=1),
    "binary-2": lambda: chain_parts(n_labels=2, lengths=(1, 6), weighted_cost=True),
    "binary-5": lambda: chain_parts(n_labels=5, lengths=(1, 3), weighted_cost=True),
    "binary-8": lambda: chain_parts(n_labels=8, lengths=(1, 2), weighted_cost=True),
    "binary-9": lambda: chain_parts(n_labels=9, lengths=(1, 2), weighted_cost=True),
    "binary-13": lambda: chain_parts(n_labels=13, lengths=(1, 2), weighted_cost=True),
    "real-3": lambda: chain_parts(n_labels=3, valued=True, weighted_cost=True),
    "real-8": lambda: chain_parts(n_labels=8, valued=True, lengths=(1, 2), weighted_cost=True),
    "one-token": lambda: chain_parts(n_labels=4, lengths=(1, 1), weighted_cost=True),
    "edges-2": lambda: edge_parts(n_labels=2, lengths=(1, 6), weighted_cost=True),
    "edges-5": lambda: edge_parts(n_labels=5, lengths=(1, 4), weighted_cost=True, valued=True),
    "edges-9": lambda: edge_parts(n_labels=9, lengths=(1, 3), weighted_cost=True),
    "automaton-3": lambda: automaton_parts(n_labels=3, weighted_cost=True),
    "automaton-6": lambda: automaton_parts(n_labels=6, lengths=(1, 3), weighted_cost=True, valued=True),
    "candidates": candidate_parts,
    "classes-1": lambda: class_parts(n_classes=1),
    "classes-2": lambda: class_parts(n_classes=2, kind="sparse", bias=0.5),
    "classes-5": lambda: class_parts(n_classes=5, kind="float32", bias=2.0),
    "classes-9": lambda: class_parts(n_classes=9, dim=11),
    "classes-14": lambda: class_parts(n_classes=14, dim=6, bias=1.0),
    "classes-37": lambda: class_parts(n_classes=37, dim=9, kind="sparse", n=20),
    "classes-38": lambda: class_parts(n_classes=38, dim=9, bias=-1.0, n=20),
    "labels-1": lambda: label_parts(n_labels=1, bias=1.0),
    "labels-tree": lambda: label_parts(n_labels=6, bias=0.5),
    "labels-none": lambda: label_parts(n_labels=3, graph="none", kind="float32"),
    "labels-sparse": lambda: label_parts(n_labels=9, kind="sparse", bias=-1.0),
    "labels-cycle": lambda: label_parts(n_labels=4, graph="cycle", bias=1.0),
    "labels-full": lambda: label_parts(n_labels=5, graph="full", kind="sparse"),
    "tree-1": lambda: tree_parts(n_labels=1),
    "tree-2": lambda: tree_parts(n_labels=2, lengths=(1, 6), weighted_cost=True),
    "tree-5": lambda: tree_parts(n_labels=5, lengths=(1, 3), weighted_cost=True),
    "tree-9": lambda: tree_parts(n_labels=9, lengths=(1, 2), weighted_cost=True),
    "tree-real": lambda: tree_parts(n_labels=3, valued=True, weighted_cost=True),
    "shared-3": lambda: shared_parts(n_labels=3, weighted_cost=True),
    "shared-real": lambda: shared_parts(n_labels=4, lengths=(1, 3), valued=True, weighted_cost=True),
}


class PerPair(PerToken):
    """Another one: on top of that every pair of labels has a price, whatever the truth."""

    def __init__(self, prices: list[FloatArray], pairs: FloatArray) -> None:
        super().__init__(prices)
        self.pairs = pairs

    def parts(self, structure: Any, s: Scores, y: Any) -> Scores:
        return Scores(super().parts(structure, s, y).nodes, s.offsets, self.pairs)


class PerCandidate:
    """A cost of the user's own for candidate lists."""

    def __init__(self, prices: list[FloatArray]) -> None:
        self.prices = prices

    def parts(self, structure: Any, s: Scores, y: Any) -> Scores:
        off = [np.arange(len(p)) != int(true[0]) for p, true in zip(self.prices, y, strict=True)]
        return Scores(np.concatenate([p * o for p, o in zip(self.prices, off, strict=True)]), s.offsets)


def own_cost(parts: Parts, pairs: bool = False, seed: int = 0) -> Parts:
    """The same problem with a cost that the library does not know. Prices of pairs of tokens only."""
    rng = np.random.default_rng(seed)
    if isinstance(parts.structure, cs.Candidates):
        sizes = np.diff(parts.model.layout().offsets)
        return replace(parts, cost=PerCandidate([rng.uniform(0.2, 2.0, m) for m in sizes]))
    labels = parts.structure.n_labels
    prices = [rng.uniform(0.2, 2.0, (len(y), labels)) for y in parts.y]
    pairs = pairs and not isinstance(parts.model, LinearLabelModel)
    cost = PerPair(prices, rng.normal(size=(labels, labels))) if pairs else PerToken(prices)
    return replace(parts, cost=cost)


def constrained(parts: Parts, seed: int = 0) -> Parts:
    """The same chains or trees, with labels and pairs that are not allowed; the truth always is. Of tokens only."""
    if isinstance(parts.model, LinearLabelModel):
        return parts
    rng, structure = np.random.default_rng(seed), parts.structure
    labels = structure.n_labels
    masks = [(rng.random((len(y), labels)) < 0.6) | (np.arange(labels) == y[:, None]) for y in parts.y]
    pairs = rng.random((labels, labels)) < 0.7
    if isinstance(structure, cs.Chain):
        start, stop = rng.random((2, labels)) < 0.5
        for y in parts.y:
            pairs[y[:-1], y[1:]] = start[y[0]] = stop[y[-1]] = True
        if isinstance(structure, cs.AutomatonChain):
            given = pairs, start, stop, masks
            return replace(parts, structure=cs.AutomatonChain(labels, *given, automaton=structure.automaton))
        return replace(parts, structure=cs.Chain(labels, pairs, start, stop, masks))
    parents = [structure.parents(i) for i in range(len(parts.y))]
    for y, above in zip(parts.y, parents, strict=True):
        pairs[y[above >= 0], y[above[above >= 0]]] = True
    return replace(parts, structure=cs.Tree(parents, labels, allowed=pairs, labels=masks))


def penalty_of(name: str, n_params: int, seed: int = 0) -> Penalty:
    """One of PENALTIES for as many weights."""
    rng = np.random.default_rng(seed)
    s, mask = rng.choice([0.3, 1.0, np.inf], size=n_params), rng.random(n_params) < 0.4
    different = np.where(rng.random(n_params) < 0.2, np.inf, np.exp(rng.normal(size=n_params)))
    own: dict[str, Penalty] = {
        "ridge": cs.Ridge(0.1),
        "none": cs.Ridge(0.0),
        "strengths": cs.Ridge(0.1, strengths=s),
        "nonnegative": cs.Ridge(0.1, nonnegative=mask),
        "elastic": cs.ElasticNet(0.2, 0.5),
        "l1": cs.ElasticNet(0.1, 1.0),
        "mixture": cs.ElasticNet(0.1, 0.7, strengths=s, nonnegative=mask),
        "different": cs.ElasticNet(0.1, 0.2, strengths=different, nonnegative=mask),
    }
    base = name.removeprefix("proximal-")
    return own[base] if base == name else Proximal(own[base], 0.3, rng.normal(size=n_params))


_OWN = ["ridge", "none", "strengths", "nonnegative", "elastic", "l1", "mixture", "different"]
PENALTIES = [*_OWN, *(f"proximal-{name}" for name in _OWN)]
STRONG = [name for name in PENALTIES if name not in ("none", "l1")]  # strongly convex
KINDS: dict[str, Callable[[], Parts]] = {
    "chain": lambda: chain_parts(n_labels=3, lengths=(1, 5), weighted_cost=True, valued=True),
    "edges": lambda: edge_parts(seed=2, n_labels=3, lengths=(1, 5), weighted_cost=True, valued=True),
    "automaton": lambda: automaton_parts(n_labels=3, lengths=(1, 5), weighted_cost=True),
    "tree": lambda: tree_parts(n_labels=3, lengths=(1, 5), weighted_cost=True),
    "candidates": candidate_parts,
    "classes": lambda: class_parts(n_classes=5, dim=6, bias=0.7),
    "sparse-classes": lambda: class_parts(n_classes=3, dim=7, bias=0.7, kind="sparse"),
    "shared": lambda: shared_parts(n_labels=3, lengths=(1, 5), weighted_cost=True),
    "labels": lambda: label_parts(n_labels=5, bias=0.7),
    "full-labels": lambda: label_parts(n_labels=4, bias=0.7, graph="full", kind="sparse"),
}


def some_weights(n: int, seed: int = 0) -> FloatArray:
    """float64[n]: sample weights, about a quarter of them 0."""
    weights = np.random.default_rng(seed).integers(0, 4, n).astype(np.float64)
    weights[0] = 2.0
    return weights


def start(parts: Parts, seed: int = 1, scale: float = 0.7, penalty: Any = None) -> FloatArray:
    """Random weights that the penalty allows; padding, which no score reads, stays 0."""
    w = np.array(parts.model.zeros())
    random = np.random.default_rng(seed).normal(size=parts.model.n_params) * scale
    if hasattr(parts.model, "unpack"):
        for view, values in zip(parts.model.unpack(w), parts.model.unpack(random), strict=True):
            view[...] = values
    else:
        w[:] = random
    return w if penalty is None else np.array(penalty.separable.allowed(w))


def loss_of(parts: Parts, smoothing: Any, mu: float = 0.8) -> Any:
    return cs.Hinge(parts.cost) if isinstance(smoothing, cs.Hard) else cs.FenchelYoung(smoothing, mu, parts.cost)


def both(parts: Parts, penalty: Any = 0.1, loss: Any = "hinge", **options: Any) -> tuple[cs.Objective, cs.Objective]:
    """The objective on the core, on two threads, and the composed one."""
    fused = parts.objective(penalty, loss, n_threads=2, **options)
    assert fused.is_native
    return fused, parts.objective(penalty, loss, native=False, **options)


def assert_all_close(fused: Any, slow: Any) -> None:
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, **CLOSE)
