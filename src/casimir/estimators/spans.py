"""The spans that labels write, and their exact probabilities in a chain.

A label is O, or a prefix B, I, E or S and a type, such as B-LOC: IOB1, IOB2 and IOBES. Where spans begin and go on is
what the official CoNLL scorer says, and depends on two neighbouring labels a, b alone:

    begins(a, b)    b is not O, and its prefix is B or S, or a is O or ends a span (E, S), or a has another type
    goes_on(a, b)   b is not O and does not begin a span

So "(s, e, type) is one of the spans of y" is a list of conditions on neighbours,

    begins(y_{s-1}, y_s),   goes_on(y_{t-1}, y_t) for s < t < e,   not goes_on(y_{e-1}, y_e)

and since the labels of a chain are a Markov chain, p(y_t | y_{t-1}) = p(y_{t-1}, y_t) / p(y_{t-1}), its probability is
a product of small matrices, over all label sequences that write the span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from casimir.estimators.labels import Label
from casimir.metrics.schemes import Tag, begins_span, is_tag, parse_tag, read_spans, write_spans
from casimir.scores import FloatArray

_TINY = np.finfo(np.float64).tiny


class Span(NamedTuple):
    """A span of `type` over the tokens start .. end - 1, and its probability."""

    start: int
    end: int
    type: str
    probability: float


class _Rules(NamedTuple):
    """Of one type, whose labels have the numbers `own`; 1 where the rule holds, else 0.

    begins   float64[L + 1, k]: own labels after any; the last row is the first token's, before which there is none
    goes_on  float64[k, k]
    ends     float64[k, L]
    """

    own: npt.NDArray[np.int64]
    begins: FloatArray
    goes_on: FloatArray
    ends: FloatArray


@dataclass(frozen=True, eq=False)
class SpanLabels:
    """Labels that write spans.

    prefixes, types  of every label; O has the type ""

    >>> SpanLabels.of(("B-LOC", "I-LOC", "O")).read([0, 1, 2, 1])
    [(0, 2, 'LOC'), (3, 4, 'LOC')]
    """

    prefixes: tuple[str, ...]
    types: tuple[str, ...]

    @classmethod
    def of(cls, classes: Sequence[Label]) -> SpanLabels:
        for label in classes:
            if not is_tag(label):
                raise ValueError(
                    f"the model has the label {label!r}, which writes no span: such labels are O, or B, I, E or S and "
                    "a type, as B-LOC (IOB1, IOB2, IOBES). For other labels use predict_marginals."
                )
        parts = [parse_tag(str(label)) for label in classes]
        return cls(tuple(prefix for prefix, _ in parts), tuple(kind for _, kind in parts))

    @staticmethod
    def write_spans(classes: Sequence[Label]) -> bool:
        """Whether labels look like spans: all of them are tags, and one at least has a prefix and a type."""
        return write_spans([classes])

    def begins(self, a: int | None, b: int) -> bool:
        """Whether label b begins a span after label a; None: b is the first."""
        return begins_span(None if a is None else self._tag(a), self._tag(b))

    def read(self, labels: Sequence[int]) -> list[tuple[int, int, str]]:
        """(start, end, type) of the spans that the numbers of labels write, valid or not, from left to right."""
        return [(start, end, kind) for start, end, kind in read_spans([self._tag(label) for label in labels])]

    def _tag(self, label: int) -> Tag:
        return self.prefixes[label], self.types[label]

    def probability(self, nodes: FloatArray, edges: FloatArray, span: tuple[int, int, str]) -> float:
        """P(span is one of those of y), exactly.

        nodes  float64[p, L]: p(y_t = a)
        edges  float64[p - 1, L, L]: p(y_t = a, y_{t+1} = b)
        """
        start, end, kind = span
        own, begins, goes_on, ends = self._rules[kind]
        if start == 0:
            reached = nodes[0, own] * begins[-1]
        else:
            reached = (edges[start - 1].take(own, axis=1) * begins[:-1]).sum(axis=0)
        for t in range(start, end - 1):
            reached = _given(reached, nodes[t, own]) @ (edges[t].take(own, axis=0).take(own, axis=1) * goes_on)
        if end < len(nodes):
            reached = _given(reached, nodes[end - 1, own]) * (edges[end - 1].take(own, axis=0) * ends).sum(axis=1)
        return min(1.0, float(reached.sum()))

    @cached_property
    def _rules(self) -> dict[str, _Rules]:
        n = len(self.types)
        begins = np.array([[self.begins(a, b) for b in range(n)] for a in [*range(n), None]])
        is_tag = np.array([prefix != "O" for prefix in self.prefixes])
        goes_on = is_tag & ~begins[:-1]
        found = {}
        for kind in {kind for kind, tag in zip(self.types, is_tag, strict=True) if tag}:
            own = np.flatnonzero(is_tag & (np.array(self.types) == kind))
            tables = begins[:, own], goes_on[np.ix_(own, own)], ~goes_on[own]
            found[kind] = _Rules(own, *(np.asarray(table, dtype=np.float64) for table in tables))
        return found


def spans_of(labels: Sequence[Label]) -> list[tuple[int, int, str]]:
    """(start, end, type) of the spans that the labels of a sentence write.

    >>> spans_of(["B-LOC", "I-LOC", "O", "B-PER"])
    [(0, 2, 'LOC'), (3, 4, 'PER')]
    """
    return SpanLabels.of(labels).read(range(len(labels)))


def _given(reached: FloatArray, nodes: FloatArray) -> FloatArray:
    """reached / nodes; both are 0 where a label has no probability, and so is the result."""
    return reached / np.maximum(nodes, _TINY)
