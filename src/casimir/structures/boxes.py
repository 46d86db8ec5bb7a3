"""The best boxes of a map of scores, by branch and bound in the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from casimir._boxes import check_inside, iou, whole_boxes
from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import all_finite, as_float, check_finite_parts, positive_int, sequence_of
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores, offsets_of, segment_sums
from casimir.structures.base import Expectation, check_mixture, check_scores
from casimir.structures.search import SearchOracles, SearchResult, check_on_budget


@dataclass(frozen=True, eq=False)
class BoxSearch(SearchOracles):
    """score(y) = sum of the map inside the box y + whole (1 - IoU(y, truth)).

    An output is a box (top, left, bottom, right), int64[4], both ends inclusive. scores.unary(i) is the map,
    float64[H_i, W_i]; scores.whole is the weight of the overlap with a given box, which makes a cost of it (see `IoU`).

    truth        int[n, 4], one box per example, or None: then scores must not have a whole
    bound        "columns": rows by branch and bound, columns by a scan; a map of R rows and C columns, R <= C, takes at
                 most R (R + 1) scans of C steps (whole = 0), whatever its scores are.
                 "corners": Efficient Subwindow Search as in the paper; one set costs less, but it may need millions
    node_budget  sets of boxes that may be split per example
    on_budget    "warn" or "raise" when that was not enough

    >>> boxes = BoxSearch()
    >>> boxes.max(boxes.scores([[[-1, 2, -1], [3, -1, -9]]])).outputs
    [array([0, 0, 1, 1])]
    """

    truth: IntArray | None = None
    bound: str = "columns"
    node_budget: int = 1_000_000
    on_budget: str = "warn"

    def __post_init__(self) -> None:
        if self.truth is not None:
            object.__setattr__(self, "truth", whole_boxes(self.truth, "truth"))
        if self.bound not in ("columns", "corners"):
            raise ValueError(f"bound={self.bound!r}; it must be 'columns' or 'corners'.")
        object.__setattr__(self, "node_budget", positive_int(self.node_budget, "node_budget"))
        check_on_budget(self.on_budget)

    def scores(self, maps: Any, whole: Any = None) -> Scores:
        """maps: list of [H_i, W_i]; whole: None or [n], the weights of 1 - IoU with the true boxes."""
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
        s = Scores(flat, offsets_of([part.size for part in parts]), shapes=shapes, whole=weights)
        self._check(s)
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
        """nodes[cell] = sum_k u_k [cell in y_k]; whole = sum_k u_k (1 - IoU(y_k, truth)), None without a truth."""
        self._check(s)
        check_mixture(s, outputs, weights)
        nodes = np.empty_like(s.nodes)
        whole = None if self.truth is None else np.empty(len(s))
        for i, (given, given_u) in enumerate(zip(outputs, weights, strict=True)):
            boxes, u = _boxes_in(given, s, i, f"outputs[{i}]"), np.asarray(given_u, dtype=np.float64)
            nodes[s.offsets[i] : s.offsets[i + 1]] = _weight_of_cells(boxes, u, s.unary(i).shape).ravel()
            if whole is not None and self.truth is not None:
                whole[i] = u @ (1.0 - iou(boxes, self.truth[i]))
        return Scores(nodes, s.offsets, shapes=s.shapes, whole=whole)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        self._check(s)
        boxes = self._one_each(s, outputs, "outputs")
        inside = [s.unary(i)[t : b + 1, l : r + 1].sum() for i, (t, l, b, r) in enumerate(boxes.tolist())]
        total = np.array(inside, dtype=np.float64)
        if s.whole is not None and self.truth is not None:
            total += s.whole * (1.0 - iou(boxes, self.truth))
        return total

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: log(H (H + 1) / 2 W (W + 1) / 2)."""
        self._check(s)
        sides = np.asarray(s.shapes, dtype=np.float64)
        return np.asarray(np.log(sides * (sides + 1.0) / 2.0).sum(axis=1))

    def box_costs(self, s: Scores, y: Any) -> Scores:
        """1 - IoU(y, y') as scores: no weight on the map, 1 on the whole; y must be the structure's own true boxes."""
        self._check(s)
        boxes = self._one_each(s, y, "y")
        if self.truth is None or not np.array_equal(boxes, self.truth):
            given = "has none" if self.truth is None else "has others"
            raise ValueError(
                f"The cost needs the overlap with the true boxes, and this BoxSearch {given}. "
                "Make the structure for training as BoxSearch(truth=y)."
            )
        return Scores(np.zeros_like(s.nodes), s.offsets, shapes=s.shapes, whole=np.ones(len(s)))

    def select(self, examples: Any) -> BoxSearch:
        if self.truth is None:
            return self
        return replace(self, truth=self.truth[np.arange(len(self.truth))[examples]])

    def _search(self, s: Scores, k: int, mu: float) -> list[SearchResult]:
        self._check(s)
        truth = None if s.whole is None else self.truth
        values, boxes, counts, expanded, complete, open_ = core.box_search(
            s.nodes, s.offsets, s.shapes, s.whole, truth, k, mu, self.node_budget, self.bound == "columns", n_threads()
        )
        ends = np.cumsum(counts)
        rows = zip((ends - counts).tolist(), ends.tolist(), complete, expanded.tolist(), open_.tolist(), strict=True)
        return [
            SearchResult(values[a:b], boxes[a:b], "complete" if done else "budget", nodes, bound)
            for a, b, done, nodes, bound in rows
        ]

    def _check(self, s: Scores) -> None:
        check_scores(s, (), "BoxSearch")
        if s.shapes is None:
            raise ValueError(
                "BoxSearch got scores without shapes; it reads maps [H, W]. Make them with BoxSearch.scores(maps), or "
                "with LinearPartsModel(nodes, shapes=...)."
            )
        if len(s) and s.shapes.min() < 1:
            raise ValueError(f"Map {int(np.argmin(s.shapes.min(axis=1)))} has no cells; a map needs at least one.")
        with np.errstate(over="ignore"):
            if not all_finite(segment_sums(np.abs(s.nodes), s.offsets)):
                raise ValueError("BoxSearch got maps whose sums are infinite; scale the scores down.")
        if s.whole is not None and not all_finite(s.whole):
            raise ValueError("BoxSearch got a whole that is NaN or infinite; it must be finite.")
        if self.truth is not None:
            if len(self.truth) != len(s):
                raise ValueError(
                    f"BoxSearch has the true boxes of {len(self.truth)} examples and got scores of {len(s)}. "
                    "For a sub-batch use BoxSearch.select(examples); for other maps BoxSearch()."
                )
            check_inside(self.truth, s.shapes, "truth")
        elif s.whole is not None:
            raise ValueError(
                "BoxSearch got scores with a whole, the weight of 1 - IoU, but has no true boxes to compare with. "
                "Make it as BoxSearch(truth=boxes)."
            )

    def _one_each(self, s: Scores, outputs: Any, name: str) -> IntArray:
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
