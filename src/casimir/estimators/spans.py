"""The spans that labels write, and their exact probabilities in a chain.

A label is O, or a prefix B, I, E or S and a type, such as B-LOC: IOB1, IOB2 and IOBES. Where spans begin and go on is
what the official CoNLL scorer says, and depends on two neighbouring labels a, b alone:

    begins(a, b)    b is not O, and its prefix is B or S, or a is O or ends a span (E, S), or a has another type
    goes_on(a, b)   b is not O and does not begin a span

So "(s, e, type) is one of the spans of y" is a list of conditions on neighbours,

    begins(y_{s-1}, y_s),   goes_on(y_{t-1}, y_t) for s < t < e,   not goes_on(y_{e-1}, y_e)

and since the labels of a chain are a Markov chain, p(y_t | y_{t-1}) = p(y_{t-1}, y_t) / p(y_{t-1}), its probability is
a product of small matrices, over all label sequences that write the span (in the core: cpp/chain/chain_spans.cpp).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from casimir._native import core
from casimir._threads import n_threads
from casimir.estimators.labels import Label
from casimir.metrics.schemes import Tag, begins_span, is_tag, parse_tag, read_spans, write_spans
from casimir.scores import IntArray, Scores
from casimir.structures.chain import Chain


class Span(NamedTuple):
    """A span of `type` over the tokens start .. end - 1, and its probability."""

    start: int
    end: int
    type: str
    probability: float


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

    def best(self, chain: Chain, s: Scores, mu: float) -> list[list[Span]]:
        """For every example the spans of its best labels, each with its exact probability under exp(score / mu)."""
        forbidden = chain.forbidden(s)
        s = s if forbidden is None else s + forbidden
        begins, places, kinds = self._rules
        counts, spans, shares = core.chain_best_spans(s.nodes, s.offsets, s.edges, begins, places, mu, n_threads())
        found = zip(spans.tolist(), shares.tolist(), strict=True)
        named = (Span(start, end, kinds[place], share) for (start, end, place), share in found)
        return [list(itertools.islice(named, count)) for count in counts.tolist()]

    @cached_property
    def _rules(self) -> tuple[npt.NDArray[np.bool_], IntArray, list[str]]:
        """bool[L + 1, L]: what `begins` says, the first label in the last row; int64[L]: the place of every label's
        type, -1 of O; the types."""
        n = len(self.types)
        begins = np.array([[self.begins(a, b) for b in range(n)] for a in [*range(n), None]], dtype=np.bool_)
        tags = [(kind, prefix != "O") for prefix, kind in zip(self.prefixes, self.types, strict=True)]
        kinds = sorted({kind for kind, is_tag in tags if is_tag})
        places = [kinds.index(kind) if is_tag else -1 for kind, is_tag in tags]
        return begins, np.array(places, dtype=np.int64), kinds


def spans_of(labels: Sequence[Label]) -> list[tuple[int, int, str]]:
    """(start, end, type) of the spans that the labels of a sentence write.

    >>> spans_of(["B-LOC", "I-LOC", "O", "B-PER"])
    [(0, 2, 'LOC'), (3, 4, 'PER')]
    """
    return SpanLabels.of(labels).read(range(len(labels)))
