"""Accuracy and intersection over union by hand."""

from __future__ import annotations

import numpy as np
import pytest

from casimir.tasks.segment.metrics import segment_scores


def masks(*rows: list[int]) -> list[np.ndarray]:
    return [np.array([row], dtype=bool) for row in rows]


def test_scores_by_hand() -> None:
    scores = segment_scores(masks([1, 1, 0, 0], [1, 0]), masks([1, 0, 1, 0], [1, 0]))
    assert scores.accuracy == pytest.approx(4 / 6)
    assert scores.iou == pytest.approx(2 / 4)
    assert scores.mean_iou == pytest.approx((1 / 3 + 1) / 2)
    assert scores.pictures == 2


def test_no_foreground_anywhere_is_right() -> None:
    scores = segment_scores(masks([0, 0]), masks([0, 0]))
    assert (scores.accuracy, scores.iou, scores.mean_iou) == (1.0, 1.0, 1.0)


def test_all_background_has_no_intersection() -> None:
    scores = segment_scores(masks([1, 0, 0]), masks([0, 0, 0]))
    assert (scores.accuracy, scores.iou) == (pytest.approx(2 / 3), 0.0)


def test_masks_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="1 true and 0 predicted"):
        segment_scores(masks([1]), [])
    with pytest.raises(ValueError, match="must be equal"):
        segment_scores(masks([1, 0]), masks([1]))
