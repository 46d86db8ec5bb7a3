from .base import Linearization, LinearModel, NonlinearModel, ScoreModel
from .linear import LinearChainModel, LinearPartsModel
from .linear_candidates import LinearCandidateModel
from .linear_classes import LinearClassModel
from .linear_tree import LinearTreeModel
from .shared import SharedWeights
from .weight_rows import WeightRows

__all__ = [
    "LinearCandidateModel",
    "LinearChainModel",
    "LinearClassModel",
    "LinearModel",
    "LinearPartsModel",
    "LinearTreeModel",
    "Linearization",
    "NonlinearModel",
    "ScoreModel",
    "SharedWeights",
    "WeightRows",
]
