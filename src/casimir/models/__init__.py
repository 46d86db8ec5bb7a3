"""How weights and inputs give scores."""

from casimir.models.base import Linearization, LinearModel, NonlinearModel, ScoreModel
from casimir.models.linear import LinearChainModel, LinearPartsModel
from casimir.models.linear_candidates import LinearCandidateModel
from casimir.models.linear_classes import LinearClassModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.models.shared import SharedWeights
from casimir.models.weight_rows import WeightRows

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
