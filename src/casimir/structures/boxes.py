"""The best boxes of a map of scores, by branch and bound in the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._boxes import check_inside, iou, whole_boxes
from casimir._native import core
from casimir._threads import threads_of_oracles
from casimir._validate import all_finite, as_float, check_finite_parts, positive_int, sequence_of
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores, offsets_of, segment_sums
from casimir.structures.base import Expectation, check_layout, check_mixture, check_scores
from casimir.structures.layout import TensorLayout
from casimir.structures.search import SearchOracles, SearchResult, check_on_budget


@dataclass(frozen=True, eq=False)
class BoxSearch(SearchOracles):
    """score(y) = sum of the map inside the box y + whole (1 - IoU(y, reference)).

    An output is a box (top, left, bottom, right), int64[4], both ends inclusive. scores.unary(i) is the map,
    float64[H_i, W_i]; scores.whole is the weight of the overlap with the box scores.reference[i], which makes a cost of
    it (see `IoU`).

    bound        "columns": rows by branch and bound, columns by a scan; a map of R rows and C columns, R <= C, takes at
                 most R (R + 1) scans of C steps (whole = 0), whatever its scores are.
                 "corners": Efficient Subwindow Search as in the paper; one set costs less, but it may need millions
    node_budget  sets of boxes that may be split per example
    on_budget    "warn" or "raise" when that was not enough

    >>> boxes = BoxSearch()
    >>> boxes.max(boxes.scores([[[-1, 2, -1], [3, -1, -9]]])).outputs
    [array([0, 0, 1, 1])]
    """

    bound: str = "columns"
    node_budget: int = 1_000_000
    on_budget: str = "warn"
    layout: ClassVar[TensorLayout] = TensorLayout(("H", "W"), (4,))

    def __post_init__(self) -> None:
        if self.bound not in ("columns", "corners"):
            raise ValueError(f"bound={self.bound!r}; it must be 'columns' or 'corners'.")
        object.__setattr__(self, "node_budget", positive_int(self.node_budget, "node_budget"))
        check_on_budget(self.on_budget)

    def scores(self, maps: Any, whole: Any = None, reference: Any = None) -> Scores:
        """maps: list of [H_i, W_i]; whole: None or [n], the weights of 1 - IoU with the boxes reference, int[n, 4]."""
        parts = [as_float(m, f"maps[{i}]") for i, m in enumerate(sequence_of(maps, "maps"))]
        for i, part in enumerate(parts):
            if part.ndim != 2 or part.size == 0:
                hint = " For a single map pass [maps]." if part.ndim == 1 else ""
                raise ValueError(
                    f"maps[{i}] has shape {list(part.shape)}; it must be [H, W], one cell or more per side.{hint}"
                )
        flat = np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
        check_finite_parts(flat, parts, "maps")
        shapes = np.array([part.shape for part in parts], dtype=np.int64).reshape(-1, 2)
        weights = None if whole is None else as_float(whole, "whole")
        boxes = None if reference is None else whole_boxes(reference, "reference")
        s = Scores(flat, offsets_of([part.size for part in parts]), shapes=shapes, whole=weights, reference=boxes)
        _check_oracle(s)
        return s

    def expect(self, s: Scores, mu: float) -> Expectation:
        raise Intractable(
            "BoxSearch has no exp oracle: it would sum over all H^2 W^2 / 4 boxes of a map. "
            "Use L2() or Hard(), or Candidates for a list of boxes."
        )

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        raise Intractable(
            "BoxSearch has no max-marginals: every value of every side would need a search of its own. "
            "Use topk, or Candidates for a list of boxes."
        )

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """nodes[cell] = sum_k u_k [cell in y_k]; whole = sum_k u_k (1 - IoU(y_k, reference)), None without one."""
        _check_maps(s)
        check_mixture(s, outputs, weights)
        nodes = np.empty_like(s.nodes)
        whole = None if s.reference is None else np.empty(len(s))
        for i, (given, given_u) in enumerate(zip(outputs, weights, strict=True)):
            boxes, u = _boxes_in(given, s, i, f"outputs[{i}]"), np.asarray(given_u, dtype=np.float64)
            nodes[s.offsets[i] : s.offsets[i + 1]] = _weight_of_cells(boxes, u, s.unary(i).shape).ravel()
            if whole is not None and s.reference is not None:
                whole[i] = u @ (1.0 - iou(boxes, s.reference[i]))
        return Scores.unchecked(nodes, s.offsets, shapes=s.shapes, whole=whole, reference=s.reference)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        _check_oracle(s)
        boxes = _one_each(s, outputs, "outputs")
        inside = [s.unary(i)[t : b + 1, l : r + 1].sum() for i, (t, l, b, r) in enumerate(boxes.tolist())]
        total = np.array(inside, dtype=np.float64)
        if s.whole is not None and s.reference is not None:
            total += s.whole * (1.0 - iou(boxes, s.reference))
        return total

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: log(H (H + 1) / 2 W (W + 1) / 2)."""
        _check_maps(s)
        sides = np.asarray(s.shapes, dtype=np.float64)
        return np.asarray(np.log(sides * (sides + 1.0) / 2.0).sum(axis=1))

    def label_shapes(self, s: Scores) -> IntArray:
        """A TypeError: a box has no labels."""
        raise TypeError("A box has no labels, so their number cannot be a cost. Use IoU().")

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """1 - IoU(b_i, y) as scores: nothing on the map, 1 on the whole; costs: list of boxes b_i, int[4]."""
        _check_maps(s)
        boxes = _one_each(s, costs, "costs")
        return Scores.unchecked(
            np.zeros_like(s.nodes), s.offsets, shapes=s.shapes, whole=np.ones(len(s)), reference=boxes
        )

    def select(self, examples: Any) -> BoxSearch:
        return self

    def _search(self, s: Scores, k: int, mu: float) -> list[SearchResult]:
        _check_oracle(s)
        reference = None if s.whole is None else s.reference
        values, boxes, counts, expanded, complete, open_ = core.box_search(
            s.nodes,
            s.offsets,
            s.shapes,
            s.whole,
            reference,
            k,
            mu,
            self.node_budget,
            self.bound == "columns",
            threads_of_oracles(),
        )
        ends = np.cumsum(counts)
        rows = zip((ends - counts).tolist(), ends.tolist(), complete, expanded.tolist(), open_.tolist(), strict=True)
        return [
            SearchResult(values[a:b], boxes[a:b], "complete" if done else "budget", nodes, bound)
            for a, b, done, nodes, bound in rows
        ]


