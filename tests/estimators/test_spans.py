"""Spans are read as the scorer reads them, and their probabilities are those of all label sequences together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import casimir as cs
from casimir.estimators.spans import SpanLabels, spans_of
from casimir.metrics.schemes import parse_tag
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
def test_best_spans_and_their_probabilities_are_those_of_the_enumeration(labels: tuple[str, ...], length: int) -> None:
    rng = np.random.default_rng(length)
    n, chain = len(labels), cs.Chain(len(labels))
    unary = [rng.normal(size=(length, n)) * 2 for _ in range(40)]
    seen = check_against_enumeration(chain, chain.scores(unary, rng.normal(size=(n, n)) * 2), labels)
    kinds = {parse_tag(label)[1] for label in labels if label != "O"}
    assert {kind for _, _, kind in seen} == kinds
    assert {(start, end) for start, end, _ in seen} >= {(start, start + 1) for start in range(length)}


def test_pairs_of_every_edge_may_have_scores_of_their_own() -> None:
    labels = SCHEMES["IOBES of two types"]
    rng = np.random.default_rng(3)
    chain = cs.Chain(5)
    unary = [rng.normal(size=(p, 5)) for p in (3, 1, 4)]
    pairwise = [rng.normal(size=(p - 1, 5, 5)) * 2 for p in (3, 1, 4)]
    assert check_against_enumeration(chain, chain.scores(unary, pairwise), labels, mu=0.7)


def test_probability_is_exact_where_labels_are_not_allowed() -> None:
    labels = SCHEMES["IOB1 or IOB2"]
    allowed = np.ones((5, 5), dtype=bool)
    allowed[4, 2:4] = allowed[0, 3] = allowed[1, 2] = allowed[2, 3] = allowed[3, 2] = False  # valid IOB2 alone
    chain = cs.Chain(5, allowed=allowed, allowed_start=[True, True, False, False, True])
    rng = np.random.default_rng(7)
    unary = [rng.normal(size=(4, 5)) * 2 for _ in range(20)]
    seen = check_against_enumeration(chain, chain.scores(unary, rng.normal(size=(5, 5))), labels)
    assert any(end - start > 2 for start, end, _ in seen)


def check_against_enumeration(
    chain: cs.Chain, scores: cs.Scores, labels: tuple[str, ...], mu: float = 1.0
) -> set[tuple[int, int, str]]:
    """Compares all examples; the spans that were found."""
    top = chain.topk(scores, len(labels) ** int(np.diff(scores.offsets).max()))
    value = chain.expect(scores, mu).value
    seen = set()
    for i, found in enumerate(SpanLabels.of(labels).best(chain, scores, mu)):
        outputs = top.outputs[i].tolist()
        weights = np.exp((top.value[i][: len(outputs)] - value[i]) / mu)
        assert weights.sum() == pytest.approx(1.0, abs=1e-10)
        expected: dict[tuple[int, int, str], float] = {}
        for output, weight in zip(outputs, weights, strict=True):
            for span in scorer_spans([labels[j] for j in output]):
                expected[tuple(span)] = expected.get(tuple(span), 0.0) + weight
        assert [span[:3] for span in found] == scorer_spans([labels[j] for j in outputs[0]])
        assert [span.probability for span in found] == pytest.approx([expected[s[:3]] for s in found], abs=1e-10)
        seen |= {span[:3] for span in found}
    return seen


def test_scores_that_are_too_large_for_mu_are_refused() -> None:
    chain = cs.Chain(2)
    scores = chain.scores([[[1e308, 0.0], [1e308, 0.0]]], [[0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="mu is so small"):
        SpanLabels.of(("B-X", "O")).best(chain, scores, 1.0)


def test_labels_that_write_no_spans_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'NN', which writes no span"):
        SpanLabels.of(("B-X", "NN"))
    assert not SpanLabels.write_spans(("O", "B"))
    assert SpanLabels.write_spans(("O", "B-X"))
