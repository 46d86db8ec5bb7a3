from .averages import f1_score, precision_recall_fscore_support, precision_score, recall_score
from .counts import Counts
from .entities import EntityScores, entity_scores
from .flat import (
    accuracy_score,
    flat_accuracy_score,
    flat_classification_report,
    flat_f1_score,
    flat_fbeta_score,
    flat_precision_score,
    flat_recall_score,
    sequence_accuracy_score,
)
from .report import classification_report
from .schemes import Scheme, Span, convert, detect_scheme, spans
from .tokens import TokenScores, token_scores

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
