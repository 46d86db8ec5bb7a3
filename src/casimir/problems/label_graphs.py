"""The graph of labels that the core trains on: one for all examples."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from casimir._native import core
from casimir.models.linear_labels import LinearLabelModel
from casimir.scores import IntArray
from casimir.structures.core_oracles import LabelledGraph
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.tree import Tree


def core_label_graph(model: LinearLabelModel, structure: Any) -> Any | None:
    """The core's LabelGraph; None where examples have different graphs, or pairs without a weight."""
    return _graph_of(structure, model)


@singledispatch
def _graph_of(structure: Any, model: LinearLabelModel) -> Any | None:
    return None


@_graph_of.register
def _tree(structure: Tree, model: LinearLabelModel) -> Any | None:
    ends = _common(structure, model)
    if ends is None or structure.is_constrained or structure.n_labels != 2 or len(ends) != model.n_labels:
        return None
    parents = np.ascontiguousarray(ends[:, 1])
    if not np.array_equal(np.sort(model.edge_rows), np.flatnonzero(parents >= 0)):
        return None
    return core.label_tree(parents, np.ascontiguousarray(model.edge_rows))


@_graph_of.register
def _junction(structure: JunctionTree, model: LinearLabelModel) -> Any | None:
    ends = _common(structure, model)
    if ends is None or structure.n_labels != 2 or not np.array_equal(model.edge_rows, np.arange(len(ends))):
        return None
    structure.treewidth(model.layout())  # raises where the tables are too large
    return core.label_junction(model.n_labels, ends, structure.max_cells)


@_graph_of.register
def _cut(structure: GraphCut, model: LinearLabelModel) -> Any | None:
    ends = _common(structure, model)
    if ends is None or not np.array_equal(model.edge_rows, np.arange(len(ends))):
        return None
    return core.label_cut(model.n_labels, ends)


def _common(structure: LabelledGraph, model: LinearLabelModel) -> IntArray | None:
    """int64[m, 2]: the edges of all examples; None where they differ, or there are not as many examples."""
    return structure.common_edges() if len(structure) == model.n_examples else None
