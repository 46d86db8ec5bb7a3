"""How weights and inputs give scores."""

from casimir.models.base import ScoreModel
from casimir.models.linear import LinearCandidateModel, LinearChainModel, LinearPartsModel, stride_of
from casimir.models.linear_tree import LinearTreeModel

__all__ = ["LinearCandidateModel", "LinearChainModel", "LinearPartsModel", "LinearTreeModel", "ScoreModel", "stride_of"]
