from .predictor import ChainPredictor
from .sequence_tagger import SequenceTagger

__all__ = ["ChainPredictor", "SequenceTagger"]
