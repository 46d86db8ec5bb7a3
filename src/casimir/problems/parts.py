"""Part scores of feature rows, with the structures over which the core trains them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from casimir._arrays import frozen, read_only
from casimir._native import core
from casimir.models.base import layout_of
from casimir.models.linear_classes import sparse_parts
from casimir.models.part_rows import HasParts, LinearParts, PartRows
from casimir.problems.combination import Combination
from casimir.scores import IntArray, Scores
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.matching import Matching

_ROUNDS, _AT_ONCE = 20, 16  # rounds of a pass at the least, and oracles that are asked at one w at the most


class _Outputs(NamedTuple):
    """The core's PartStructure, the entries of every output and the labels that each may have; cells of all edges."""

    core: Any
    lengths: IntArray
    labels: Any
    edge_cells: int = 0


def oracles_at_once(model: Any, structure: Any, n: int) -> int:
    """Oracles that native dual passes ask together, on all threads: those of part features, which take long."""
    has_parts = isinstance(structure, GraphCut | JunctionTree | Matching) and hasattr(model, "parts")
    return at_once_of(n) if has_parts and model.parts() is not None else 1


def at_once_of(n: int) -> int:
    """So many that there are 20 rounds in a pass, and no more than 16."""
    return min(max(n // _ROUNDS, 1), _AT_ONCE)


def linear_parts(model: HasParts, given: Combination) -> Any | None:
    """The core's Problem; None where it does not know the structure, or parts and structure do not fit together."""
    parts, structure, truth = model.parts(), given.structure, given.truth
    if parts is None:
        return None
    layout = layout_of(model)
    outputs = _outputs(structure, layout, parts)
    if outputs is None:
        return None
    if truth.marginals is not None and len(truth.marginals) != layout.nodes.size + outputs.edge_cells:
        return None  # of a composed problem whose edges have no scores; else its layout is the core's
    fixed = given.fixed_scores(layout)
    if fixed is not None and (fixed.whole is not None or (fixed.edges is not None and fixed.edge_offsets is None)):
        return None
    if truth.outputs is not None:
        structure.score_of(layout, truth.outputs)  # raises where an output is none of the structure
    flat = given.flat_truth(outputs.lengths, outputs.labels)
    edges = None if parts.edges is None else _core_rows(parts.edges)
    nodes, pairs = (None, None) if fixed is None else (fixed.nodes.ravel(), _flat(fixed.edges))
    return core.linear_parts(
        outputs.core, _core_rows(parts.nodes), edges, model.n_params, flat, nodes, pairs, truth.marginals
    )


def _flat(edges: Any) -> Any:
    return None if edges is None else edges.ravel()


def _core_rows(rows: PartRows) -> Any:
    scale = None if rows.scale is None else read_only(np.ascontiguousarray(rows.scale, dtype=np.float64))
    where = rows.first, np.ascontiguousarray(rows.basis, dtype=np.float64), scale
    sparse = sparse_parts(rows.features)
    if sparse is None:
        return core.dense_part_rows(rows.features, *where)
    indptr, indices, values = sparse
    return core.sparse_part_rows(frozen(indptr), frozen(indices), values, int(rows.features.shape[1]), *where)


@singledispatch
def _outputs(structure: Any, layout: Scores, parts: LinearParts) -> _Outputs | None:
    """None for a structure that the core does not know, or that the parts do not fit."""
    return None


@_outputs.register
def _cuts(structure: GraphCut, layout: Scores, parts: LinearParts) -> _Outputs | None:
    if not _fits(structure, layout, parts):
        return None
    ends, edge_offsets = structure.all_edges
    return _Outputs(
        core.cut_parts(frozen(layout.offsets), ends, edge_offsets), np.diff(layout.offsets), 2, 4 * len(ends)
    )


@_outputs.register
def _junctions(structure: JunctionTree, layout: Scores, parts: LinearParts) -> _Outputs | None:
    if not _fits(structure, layout, parts):
        return None
    structure.treewidth(layout)  # raises where the tables are too large
    ends, edge_offsets = structure.all_edges
    labels = structure.n_labels
    made = core.junction_parts(frozen(layout.offsets), ends, edge_offsets, labels, structure.max_cells)
    return _Outputs(made, np.diff(layout.offsets), labels, labels**2 * len(ends))


@_outputs.register
def _matchings(structure: Matching, layout: Scores, parts: LinearParts) -> _Outputs | None:
    if layout.shapes is None or parts.edges is not None:
        return None
    rows, columns = layout.shapes.T
    return _Outputs(core.matching_parts(frozen(layout.shapes), structure.null), rows, columns)


def _fits(structure: Any, layout: Scores, parts: LinearParts) -> bool:
    """Whether nodes have the labels of the structure, and edges are its own; what does not fit is told by oracles."""
    if layout.nodes.shape[1:] != (structure.n_labels,) or len(structure) != len(layout):
        return False
    ends, edge_offsets = structure.all_edges
    sizes = np.repeat(np.diff(layout.offsets), np.diff(edge_offsets))
    fits = not len(ends) or bool((ends.max(axis=1) < sizes).all())
    return fits and (parts.edge_offsets is None or np.array_equal(parts.edge_offsets, edge_offsets))
