"""Tiny problems whose outputs are all listed, one family per kind of model, structure and path through the library.

What an output scores is found from the scores of unit weights and from the parts that brute force gives it: no oracle,
mixture or adjoint of the library takes part.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from problems import Parts, candidate_parts, chain_parts, tiny_parts, tree_parts

import casimir as cs
from casimir.scores import FloatArray, IntArray, Scores
from casimir.testing import Listing, flatten, list_graph

Lists = list[tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Family:
    """An objective's parts, and all outputs of its examples; `options` are those of Objective."""

    parts: Parts
    listings: list[Listing]
    options: dict[str, Any] = field(default_factory=dict)

    def objective(self, loss: Any, penalty: Any, sample_weight: Any = None) -> cs.Objective:
        return self.parts.objective(penalty, loss, sample_weight=sample_weight, **self.options)

    def lists(self, cost: Any) -> Lists:
        """(A_i float64[K_i, d], ell_i float64[K_i]) of every example: output k scores ell_ik + <a_ik, w> above y_i."""
        model, y = self.parts.model, self.parts.y
        units = [model.scores(unit) for unit in np.eye(model.n_params)]
        result = []
        for i, listing in enumerate(self.listings):
            truth = int(np.flatnonzero((listing.outputs == y[i]).all(axis=1))[0])
            rows = np.stack([listing.parts @ flatten(s, i) for s in units], axis=1)
            fixed = np.array([0.0 if cost is None else cost(y[i], output, i) for output in listing.outputs])
            if "offset" in self.options:
                fixed = fixed + listing.parts @ flatten(self.options["offset"], i)
            result.append((rows - rows[truth], fixed - fixed[truth]))
        return result


def kept(listing: Listing, is_allowed: Callable[[IntArray], bool]) -> Listing:
    rows = [k for k, output in enumerate(listing.outputs) if is_allowed(output)]
    return Listing(listing.outputs[rows], listing.parts[rows])


def list_chains(parts: Parts) -> list[Listing]:
    ends = [np.stack([np.arange(len(y) - 1), np.arange(1, len(y))], axis=1) for y in parts.y]
    return [list_graph(parts.structure.n_labels, len(y), e) for y, e in zip(parts.y, ends, strict=True)]


def list_trees(parts: Parts) -> list[Listing]:
    parents = [parts.structure.parents(i) for i in range(len(parts.y))]
    return [list_graph(parts.structure.n_labels, len(p), np.stack([np.arange(len(p)), p], axis=1)) for p in parents]


def list_candidates(sizes: Any) -> list[Listing]:
    return [Listing(np.arange(m)[:, None], np.eye(m)) for m in sizes]


def _chain(**options: Any) -> Family:
    parts = chain_parts(seed=1, n=5, n_features=4, lengths=(1, 3), weighted_cost=True, valued=True)
    return Family(parts, list_chains(parts), options)


def _tiny() -> Family:
    parts = tiny_parts()
    return Family(parts, list_chains(parts))


def _tree(**options: Any) -> Family:
    parts = tree_parts(seed=2, n=5, n_features=3, lengths=(1, 3))
    return Family(parts, list_trees(parts), options)


_PAIRS = np.array([[True, True, False], [True, True, True], [False, True, True]])
_START, _STOP = np.array([True, True, False]), np.array([True, False, True])


def _constrained_chain(**options: Any) -> Family:
    """Pairs, first, last and single labels that are not allowed; the truth is the first output that is left."""
    free = chain_parts(seed=3, n=5, n_features=4, lengths=(2, 3))
    rng = np.random.default_rng(3)
    masks = [rng.random((len(y), 3)) < 0.8 for y in free.y]
    for mask in masks:
        mask[:, 1] = mask[0, 0] = mask[-1, 2] = True
    structure = cs.Chain(3, allowed=_PAIRS, allowed_start=_START, allowed_stop=_STOP, labels=masks)

    def is_allowed(i: int, y: IntArray) -> bool:
        ends = _START[y[0]] and _STOP[y[-1]] and masks[i][np.arange(len(y)), y].all()
        return bool(ends and all(_PAIRS[a, b] for a, b in itertools.pairwise(y)))

    listings = [kept(whole, lambda y, i=i: is_allowed(i, y)) for i, whole in enumerate(list_chains(free))]
    y = [listing.outputs[rng.integers(len(listing.outputs))] for listing in listings]
    return Family(Parts(free.model, structure, free.cost, y), listings, options)


def _constrained_tree(**options: Any) -> Family:
    free = tree_parts(seed=4, n=5, n_features=3, lengths=(1, 3))
    rng = np.random.default_rng(4)
    masks = [rng.random((len(y), 3)) < 0.8 for y in free.y]
    for mask in masks:
        mask[:, 1] = True
    parents = [free.structure.parents(i) for i in range(len(free.y))]
    structure = cs.Tree(parents, 3, allowed=_PAIRS, labels=masks)

    def is_allowed(i: int, y: IntArray) -> bool:
        edges = all(_PAIRS[y[v], y[p]] for v, p in enumerate(parents[i]) if p >= 0)
        return bool(edges and masks[i][np.arange(len(y)), y].all())

    listings = [kept(whole, lambda y, i=i: is_allowed(i, y)) for i, whole in enumerate(list_trees(free))]
    y = [listing.outputs[rng.integers(len(listing.outputs))] for listing in listings]
    return Family(Parts(free.model, structure, free.cost, y), listings, options)


