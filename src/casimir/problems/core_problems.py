"""Which models and structures the core trains, and its Problem of each combination."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from casimir._arrays import frozen
from casimir._native import core
from casimir._threads import n_threads
from casimir.models.linear import LinearChainModel, native_edges
from casimir.models.linear_candidates import LinearCandidateModel
from casimir.models.linear_classes import LinearClassModel, sparse_parts
from casimir.models.linear_labels import LinearLabelModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.models.shared import SharedWeights
from casimir.problems.base import Truth
from casimir.problems.combination import Combination
from casimir.problems.label_graphs import core_label_graph
from casimir.problems.parts import linear_parts
from casimir.scores import FloatArray, IntArray, Scores, segment_sums
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.base import split_flat
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.tree import Tree


@singledispatch
def core_problem(model: Any, given: Combination) -> Any | None:
    """The core's Problem, or None when only the composed path can run it.

    Models that are not named below may have `parts`.
    """
    return linear_parts(model, given) if hasattr(model, "parts") else None


@core_problem.register
def chain_problem(
    model: LinearChainModel, given: Combination, flat: Any | None = None, memory: Any | None = None
) -> Any | None:
    """The core's Problem of chains.

    flat    int32[N]: the true labels, where they are at hand; else they are made from the truth
    memory  where dual variables are to lie
    """
    X, structure = model.X, given.structure
    if not (isinstance(structure, Chain) and structure.n_labels == model.n_labels):
        return None
    automaton = structure.unfolded.native if isinstance(structure, AutomatonChain) else None
    if not given.truth_is_native or (X.edges is not None and automaton is not None):
        return None
    fixed = _fixed_of_tokens(model, given)
    if fixed is None:
        return None
    if flat is None:
        flat = given.flat_truth(np.diff(X.offsets), model.n_labels)
    features = X.offsets, X.indptr, X.indices, X.values, X.n_features
    rest = model.n_labels, flat, *fixed, given.truth.marginals, automaton, *native_edges(X)
    return core.linear_chain(*features, *rest, memory=memory)


@core_problem.register
def _linear_tree(model: LinearTreeModel, given: Combination) -> Any | None:
    return _trees(model, given)


@core_problem.register
def _shared_weights(model: SharedWeights, given: Combination) -> Any | None:
    return _trees(model.model, given, model) if isinstance(model.model, LinearTreeModel) else None


@core_problem.register
def _linear_candidates(model: LinearCandidateModel, given: Combination) -> Any | None:
    if not isinstance(given.structure, Candidates):  # marginals of candidates have one layout
        return None
    sizes = np.diff(model.offsets)
    flat, marginals = given.flat_truth(np.ones_like(sizes), sizes), given.truth.marginals
    costs = _costs_above_truth(given, model.layout(), flat, marginals)
    return core.linear_candidates(model.offsets, model.features, flat, costs, marginals)


@core_problem.register
def _linear_classes(model: LinearClassModel, given: Combination) -> Any | None:
    n, labels = model.n_examples, model.n_classes
    if not (isinstance(given.structure, Candidates) and given.truth_is_native):
        return None
    flat, padded = given.flat_truth(np.ones(n, dtype=np.int64), labels), given.truth.marginals
    weights = None if padded is None else padded.reshape(n, model.stride)[:, :labels].ravel()
    costs = _costs_above_truth(given, model.layout(), flat, weights)
    rest = model.bias, labels, flat, None if costs is None else costs.reshape(n, labels), padded
    sparse = sparse_parts(model.X)
    if sparse is None:
        return core.dense_classes(model.X, *rest)
    return core.sparse_classes(*sparse, model.n_features, *rest)


@core_problem.register
def _linear_labels(model: LinearLabelModel, given: Combination) -> Any | None:
    graph = core_label_graph(model, given.structure)
    if graph is None or not given.truth_is_native:
        return None
    fixed = given.fixed_scores(model.layout())
    if fixed is not None and fixed.edges is not None:
        return None
    flat = given.flat_truth(np.full(model.n_examples, model.n_labels), 2)
    rest = model.bias, flat, None if fixed is None else fixed.nodes, given.truth.marginals
    sparse = sparse_parts(model.X)
    if sparse is None:
        return core.dense_labels(graph, model.X, *rest)
    return core.sparse_labels(graph, *sparse, int(model.X.shape[1]), *rest)


def _costs_above_truth(
    given: Combination, layout: Scores, flat: Any | None, weights: FloatArray | None
) -> FloatArray | None:
    """float64[N] of all candidates, less that of the truth, which the core takes as 0; None where there are none.

    The truth is the candidate `flat` of every example, or has these weights, or there is none.
    """
    fixed = given.fixed_scores(layout)
    if fixed is None:
        return None
    if flat is not None:
        of_truth = fixed.nodes[layout.offsets[:-1] + flat]
    elif weights is not None:
        of_truth = segment_sums(fixed.nodes * weights, layout.offsets)
    else:
        of_truth = np.zeros(len(layout))
    costs: FloatArray = fixed.nodes - np.repeat(of_truth, np.diff(layout.offsets))
    return costs


def _trees(model: LinearTreeModel, given: Combination, shared: SharedWeights | None = None) -> Any | None:
    if not (isinstance(given.structure, Tree) and given.truth_is_native):
        return None
    fixed = _fixed_of_tokens(model, given)
    if fixed is None:
        return None
    flat = given.flat_truth(np.diff(model.X.offsets), model.n_labels)
    return _tree_problem(model, given.structure, flat, *fixed, given.truth.marginals, shared)


def _fixed_of_tokens(
    model: LinearChainModel | LinearTreeModel, given: Combination
) -> tuple[FloatArray | None, FloatArray | None] | None:
    """(node scores [N, L], pair scores [L, L]) that do not depend on w; None where every pair has its own.

    -inf stands for what the structure does not allow.
    """
    layout, structure = model.layout(), given.structure
    fixed = given.fixed_scores(layout)
    forbidden = structure.forbidden(layout) if structure.is_constrained else None
    if fixed is not None and fixed.edge_offsets is not None:
        return None
    if fixed is not None and forbidden is not None:
        fixed = fixed + forbidden
    found = forbidden if fixed is None else fixed
    return (None, None) if found is None else (found.nodes, found.edges)


def _tree_problem(
    model: LinearTreeModel,
    structure: Tree,
    y: Any = None,
    fixed_nodes: FloatArray | None = None,
    fixed_pairs: FloatArray | None = None,
    truth: FloatArray | None = None,
    shared: SharedWeights | None = None,
) -> Any:
    """The core's Problem of trees, with the true labels y, int32[N], or their marginals, or without a truth.

    shared  what says which weights the cells of the model share, if they do
    """
    X = model.X
    if structure.n_labels != model.n_labels or not np.array_equal(structure.offsets, X.offsets):
        raise ValueError(
            f"The model has {len(X)} trees of {X.n_tokens} nodes and {model.n_labels} labels; the structure has "
            f"{len(structure)} of {structure.offsets[-1]} and {structure.n_labels}. They must agree, tree by tree."
        )
    features = X.offsets, X.indptr, X.indices, X.values, X.n_features
    weights = () if shared is None else (shared.cells, shared.n_weights)
    order = [frozen(positions) for positions in structure.order]  # those of an unpickled structure can be written to
    return core.linear_tree(*features, model.n_labels, *order, y, fixed_nodes, fixed_pairs, truth, *weights)


def decode_trees(model: LinearTreeModel, structure: Tree, w: FloatArray) -> list[IntArray]:
    """The outputs of structure.max(model.scores(w)), without a copy of the edge scores per edge."""
    fixed = _fixed_of_tokens(model, Combination(structure, None, [], Truth()))
    assert fixed is not None
    _, labels = _tree_problem(model, structure, None, *fixed).decode(w, n_threads())
    return split_flat(labels, structure.offsets)
