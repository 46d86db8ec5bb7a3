"""How weights and inputs give scores."""

from casimir.models.base import ScoreModel
from casimir.models.linear import LinearCandidateModel, LinearChainModel, LinearPartsModel, stride_of

__all__ = ["LinearCandidateModel", "LinearChainModel", "LinearPartsModel", "ScoreModel", "stride_of"]
