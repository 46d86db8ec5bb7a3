from .graph_labeler import GraphLabeler
from .grid_labeler import GridLabeler
from .multilabel_classifier import MultilabelClassifier
from .predictor import ChainPredictor
from .regularization import PathPoint, RegularizationPath, path
from .sequence_tagger import SequenceTagger
from .structured_classifier import StructuredClassifier

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
