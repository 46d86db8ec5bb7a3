"""Scores of predicted labels: of entities, as seqeval and the CoNLL script count them, and of single tokens.

Labels are lists of lists, as taggers take and return them. `casimir.metrics.scorers` has scorers for scikit-learn.
"""

from casimir.metrics.averages import f1_score, precision_recall_fscore_support, precision_score, recall_score
from casimir.metrics.counts import Counts
from casimir.metrics.entities import EntityScores, entity_scores
from casimir.metrics.flat import (
    flat_accuracy_score,
    flat_classification_report,
    flat_f1_score,
    flat_fbeta_score,
    flat_precision_score,
    flat_recall_score,
    sequence_accuracy_score,
)
from casimir.metrics.flat import flat_accuracy_score as accuracy_score
from casimir.metrics.report import classification_report
from casimir.metrics.schemes import Scheme, Span, convert, detect_scheme, spans
from casimir.metrics.tokens import TokenScores, token_scores

__all__ = [
    "Counts",
    "EntityScores",
    "Scheme",
    "Span",
    "TokenScores",
    "accuracy_score",
    "classification_report",
    "convert",
    "detect_scheme",
    "entity_scores",
    "f1_score",
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
    "sequence_accuracy_score",
    "spans",
    "token_scores",
]
