"""How well objects are found: CorLoc, average precision, mean IoU; and the baselines that need no training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._boxes import iou
from casimir.scores import FloatArray, IntArray

CORRECT = 0.5  # a box is correct when its IoU with the truth is above this


@dataclass(frozen=True)
class LocalizeScores:
    """corloc    share of images whose box has an IoU above 0.5 with the true one
    ap        average precision with the score as confidence; None where boxes have no confidence
    mean_iou  mean IoU with the true boxes
    n         images
    """

    corloc: float
    ap: float | None
    mean_iou: float
    n: int


@dataclass(frozen=True)
class ClassScores:
    """Means over classes of the scores of each; `n` counts all objects.

    by_class   classes without a picture are left out
    """

    by_class: Mapping[str, LocalizeScores]

    @property
    def corloc(self) -> float:
        """The mean CorLoc of the classes."""
        return float(np.mean([scores.corloc for scores in self.by_class.values()]))

    @property
    def ap(self) -> float | None:
        """The mean average precision of the classes."""
        known = [scores.ap for scores in self.by_class.values() if scores.ap is not None]
        return float(np.mean(known)) if len(known) == len(self.by_class) else None

    @property
    def mean_iou(self) -> float:
        """The mean IoU of the classes."""
        return float(np.mean([scores.mean_iou for scores in self.by_class.values()]))

    @property
    def n(self) -> int:
        """How many pictures there are, of all classes."""
        return sum(scores.n for scores in self.by_class.values())

    def to_dict(self) -> dict[str, Any]:
        """The scores by name, for JSON."""
        means = {"corloc": self.corloc, "ap": self.ap, "mean_iou": self.mean_iou, "n": self.n}
        return {**means, "classes": {name: asdict(scores) for name, scores in self.by_class.items()}}


def localize_scores(true: IntArray, found: IntArray, confidence: FloatArray | None = None) -> LocalizeScores:
    """true and found int64[n, 4], confidence float64[n]."""
    if true.shape != found.shape or not len(true):
        raise ValueError(f"There are {len(true)} true and {len(found)} found boxes; give one of each per image.")
    overlap = iou(true, found)
    correct = overlap > CORRECT
    ap = None if confidence is None else average_precision(correct, confidence)
    return LocalizeScores(float(correct.mean()), ap, float(overlap.mean()), len(true))


def average_precision(correct: npt.NDArray[np.bool_], confidence: FloatArray) -> float:
    """AP = sum_r (recall_r - recall_{r-1}) max_{s >= r} precision_s, the area under PASCAL VOC's curve since 2010.

    One prediction per image. The first r predictions in the order of confidence have precision_r = correct ones / r and
    recall_r = correct ones / n: every image holds one object, so a wrong box is also a miss, and AP <= CorLoc.
    Predictions of equal confidence come in together, so the order of the images does not matter.
    """
    if not np.isfinite(confidence).all():
        raise ValueError("A confidence is NaN or infinite; average precision needs finite ones.")
    order = np.argsort(-confidence, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(confidence[order]) != 0.0, True))  # the last of every confidence
    hits = np.cumsum(correct[order])[ends]
    best = np.maximum.accumulate((hits / (ends + 1.0))[::-1])[::-1]
    return float(np.sum(np.diff(hits, prepend=0) * best) / len(order))


# --- baselines


def baselines(boxes: Sequence[IntArray], true: IntArray) -> Mapping[str, LocalizeScores]:
    """What the candidates, a list of int64[m_i, 4], give without training."""
    return {
        "largest box": localize_scores(true, largest_boxes(boxes)),
        "random candidate": random_candidate(boxes, true),
        "best candidate": localize_scores(true, best_boxes(boxes, true)),
    }


def largest_boxes(boxes: Sequence[IntArray]) -> IntArray:
    """int64[n, 4]: the candidate with the largest area, the first of equal ones."""
    return _picked(boxes, [int(np.argmax(np.prod(b[:, 2:] - b[:, :2] + 1, axis=1))) for b in boxes])


def best_candidates(boxes: Sequence[IntArray], true: IntArray) -> IntArray:
    """int64[n]: the candidate that overlaps most with the true box, the first of equal ones."""
    return np.array([int(np.argmax(iou(b, box))) for b, box in zip(boxes, true, strict=True)], dtype=np.int64)


def best_boxes(boxes: Sequence[IntArray], true: IntArray) -> IntArray:
    """The most that any choice among the candidates can reach."""
    return _picked(boxes, best_candidates(boxes, true))


def random_candidate(boxes: Sequence[IntArray], true: IntArray) -> LocalizeScores:
    """What to expect of a candidate drawn uniformly from every image's list; exact, nothing is drawn."""
    overlaps = [iou(b, box) for b, box in zip(boxes, true, strict=True)]
    corloc = np.mean([np.mean(overlap > CORRECT) for overlap in overlaps])
    return LocalizeScores(float(corloc), None, float(np.mean([o.mean() for o in overlaps])), len(overlaps))


def _picked(boxes: Sequence[IntArray], indices: Any) -> IntArray:
    chosen = [b[j] for b, j in zip(boxes, indices, strict=True)]
    return np.array(chosen, dtype=np.int64).reshape(-1, 4)
