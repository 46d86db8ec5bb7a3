"""Scores of all labels in one row, sentence after sentence: scikit-learn's metrics, and sklearn-crfsuite's names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

LabelSequences = Sequence[Sequence[Any]]


def flatten(sequences: LabelSequences) -> list[Any]:
    """[[1, 2], [3]] -> [1, 2, 3]"""
    return list(chain.from_iterable(sequences))


def flat_accuracy_score(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """The share of tokens whose label is right."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(*_both(y_true, y_pred)))


accuracy_score = flat_accuracy_score  # under the name that seqeval gives it


def flat_precision_score(y_true: LabelSequences, y_pred: LabelSequences, **options: Any) -> Any:
    """`sklearn.metrics.precision_score` of the tokens; options are its own: labels, average, zero_division, ..."""
    from sklearn.metrics import precision_score

    return precision_score(*_both(y_true, y_pred), **options)


def flat_recall_score(y_true: LabelSequences, y_pred: LabelSequences, **options: Any) -> Any:
    """`sklearn.metrics.recall_score` of the tokens; options are its own: labels, average, zero_division, ..."""
    from sklearn.metrics import recall_score

    return recall_score(*_both(y_true, y_pred), **options)


def flat_f1_score(y_true: LabelSequences, y_pred: LabelSequences, **options: Any) -> Any:
    """`sklearn.metrics.f1_score` of the tokens; options are its own: labels, average, zero_division, ..."""
    from sklearn.metrics import f1_score

    return f1_score(*_both(y_true, y_pred), **options)


def flat_fbeta_score(y_true: LabelSequences, y_pred: LabelSequences, beta: float, **options: Any) -> Any:
    """`sklearn.metrics.fbeta_score` of the tokens; options are its own: labels, average, zero_division, ..."""
    from sklearn.metrics import fbeta_score

    return fbeta_score(*_both(y_true, y_pred), beta=beta, **options)


def flat_classification_report(
    y_true: LabelSequences, y_pred: LabelSequences, labels: Any = None, **options: Any
) -> Any:
    """`sklearn.metrics.classification_report` of the tokens; options are its own: digits, output_dict, ..."""
    from sklearn.metrics import classification_report

    return classification_report(*_both(y_true, y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """The share of sentences without a wrong label; 0 where there are no sentences."""
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} true but {len(y_pred)} predicted sentences; give one prediction for each.")
    right = sum(list(gold) == list(guess) for gold, guess in zip(y_true, y_pred, strict=True))
    return right / len(y_true) if len(y_true) else 0.0


def _both(y_true: LabelSequences, y_pred: LabelSequences) -> tuple[list[Any], list[Any]]:
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} true but {len(y_pred)} predicted sentences; give one prediction for each.")
    for i, (gold, guess) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(gold) != len(guess):
            raise ValueError(
                f"sentence {i} has {len(gold)} true but {len(guess)} predicted labels; each token needs one."
            )
    return flatten(y_true), flatten(y_pred)
