"""Scorers for `scoring=` of GridSearchCV, cross_val_score and others, for taggers that predict lists of labels."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import make_scorer

from casimir.metrics.averages import f1_score, precision_score, recall_score
from casimir.metrics.flat import flat_accuracy_score, flat_f1_score, sequence_accuracy_score

flat_accuracy = make_scorer(flat_accuracy_score)
flat_f1_macro = make_scorer(flat_f1_score, average="macro", zero_division=0)
flat_f1_weighted = make_scorer(flat_f1_score, average="weighted", zero_division=0)
sequence_accuracy = make_scorer(sequence_accuracy_score)
entity_precision = make_scorer(precision_score, zero_division=0)
entity_recall = make_scorer(recall_score, zero_division=0)
entity_f1 = make_scorer(f1_score, zero_division=0)
entity_f1_macro = make_scorer(f1_score, average="macro", zero_division=0)

SCORERS: dict[str, Any] = {
    "entity_f1": entity_f1,
    "entity_f1_macro": entity_f1_macro,
    "entity_precision": entity_precision,
    "entity_recall": entity_recall,
    "flat_accuracy": flat_accuracy,
    "flat_f1_macro": flat_f1_macro,
    "flat_f1_weighted": flat_f1_weighted,
    "sequence_accuracy": sequence_accuracy,
}


def get_scorer(scoring: Any) -> Any:
    """The scorer of that name, one of ours or of scikit-learn's; what can be called is returned as it is."""
    from sklearn.metrics import get_scorer as of_sklearn
    from sklearn.metrics import get_scorer_names

    if callable(scoring):
        return scoring
    if scoring in SCORERS:
        return SCORERS[scoring]
    if scoring not in get_scorer_names():
        raise ValueError(
            f"scoring={scoring!r}; it must be one of {', '.join(SCORERS)}, a name that scikit-learn knows, or a "
            "function of (estimator, X, y)."
        )
    return of_sklearn(scoring)
