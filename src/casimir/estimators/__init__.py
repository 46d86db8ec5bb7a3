"""Estimators in the style of scikit-learn."""

from casimir.estimators.graph_labeler import GraphLabeler
from casimir.estimators.grid_labeler import GridLabeler
from casimir.estimators.multilabel_classifier import MultilabelClassifier
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.regularization import PathPoint, RegularizationPath, path
from casimir.estimators.sequence_tagger import SequenceTagger
from casimir.estimators.structured_classifier import StructuredClassifier

__all__ = [
    "ChainPredictor",
    "GraphLabeler",
    "GridLabeler",
    "MultilabelClassifier",
    "PathPoint",
    "RegularizationPath",
    "SequenceTagger",
    "StructuredClassifier",
    "path",
]
