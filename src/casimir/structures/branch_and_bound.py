"""Any output set that branch and bound can search, from a problem class of some twenty lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from casimir._validate import all_finite, positive_int, sequence_of
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores, concatenate
from casimir.structures.base import Expectation, check_mixture
from casimir.structures.layout import TensorLayout
from casimir.structures.search import SearchOracles, SearchResult, best_first, check_on_budget


@dataclass(frozen=True, eq=False)
class BranchAndBound(SearchOracles):
    """score(y) = <parts(y), part scores>, y in a set that is searched best first.

    problem      makes the search problem of one example from its scores: problem(s), s a batch of one example, returns
                 an object with root, split, bound and leaf (see `casimir.structures.search.SearchSpace`), and
                 parts(output): the parts that an output uses, an array shaped like s.unary(0), or Scores like s
    data         what else the problem needs, one entry per example; then it is made by problem(s, data[i])
    node_budget  nodes that may be split per example
    on_budget    "warn" or "raise" when that was not enough
    layout       how scores and outputs lie in tensors, for `casimir.torch` alone
    """

    problem: Callable[..., Any]
    data: Sequence[Any] | None = None
    node_budget: int = 1_000_000
    on_budget: str = "warn"
    layout: TensorLayout | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_budget", positive_int(self.node_budget, "node_budget"))
        check_on_budget(self.on_budget)
        if self.data is not None:
            sequence_of(self.data, "data")

    def expect(self, s: Scores, mu: float) -> Expectation:
        raise Intractable(
            "BranchAndBound has no exp oracle: a search visits few outputs, a sum over outputs needs all. "
            "Use L2() or Hard(), or Enumerated when the outputs can be listed."
        )

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        raise Intractable(
            "BranchAndBound has no max-marginals: each would need a search of its own. "
            "Use topk, or Enumerated when the outputs can be listed."
        )

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        check_mixture(s, outputs, weights)
        problems = self._problems(s)
        mixed = [
            _mix(problem, s.select([i]), y, u)
            for i, (problem, y, u) in enumerate(zip(problems, outputs, weights, strict=True))
        ]
        return concatenate(mixed) if mixed else s * 0.0

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        if len(outputs) != len(s):
            raise ValueError(f"outputs has {len(outputs)} entries for {len(s)} examples; give one output per example.")
        _check_finite(s)
        return s.dot(self.mixture(s, [np.asarray(y)[None] for y in outputs], [np.ones(1)] * len(s)))

    def select(self, examples: Any) -> BranchAndBound:
        if self.data is None:
            return self
        return replace(self, data=[self.data[i] for i in np.arange(len(self.data))[examples]])

    def _search(self, s: Scores, k: int, mu: float) -> list[SearchResult]:
        _check_finite(s)
        return [best_first(problem, k, mu, self.node_budget) for problem in self._problems(s)]

    def _problems(self, s: Scores) -> list[Any]:
        one = [s.select([i]) for i in range(len(s))]
        if self.data is None:
            return [self.problem(example) for example in one]
        if len(self.data) != len(s):
            raise ValueError(
                f"BranchAndBound has data for {len(self.data)} examples and got scores of {len(s)}. "
                "For a sub-batch use BranchAndBound.select(examples)."
            )
        return [self.problem(example, datum) for example, datum in zip(one, self.data, strict=True)]


def _check_finite(s: Scores) -> None:
    if not isinstance(s, Scores):
        raise TypeError(f"BranchAndBound got a {type(s).__name__}; it reads Scores.")
    if not all(all_finite(part) for part in (s.nodes, s.edges, s.whole) if part is not None):
        raise ValueError("BranchAndBound got scores that are NaN or infinite; they must be finite.")


def _mix(problem: Any, s: Scores, outputs: IntArray, weights: FloatArray) -> Scores:
    """sum_k weights[k] parts(outputs[k]) in the layout of s, one example."""
    total = _zeros_like(s)
    for y, u in zip(outputs, weights, strict=True):
        parts = problem.parts(y)
        if not isinstance(parts, Scores):
            array = np.asarray(parts, dtype=np.float64)
            if array.shape != s.unary(0).shape:
                raise ValueError(
                    f"parts({np.asarray(y).tolist()}) has shape {list(array.shape)}; the scores of the example are "
                    f"{list(s.unary(0).shape)}."
                )
            parts = Scores.unchecked(np.ascontiguousarray(array).reshape(s.nodes.shape), s.offsets, shapes=s.shapes)
        total = total + parts * float(u)
    return total


def _zeros_like(s: Scores) -> Scores:
    edges = None if s.edges is None else np.zeros_like(s.edges)
    whole = None if s.whole is None else np.zeros_like(s.whole)
    return Scores.unchecked(np.zeros_like(s.nodes), s.offsets, edges, s.edge_offsets, s.shapes, whole, s.reference)
