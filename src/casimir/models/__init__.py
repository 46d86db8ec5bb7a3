"""How weights and inputs give scores."""

from casimir.models.base import ScoreModel
from casimir.models.linear import LinearCandidateModel, LinearChainModel, LinearPartsModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.models.tokens import stride_of

__all__ = ["LinearCandidateModel", "LinearChainModel", "LinearPartsModel", "LinearTreeModel", "ScoreModel", "stride_of"]
