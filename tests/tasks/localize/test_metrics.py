"""CorLoc, average precision and the baselines, against sums written out."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir._boxes import iou
from casimir.tasks.localize.metrics import (
    average_precision,
    baselines,
    best_candidates,
    largest_boxes,
    localize_scores,
    random_candidate,
)

BOXES = [np.array([[0, 0, 9, 9], [0, 0, 4, 9], [0, 0, 9, 4]]), np.array([[5, 5, 9, 9]])]
TRUE = np.array([[0, 0, 4, 9], [0, 0, 1, 1]])


def test_a_box_is_correct_above_one_half() -> None:
    scores = localize_scores(np.array([[0, 0, 9, 9]] * 2), np.array([[0, 0, 9, 4], [0, 0, 9, 5]]))
    assert asdict(scores) == {"corloc": 0.5, "ap": None, "mean_iou": pytest.approx(0.55), "n": 2}


@pytest.mark.parametrize(
    ("correct", "confidence", "expected"),
    [
        ([1, 1, 1], [3, 2, 1], 1.0),
        ([0, 0], [2, 1], 0.0),
        ([1, 0], [2, 1], 0.5),  # recall stops at 1/2, with precision 1
        ([0, 1], [2, 1], 0.25),  # the second of two: recall 1/2 at precision 1/2
        ([1, 0, 1], [3, 2, 1], 1 / 3 + 1 / 3 * 2 / 3),
        ([0, 1, 1], [3, 2, 1], 2 / 3 * 2 / 3),  # 1/2 at the first, but 2/3 further on: the larger one counts
        ([1, 0, 0, 1], [1, 1, 1, 1], 0.25),  # equal confidence: one point, precision 1/2 at recall 1/2
    ],
)
def test_average_precision_by_hand(correct: list[int], confidence: list[float], expected: float) -> None:
    found = average_precision(np.array(correct, dtype=bool), np.array(confidence, dtype=float))
    assert found == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=12))
def test_average_precision_is_a_sum_over_ranks_and_ignores_the_order(cases: list[tuple[bool, int]]) -> None:
    correct, confidence = (np.array(column) for column in zip(*cases, strict=True))
    shuffled = np.random.default_rng(len(cases)).permutation(len(cases))
    ap = average_precision(correct, confidence.astype(float))
    assert ap == average_precision(correct[shuffled], confidence[shuffled].astype(float))
    thresholds = sorted(set(confidence.tolist()), reverse=True)
    hits = [int(correct[confidence >= t].sum()) for t in thresholds]
    precision = [h / int((confidence >= t).sum()) for h, t in zip(hits, thresholds, strict=True)]
    steps = [h - before for h, before in zip(hits, [0, *hits], strict=False)]
    expected = sum(s * max(precision[k:]) for k, s in enumerate(steps)) / len(cases)
    assert ap == pytest.approx(expected)
    assert ap <= correct.mean() + 1e-12


def test_confidence_must_be_finite() -> None:
    with pytest.raises(ValueError, match="finite"):
        average_precision(np.array([True]), np.array([np.nan]))


def test_baselines() -> None:
    assert largest_boxes(BOXES).tolist() == [[0, 0, 9, 9], [5, 5, 9, 9]]
    assert best_candidates(BOXES, TRUE).tolist() == [1, 0]
    expected = random_candidate(BOXES, TRUE)
    assert expected.corloc == pytest.approx((1 / 3 + 0.0) / 2)  # 1/2, 1 and 1/3 in the first picture
    assert expected.mean_iou == pytest.approx((iou(BOXES[0], TRUE[0]).mean() + 0.0) / 2)
    scores = baselines(BOXES, TRUE)
    assert list(scores) == ["largest box", "random candidate", "best candidate"]
    assert scores["best candidate"].corloc == 0.5
    assert all(row.ap is None and row.n == 2 for row in scores.values())


def test_ties_go_to_the_first_candidate() -> None:
    twice = [np.array([[0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]])]
    assert largest_boxes(twice).tolist() == [[0, 0, 1, 1]]
    assert best_candidates(twice, np.array([[2, 2, 3, 3]])).tolist() == [1]


def test_boxes_must_pair_up() -> None:
    with pytest.raises(ValueError, match="2 true and 1 found"):
        localize_scores(TRUE, TRUE[:1])
