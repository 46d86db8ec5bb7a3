"""Spans are read as the scorer reads them, and their probabilities are those of all label sequences together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import casimir as cs
from casimir.estimators.spans import SpanLabels, spans_of
from casimir.tasks.ner import spans as scorer_spans

SCHEMES = {
    "IOB1 or IOB2": ("B-X", "B-Y", "I-X", "I-Y", "O"),
    "IOBES": ("B-X", "E-X", "I-X", "O", "S-X"),
    "IOBES of two types": ("B-X", "E-X", "E-Y", "O", "S-Y"),
    "no type": ("B", "I", "O"),
    "no O": ("B-X", "I-X"),
    "I alone": ("I-X", "I-Y", "O"),
}
TAGS = sorted({label for labels in SCHEMES.values() for label in labels} | {"B-a-b", "S-", "E"})


@given(st.lists(st.sampled_from(TAGS), min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_any_tags_are_read_as_the_scorer_reads_them(tags: list[str]) -> None:
    assert spans_of(tags) == [tuple(span) for span in scorer_spans(tags)]


@pytest.mark.parametrize("labels", SCHEMES.values(), ids=SCHEMES.keys())
@pytest.mark.parametrize("length", [1, 2, 4])
def test_probability_of_every_span_is_that_of_the_enumeration(labels: tuple[str, ...], length: int) -> None:
    rng = np.random.default_rng(length)
    n = len(labels)
    chain = cs.Chain(n)
    scores = chain.scores([rng.normal(size=(length, n)) * 2], rng.normal(size=(n, n)) * 2)
    check_against_enumeration(chain, scores, labels)


def test_probability_is_exact_where_labels_are_not_allowed() -> None:
    labels = SCHEMES["IOB1 or IOB2"]
    allowed = np.ones((5, 5), dtype=bool)
    allowed[4, 2:4] = allowed[0, 3] = allowed[1, 2] = allowed[2, 3] = allowed[3, 2] = False  # valid IOB2 alone
    chain = cs.Chain(5, allowed=allowed, allowed_start=[True, True, False, False, True])
    rng = np.random.default_rng(7)
    check_against_enumeration(chain, chain.scores([rng.normal(size=(4, 5))], rng.normal(size=(5, 5))), labels)


def check_against_enumeration(chain: cs.Chain, scores: cs.Scores, labels: tuple[str, ...]) -> None:
    length = len(scores.nodes)
    top = chain.topk(scores, len(labels) ** length)
    weights = np.exp(top.value[0][: len(top.outputs[0])] - chain.expect(scores, 1.0).value[0])
    assert weights.sum() == pytest.approx(1.0, abs=1e-10)
    expected: dict[tuple[int, int, str], float] = {}
    for output, weight in zip(top.outputs[0].tolist(), weights, strict=True):
        for span in scorer_spans([labels[j] for j in output]):
            expected[tuple(span)] = expected.get(tuple(span), 0.0) + weight
    spans, soft = SpanLabels.of(labels), chain.expect(scores, 1.0).marginals
    types = {kind for kind, prefix in zip(spans.types, spans.prefixes, strict=True) if prefix != "O"}
    for start, end in itertools.combinations(range(length + 1), 2):
        for kind in types:
            found = spans.probability(soft.unary(0), soft.pairwise(0), (start, end, kind))
            assert found == pytest.approx(expected.get((start, end, kind), 0.0), abs=1e-10)


def test_labels_that_write_no_spans_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'NN', which writes no span"):
        SpanLabels.of(("B-X", "NN"))
    assert not SpanLabels.write_spans(("O", "B"))
    assert SpanLabels.write_spans(("O", "B-X"))