def _check_maps(s: Scores) -> None:
    """Whether these are scores of maps, and of boxes inside them."""
    check_layout(s, (), "BoxSearch")
    if s.shapes is None:
        raise ValueError(
            "BoxSearch got scores without shapes; it reads maps [H, W]. Make them with BoxSearch.scores(maps), or "
            "with LinearPartsModel(nodes, shapes=...)."
        )
    if len(s) and s.shapes.min() < 1:
        raise ValueError(f"Map {int(np.argmin(s.shapes.min(axis=1)))} has no cells; a map needs at least one.")
    if s.reference is not None:
        check_inside(s.reference, s.shapes, "reference")
    elif s.whole is not None:
        raise ValueError(
            "BoxSearch got scores with a whole, the weight of 1 - IoU, but no boxes to compare with. Give them too: "
            "BoxSearch.scores(maps, whole, reference)."
        )


def _check_oracle(s: Scores) -> None:
    """The same for oracles, which read finite scores alone."""
    _check_maps(s)
    check_scores(s, (), "BoxSearch")
    with np.errstate(over="ignore"):
        if not all_finite(segment_sums(np.abs(s.nodes), s.offsets)):
            raise ValueError("BoxSearch got maps whose sums are infinite; scale the scores down.")
    if s.whole is not None and not all_finite(s.whole):
        raise ValueError("BoxSearch got a whole that is NaN or infinite; it must be finite.")


def _one_each(s: Scores, outputs: Any, name: str) -> IntArray:
    """int64[n, 4] from one box per example."""
    given = sequence_of(outputs, name)
    if len(given) != len(s):
        raise ValueError(f"{name} has {len(given)} entries for {len(s)} examples; give one box per example.")
    boxes = [_boxes_in(np.asarray(y)[None], s, i, f"{name}[{i}]")[0] for i, y in enumerate(given)]
    return np.array(boxes, dtype=np.int64).reshape(-1, 4)


def _boxes_in(boxes: Any, s: Scores, i: int, name: str) -> IntArray:
    """int64[k, 4], checked to lie in map i."""
    checked, (height, width) = whole_boxes(boxes, name), s.unary(i).shape
    check_inside(checked, np.broadcast_to(np.array([height, width]), (len(checked), 2)), name)
    return checked


def _weight_of_cells(boxes: IntArray, u: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """float64[H, W]: sum_k u_k [cell in box k]; four corners per box, then running sums."""
    height, width = shape
    top, left, bottom, right = boxes.T
    if len(boxes) == 1:  # exact for any weight, and the usual case
        cells = np.zeros(shape)
        cells[top[0] : bottom[0] + 1, left[0] : right[0] + 1] = u[0]
        return cells
    corners = np.zeros((height + 1, width + 1))
    below, beside = bottom + 1, right + 1
    for rows, columns, sign in ((top, left, 1), (top, beside, -1), (below, left, -1), (below, beside, 1)):
        np.add.at(corners, (rows, columns), sign * u)
    return np.asarray(corners[:height, :width].cumsum(axis=0).cumsum(axis=1), dtype=np.float64)
