"""Estimators in the style of scikit-learn."""

from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.sequence_tagger import SequenceTagger

__all__ = ["ChainPredictor", "SequenceTagger"]
