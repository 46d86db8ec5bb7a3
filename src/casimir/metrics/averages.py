"""Precision, recall and F of entities, by type or averaged over types: the functions and arguments of seqeval.

micro      of all entities together
macro      the mean over the types
weighted   the mean over the types, by the number of their true entities
None       an array, one number per type, in alphabetical order
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from casimir.metrics.counts import Counts
from casimir.metrics.entities import EntityScores, entity_scores
from casimir.metrics.strict import guess_scheme, scheme_name

Labels = Sequence[Sequence[str]]


def precision_recall_fscore_support(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = None,
    beta: float = 1.0,
    zero_division: str | float = "warn",
    mode: str | None = None,
    scheme: Any = None,
    suffix: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """(precision, recall, F, number of true entities).

    average        "micro", "macro", "weighted", or None for arrays by type
    beta           F = (1 + beta^2) P R / (beta^2 P + R)
    zero_division  what a ratio over 0 is, 0 or 1; "warn" is 0 with a warning
    mode           None reads any tags as the official CoNLL script does; "strict" counts only what the scheme allows
    scheme         of strict mode: "IOB1", "IOB2", "IOE1", "IOE2", "IOBES" or "BILOU"; None: by the prefixes of y_true
    suffix         whether tags are written PER-B instead of B-PER
    """
    found = scores_of(y_true, y_pred, mode, scheme, suffix)
    return averaged(found, average, beta, zero_division)


def precision_score(y_true: Labels, y_pred: Labels, *, average: str | None = "micro", **options: Any) -> Any:
    """The share of predicted entities that are right; options as in `precision_recall_fscore_support`."""
    return precision_recall_fscore_support(y_true, y_pred, average=average, **options)[0]


def recall_score(y_true: Labels, y_pred: Labels, *, average: str | None = "micro", **options: Any) -> Any:
    """The share of true entities that are found; options as in `precision_recall_fscore_support`."""
    return precision_recall_fscore_support(y_true, y_pred, average=average, **options)[1]


def f1_score(y_true: Labels, y_pred: Labels, *, average: str | None = "micro", **options: Any) -> Any:
    """F1 of entities; options as in `precision_recall_fscore_support`.

    >>> f1_score([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
    0.6666666666666666
    """
    return precision_recall_fscore_support(y_true, y_pred, average=average, **options)[2]


def scores_of(y_true: Labels, y_pred: Labels, mode: str | None, scheme: Any, suffix: bool) -> EntityScores:
    """The counts of entities, read in the mode asked for."""
    if mode not in (None, "strict"):
        raise ValueError(f"mode={mode!r}; it must be None, which reads any tags, or 'strict'.")
    if mode is None and scheme is not None:
        raise ValueError(
            "scheme belongs to mode='strict': without it, tags of every scheme are read. Add or remove it."
        )
    if suffix:
        y_true, y_pred = _prefixed(y_true), _prefixed(y_pred)
    if mode is None:
        return entity_scores(y_true, y_pred)
    return entity_scores(y_true, y_pred, guess_scheme(y_true) if scheme is None else scheme_name(scheme))


def averaged(
    found: EntityScores, average: str | None, beta: float = 1.0, zero_division: str | float = "warn"
) -> tuple[Any, Any, Any, Any]:
    """(precision, recall, F, support) of counts, as `average` says."""
    if average not in (None, "micro", "macro", "weighted"):
        raise ValueError(f"average={average!r}; it must be 'micro', 'macro', 'weighted' or None.")
    if zero_division not in ("warn", 0, 1):
        raise ValueError(f"zero_division={zero_division!r}; it must be 'warn', 0 or 1.")
    if not beta >= 0.0:
        raise ValueError(f"beta={beta}; it must be 0 or larger.")
    counts = [found.overall] if average == "micro" else list(found.by_type.values())
    if zero_division == "warn":
        _warn_of_zeros(counts)
    other = 0.0 if zero_division == "warn" else float(zero_division)
    columns = np.array([_ratios(c, beta, other) for c in counts], dtype=np.float64).reshape(-1, 3).T
    support = np.array([c.support for c in counts], dtype=np.int64)
    if average is None:
        return *columns, support
    if not len(counts):
        return other, other, other, 0
    weights = support if average == "weighted" else np.ones(len(counts))
    if not weights.any():  # no true entity, but predicted ones
        return 0.0, other, 0.0, 0
    precision, recall, f = (float(np.average(column, weights=weights)) for column in columns)
    return precision, recall, f, int(support.sum())


def _ratios(counts: Counts, beta: float, other: float) -> tuple[float, float, float]:
    precision = counts.correct / counts.predicted if counts.predicted else other
    recall = counts.correct / counts.support if counts.support else other
    if np.isposinf(beta):
        return precision, recall, recall
    below = beta**2 * precision + recall
    return precision, recall, (1.0 + beta**2) * precision * recall / below if below else 0.0


def _warn_of_zeros(counts: list[Counts]) -> None:
    missing = {"predicted": not all(c.predicted for c in counts), "true": not all(c.support for c in counts)}
    for what, ratio in (("predicted", "precision"), ("true", "recall")):
        if missing[what] or not counts:
            warnings.warn(
                f"There are types without {what} entities, so their {ratio} is not defined; it is taken as 0. Give "
                "zero_division=0 or 1 to say what it is.",
                stacklevel=4,
            )


def _prefixed(y: Labels) -> list[list[str]]:
    """PER-B -> B-PER."""
    return [[tag[-1:] + ("-" + tag[:-2] if tag[:-2] else "") for tag in tags] for tags in y]
