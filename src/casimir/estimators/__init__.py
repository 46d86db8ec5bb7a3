"""Estimators in the style of scikit-learn."""

from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.regularization import PathPoint, RegularizationPath, path
from casimir.estimators.sequence_tagger import SequenceTagger

__all__ = ["ChainPredictor", "PathPoint", "RegularizationPath", "SequenceTagger", "path"]
