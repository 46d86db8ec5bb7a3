"""Best-first branch and bound over the sets of outputs that a user's problem describes (algo:top_k:bb of the paper)."""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from casimir._validate import positive_float, positive_int
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Best, Pulled, TopK, pad_topk

_GUESS = 10_000  # nodes that may be split to find any output at all
_ROUNDING = 1e-9  # a leaf may exceed the bound of a set around it by this much, relative to their size


class SearchSpace(Protocol):
    """The search space of one example. A node stands for a set of outputs and may be any object.

    Optionally also `first(node)`: a tuple (or array) that does not come after any output of the node in lexicographic
    order, such as the sides or labels that are fixed already. Without it, all sets whose bound equals the score of an
    output are opened before that output is given out, as one of them may hold an equal that comes first; with many
    ties, e.g. scores that are all 0, that is an exhaustive search. With it, only those that can hold an earlier output
    are opened.
    """

    def root(self) -> Any:
        """The set of all outputs."""
        ...

    def split(self, node: Any) -> Iterable[Any]:
        """Disjoint sets that together are the node; empty ones are left out."""
        ...

    def bound(self, node: Any) -> float:
        """An upper bound of the scores in the node, finite; the score itself when the node is a single output."""
        ...

    def leaf(self, node: Any) -> IntArray | Sequence[int] | None:
        """The output [p] when the node is a single one, else None."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class SearchResult:
    """How the search on one example ended.

    values    float64[k], sorted
    outputs   int64[k, p]
    status    "complete": these are the best outputs; "budget": the node budget ran out before that was known. Then
              outputs found until then are the best ones, but if there was none, the one listed is only a guess
    expanded  nodes that were split
    bound     an upper bound of the score of every output that is not listed; -inf when all are
    """

    values: FloatArray
    outputs: IntArray
    status: str
    expanded: int
    bound: float

    @property
    def gap(self) -> float:
        """By how much an output may be better than the first one listed; 0 when the search was complete."""
        return max(0.0, self.bound - float(self.values[0]))


class BestFirst(Iterator[tuple[float, IntArray]]):
    """The outputs of a problem one by one, sorted by (-score, lexicographic order); ends early when the budget is hit.

    expanded   nodes split so far
    exhausted  whether the budget ended the search
    bound      an upper bound of the scores of all outputs that are still to come
    """

    def __init__(self, problem: SearchSpace, node_budget: int) -> None:
        self.problem, self.node_budget = problem, node_budget
        self.expanded, self.exhausted = 0, False
        self._first: Callable[[Any], Any] | None = getattr(problem, "first", None)
        self._heap: list[_Entry] = []
        self._pushed = 0
        self._push(problem.root(), math.inf)

    @property
    def bound(self) -> float:
        return -self._heap[0].key[0] if self._heap else -math.inf

    def __next__(self) -> tuple[float, IntArray]:
        while self._heap:
            entry = self._heap[0]
            if entry.output is None and self.expanded >= self.node_budget:
                self.exhausted = True
                raise StopIteration
            heapq.heappop(self._heap)
            if entry.output is not None:
                return -entry.key[0], entry.output
            self.expanded += 1
            for child in self.problem.split(entry.node):
                self._push(child, -entry.key[0])
        raise StopIteration

    def guess(self) -> tuple[float, IntArray]:
        """An output when the budget ended the search before it found one: depth first, the larger bound first."""
        stack, left = sorted(self._heap, reverse=True), max(self.node_budget, _GUESS)
        while stack and left:
            entry = stack.pop()
            if entry.output is not None:
                return -entry.key[0], entry.output
            left -= 1
            children = [self._entry(child, -entry.key[0]) for child in self.problem.split(entry.node)]
            stack.extend(sorted(children, reverse=True))
        raise Intractable(
            f"{type(self.problem).__name__} showed no output within node_budget={self.node_budget}, nor depth first. "
            "Raise node_budget, and leave sets without outputs out of split."
        )

    def _push(self, node: Any, parent: float) -> None:
        heapq.heappush(self._heap, self._entry(node, parent))

    def _entry(self, node: Any, parent: float) -> _Entry:
        """A node with its place in the queue: larger bounds first, then what may come first in lexicographic order."""
        bound, leaf = float(self.problem.bound(node)), self.problem.leaf(node)
        if not math.isfinite(bound):
            raise ValueError(f"bound({node!r}) is {bound}; it must be finite. Leave sets without outputs out of split.")
        self._pushed += 1
        if leaf is None:
            first = () if self._first is None else _as_tuple(self._first(node))
            return _Entry((-min(bound, parent), self._first is not None, first, self._pushed), node, None)
        if bound > parent + _ROUNDING * max(1.0, abs(bound), abs(parent)):
            raise ValueError(
                f"The output {_as_tuple(leaf)} scores {bound}, above the bound {parent} of a set that holds it; "
                "bound(node) must be an upper bound of all scores in the node."
            )
        output = np.asarray(leaf, dtype=np.int64)
        return _Entry((-min(bound, parent), True, _as_tuple(output), self._pushed), node, output)


@dataclass(frozen=True, eq=False, slots=True)
class _Entry:
    key: tuple[float, bool, tuple[int, ...], int]
    node: Any
    output: IntArray | None

    def __lt__(self, other: _Entry) -> bool:
        return self.key < other.key


def best_first(problem: SearchSpace, k: int, mu: float, node_budget: int) -> SearchResult:
    """At most k outputs, fewer once the top-K strategy is exact for mu (prop:smoothing:proj-simplex-2); inf: never."""
    search = BestFirst(problem, node_budget)
    values: list[float] = []
    outputs: list[IntArray] = []
    for value, output in search:
        outputs.append(output)
        settled = sum(values) - len(values) * value >= mu
        values.append(value)
        if settled or len(values) == k:
            break
    bound = search.bound
    if not values:
        value, output = search.guess()
        values, outputs = [value], [output]
    status = "budget" if search.exhausted else "complete"
    return SearchResult(np.array(values), np.stack(outputs), status, search.expanded, bound)


class SearchOracles:
    """max, topk and topk_until of a structure that searches; it has `node_budget`, `on_budget` and `_search`."""

    node_budget: int
    on_budget: str

    def _search(self, s: Scores, k: int, mu: float) -> list[SearchResult]:
        """At most k outputs per example, fewer once the top-K strategy is exact for mu."""
        raise NotImplementedError

    def search(self, s: Scores, k: int = 1) -> list[SearchResult]:
        """The k best outputs of every example, and how the search went; says nothing when the budget runs out."""
        return self._search(s, positive_int(k, "k"), math.inf)

    def max(self, s: Scores) -> Best:
        found = self._reported(s, 1, math.inf)
        value = np.array([r.values[0] for r in found], dtype=np.float64)
        upper = _missed(found)
        return Best(value, [r.outputs[0] for r in found], None if upper is None else np.maximum(value, upper))

    def topk(self, s: Scores, k: int) -> TopK:
        k = positive_int(k, "k")
        found = self._reported(s, k, math.inf)
        counts = np.array([len(r.values) for r in found], dtype=np.int64)
        values = np.concatenate([np.zeros(0), *(r.values for r in found)])
        return TopK(pad_topk(values, counts, k), [r.outputs for r in found], _missed(found))

    def topk_until(self, s: Scores, k: int, mu: float) -> Pulled:
        """At most k outputs, fewer once proj_simplex(z / mu) has no use for more (prop:smoothing:proj-simplex-2)."""
        found = self._reported(s, positive_int(k, "k"), positive_float(mu, "mu"))
        return Pulled([r.values for r in found], [r.outputs for r in found], _missed(found))

    def restricted(self, allowed: Any) -> NoReturn:
        """Out of reach: raises `Intractable`."""
        raise Intractable(
            f"{type(self).__name__} cannot leave out single outputs: the bounds of its search are those of all. Give "
            "them low scores, or use Candidates or Enumerated for a list of outputs, which have `restricted`."
        )

    def _reported(self, s: Scores, k: int, mu: float) -> list[SearchResult]:
        found = self._search(s, k, mu)
        report_budget(found, self.node_budget, self.on_budget, type(self).__name__)
        return found


def _missed(results: Sequence[SearchResult]) -> FloatArray | None:
    """float64[n]: a bound of all that is not listed where the budget ran out, -inf elsewhere; None: it never did."""
    if all(r.status == "complete" for r in results):
        return None
    return np.array([-math.inf if r.status == "complete" else r.bound for r in results], dtype=np.float64)


def check_on_budget(on_budget: str) -> None:
    if on_budget not in ("warn", "raise"):
        raise ValueError(f"on_budget={on_budget!r}; it must be 'warn' or 'raise'.")


def report_budget(results: Sequence[SearchResult], node_budget: int, on_budget: str, name: str) -> None:
    """A search that was cut short is never taken for a complete one without a word."""
    short = [i for i, r in enumerate(results) if r.status == "budget"]
    if not short:
        return
    gap = max(results[i].gap for i in short)
    message = (
        f"{name} used up node_budget={node_budget} on {len(short)} of {len(results)} examples "
        f"(the first is {short[0]}); outputs may be missing there, the best by up to {gap:g}. "
        "Raise node_budget, or use a tighter bound."
    )
    if on_budget == "raise":
        raise Intractable(message)
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def _as_tuple(numbers: Any) -> tuple[int, ...]:
    return tuple(np.asarray(numbers).tolist())
