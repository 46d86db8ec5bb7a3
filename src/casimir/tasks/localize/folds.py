"""Cross-validation: every picture is found by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casimir.scores import IntArray
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.metrics import LocalizeScores, pooled
from casimir.tasks.localize.model import Found, LocalizeModel, compared
from casimir.tasks.localize.store import Progress


@dataclass(frozen=True, eq=False)
class Validation:
    """scores  of the models of all folds together, and of the baselines
    folds   the models' scores fold by fold
    found   what was found, in the order of the pictures
    """

    scores: dict[str, LocalizeScores]
    folds: list[LocalizeScores]
    found: Found


def fold_indices(n: int, folds: int, seed: int = 0) -> list[IntArray]:
    """The held-out pictures of every fold: default_rng(seed).permutation(n), cut into parts of nearly equal size."""
    if not 2 <= folds <= n:
        raise ValueError(f"folds={folds} for {n} pictures; give at least 2 folds, and at most one per picture.")
    return [np.sort(part) for part in np.array_split(np.random.default_rng(seed).permutation(n), folds)]


def cross_validate(
    train: Callable[[CandidateSet], LocalizeModel],
    candidates: CandidateSet,
    folds: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
) -> Validation:
    """Train on all folds but one and find the boxes of that one, for every fold.

    progress   called with (folds done, folds in all) before each fold
    """
    n = len(candidates)
    boxes, confidence = np.zeros((n, 4), dtype=np.int64), np.zeros(n)
    parts: list[dict[str, LocalizeScores]] = []
    for held_out in fold_indices(n, folds, seed):
        if progress is not None:
            progress(len(parts), folds)
        model = train(candidates.select(np.setdiff1d(np.arange(n), held_out)))
        if model.run.status == "interrupted":
            raise KeyboardInterrupt
        shown = candidates.select(held_out)
        found = model.find(shown)
        boxes[held_out], confidence[held_out] = found.boxes, found.confidence
        parts.append(compared(shown, found))
    scores = {name: pooled([part[name] for part in parts]) for name in parts[0]}
    return Validation(scores, [part["casimir"] for part in parts], Found(boxes, confidence))
