"""Precision, recall, F and reports of entities: hand-worked values, and a second reading of the schemes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir.metrics import (
    classification_report,
    f1_score,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)

TRUE = [["O", "O", "B-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O", "B-PER"], ["B-LOC"]]
GUESS = [["O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC"]]


def test_averages_of_a_hand_worked_corpus() -> None:
    """MISC 0 of 1 found, 1 wrong; PER 1 of 2 found; LOC 1 of 1 found, 1 wrong."""
    options = {"zero_division": 0}
    assert precision_score(TRUE, GUESS) == pytest.approx(2 / 4)
    assert recall_score(TRUE, GUESS) == pytest.approx(2 / 4)
    assert precision_score(TRUE, GUESS, average=None) == pytest.approx([1 / 2, 0, 1])  # LOC, MISC, PER
    assert recall_score(TRUE, GUESS, average="macro", **options) == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert recall_score(TRUE, GUESS, average="weighted", **options) == pytest.approx((1 * 1 + 1 * 0 + 2 * 0.5) / 4)
    assert f1_score(TRUE, GUESS, average="macro", **options) == pytest.approx((2 / 3 + 0 + 2 / 3) / 3)
    *_, support = precision_recall_fscore_support(TRUE, GUESS, **options)
    assert support.tolist() == [1, 1, 2]
    *_, f, total = precision_recall_fscore_support([["B-X", "O"]], [["B-X", "B-X"]], average="micro", beta=2.0)
    assert (f, total) == (pytest.approx(5 * 0.5 / (4 * 0.5 + 1)), 1)


def test_a_report_shows_types_and_averages() -> None:
    assert classification_report(TRUE, GUESS) == (
        "              precision    recall  f1-score   support\n"
        "\n"
        "         LOC       0.50      1.00      0.67         1\n"
        "        MISC       0.00      0.00      0.00         1\n"
        "         PER       1.00      0.50      0.67         2\n"
        "\n"
        "   micro avg       0.50      0.50      0.50         4\n"
        "   macro avg       0.50      0.50      0.44         4\n"
        "weighted avg       0.62      0.50      0.50         4\n"
    )
    found = classification_report(TRUE, GUESS, output_dict=True)
    assert isinstance(found, dict)
    assert found["PER"] == {"precision": 1.0, "recall": 0.5, "f1-score": pytest.approx(2 / 3), "support": 2}
    assert list(found) == ["LOC", "MISC", "PER", "micro avg", "macro avg", "weighted avg"]


def test_a_ratio_over_nothing_is_what_zero_division_says() -> None:
    nothing = [["O", "O"]]
    with pytest.warns(UserWarning, match="precision is not defined"):
        assert precision_score([["B-X", "O"]], nothing) == 0.0
    assert f1_score(nothing, nothing, zero_division=1) == 1.0
    assert f1_score(nothing, nothing, zero_division=0) == 0.0
    assert recall_score(nothing, [["B-X", "O"]], average="weighted", zero_division=1) == 1.0


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB2", "B-A I-A I-B O I-A B-A", 2),  # I-B and the I-A behind O belong to nothing
        ("IOBES", "B-A I-A O S-A B-A E-A E-A", 2),  # B-A I-A has no end
        ("BILOU", "B-A I-A O U-A B-A L-A L-A", 2),
        ("IOE2", "I-A E-A I-B O E-A", 2),  # I-B has no end
        ("IOE1", "I-A E-A I-A O", 2),
        ("IOB1", "I-A B-A I-A O B-B", 2),  # B-B follows no entity of its type
    ],
)
def test_strict_mode_counts_what_the_scheme_allows(scheme: str, tags: str, expected: int) -> None:
    y = [tags.split()]
    *_, support = precision_recall_fscore_support(y, y, average="micro", mode="strict", scheme=scheme)
    assert support == expected


def by_regular_expressions(tags: list[str], scheme: str) -> set[tuple[int, int, str]]:
    """Entities of one letter per token: what matches the scheme's expression, for each type on its own."""
    pattern = {"IOB2": "BI*", "IOBES": "S|BI*E"}[scheme]
    found = set()
    for kind in "AB":
        text = "".join(tag[0] if tag[2:] == kind else "." for tag in tags)
        found |= {(match.start(), match.end(), kind) for match in re.finditer(pattern, text)}
    return found


@given(st.sampled_from(["IOB2", "IOBES"]), st.data())
def test_strict_mode_finds_what_regular_expressions_find(scheme: str, data: st.DataObject) -> None:
    prefixes = {"IOB2": "BI", "IOBES": "BIES"}[scheme]
    tags = st.sampled_from(["O", *(f"{p}-{kind}" for p in prefixes for kind in "AB")])
    n = data.draw(st.integers(1, 9))
    gold, guess = (data.draw(st.lists(tags, min_size=n, max_size=n)) for _ in range(2))
    a, b = by_regular_expressions(gold, scheme), by_regular_expressions(guess, scheme)
    options = {"mode": "strict", "scheme": scheme, "zero_division": 0}
    assert precision_score([gold], [guess], **options) == pytest.approx(len(a & b) / max(len(b), 1))
    assert recall_score([gold], [guess], **options) == pytest.approx(len(a & b) / max(len(a), 1))


def test_the_scheme_of_strict_mode_follows_from_the_prefixes() -> None:
    y = [["B-A", "E-A", "S-B"], ["O"]]
    assert f1_score(y, y, mode="strict") == f1_score(y, y, mode="strict", scheme="bioes") == 1.0

    class IOBES: ...

    assert f1_score(y, y, mode="strict", scheme=IOBES) == 1.0  # classes of seqeval.scheme go by their names


def test_tags_may_have_their_prefix_behind() -> None:
    y = [["PER-B", "PER-I", "O", "LOC-B"]]
    assert np.array_equal(precision_recall_fscore_support(y, y, suffix=True)[3], [1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "samples"}, "must be 'micro'"),
        ({"mode": "loose"}, "it must be None"),
        ({"scheme": "IOB2"}, "belongs to mode='strict'"),
        ({"mode": "strict", "scheme": "XYZ"}, "strict mode knows IOB1"),
        ({"mode": "strict", "scheme": "IOE2"}, "does not belong to IOE2"),
        ({"zero_division": 2}, "must be 'warn', 0 or 1"),
        ({"beta": -1.0}, "0 or larger"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        precision_recall_fscore_support(TRUE, GUESS, **options)