def _candidates(**options: Any) -> Family:
    parts = candidate_parts(seed=5, n=6)
    return Family(parts, list_candidates(np.diff(parts.model.offsets)), options)


def _float32_candidates() -> Family:
    wide = candidate_parts(seed=6, n=6)
    model = cs.LinearCandidateModel(
        [rows.astype(np.float32) for rows in np.split(wide.model.features, wide.model.offsets[1:-1])]
    )
    return Family(Parts(model, wide.structure, wide.cost, wide.y), list_candidates(np.diff(model.offsets)))


def _restricted_candidates() -> Family:
    free = candidate_parts(seed=7, n=6)
    rng = np.random.default_rng(7)
    masks = [rng.random(m) < 0.6 for m in np.diff(free.model.offsets)]
    for mask, y in zip(masks, free.y, strict=True):
        mask[y] = True
    listings = [
        kept(whole, lambda y, m=m: bool(m[y[0]]))
        for whole, m in zip(list_candidates(map(len, masks)), masks, strict=True)
    ]
    return Family(Parts(free.model, free.structure.restricted(masks), free.cost, free.y), listings)


def _enumerated() -> Family:
    rng = np.random.default_rng(8)
    outputs = [np.array(list(itertools.product(range(2), repeat=p))) for p in (2, 3, 4, 2)]
    used = [np.concatenate([np.eye(len(y)), rng.integers(-1, 2, (len(y), 2))], axis=1) for y in outputs]
    listings = [Listing(y, u) for y, u in zip(outputs, used, strict=True)]
    model = cs.LinearPartsModel([rng.normal(size=(u.shape[1], 5)) for u in used])
    y = [rows[rng.integers(len(rows))] for rows in outputs]
    return Family(Parts(model, cs.Enumerated(outputs, used), cs.Hamming(), y), listings)


def _own_edges() -> Family:
    """Chains whose every edge has features of its own, and fixed scores besides."""
    rng = np.random.default_rng(9)
    sizes, labels = (1, 2, 3, 3, 2), 2
    nodes = [rng.normal(size=(p * labels, 6)) for p in sizes]
    edges = [rng.normal(size=((p - 1) * labels**2, 6)) for p in sizes]
    y = [rng.integers(0, labels, p) for p in sizes]
    parts = Parts(cs.LinearPartsModel(nodes, edges, labels), cs.Chain(labels), cs.Hamming(), y)
    layout = parts.model.scores(np.zeros(6))
    offset = Scores(
        rng.normal(size=layout.nodes.shape), layout.offsets, rng.normal(size=layout.edges.shape), layout.edge_offsets
    )
    return Family(parts, list_chains(parts), {"offset": offset})


def _offset_chain() -> Family:
    """Fixed scores of nodes and of one matrix for all pairs, which run on the core."""
    family = _chain()
    layout = family.parts.model.scores(family.parts.model.zeros())
    rng = np.random.default_rng(10)
    offset = Scores(rng.normal(size=layout.nodes.shape), layout.offsets, rng.normal(size=(3, 3)))
    return Family(family.parts, family.listings, {"offset": offset})


def _matching() -> Family:
    rng = np.random.default_rng(11)
    outputs = np.array(list(itertools.permutations(range(3))))
    used = np.eye(3)[outputs].reshape(len(outputs), -1)
    model = cs.LinearPartsModel([rng.normal(size=(9, 4)) for _ in range(4)], shapes=[(3, 3)] * 4)
    y = [outputs[rng.integers(6)] for _ in range(4)]
    return Family(Parts(model, cs.Matching(), cs.Hamming(), y), [Listing(outputs, used)] * 4)


_MAKERS: dict[str, Callable[[], Family]] = {
    "chain": _chain,
    "chain-composed": lambda: _chain(native=False),
    "chain-constrained": _constrained_chain,
    "chain-constrained-composed": lambda: _constrained_chain(native=False),
    "chain-offset": _offset_chain,
    "chain-own-edges": _own_edges,
    "chain-tiny": _tiny,
    "tree": _tree,
    "tree-composed": lambda: _tree(native=False),
    "tree-constrained": _constrained_tree,
    "candidates": _candidates,
    "candidates-composed": lambda: _candidates(native=False),
    "candidates-float32": _float32_candidates,
    "candidates-restricted": _restricted_candidates,
    "enumerated": _enumerated,
    "matching": _matching,
}
FAMILIES = tuple(_MAKERS)


@cache
def family(name: str) -> Family:
    return _MAKERS[name]()
