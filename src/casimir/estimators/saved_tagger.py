"""A tagger as it comes out of a model folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.estimators.names import FeatureNames
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.state import decode_names, decode_predictor, tagger_around

if TYPE_CHECKING:  # scikit-learn takes a second to load
    from casimir.estimators.sequence_tagger import SequenceTagger


@dataclass(frozen=True, eq=False)
class SavedTagger:
    """It predicts at once; the scikit-learn estimator is made when `tagger` is first asked for."""

    saved: ChainPredictor
    meta: Mapping[str, Any]
    names: FeatureNames | None = None

    @classmethod
    def of(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SavedTagger:
        """From what `encode_tagger` gave."""
        predictor = decode_predictor(meta, arrays)
        return cls(predictor, meta, decode_names(arrays, predictor.n_features))

    @cached_property
    def tagger(self) -> SequenceTagger:
        """The estimator, which may be calibrated or trained further."""
        return tagger_around(self.saved, self.meta, self.names)

    @property
    def predictor_(self) -> ChainPredictor:
        """What predicts: that of the estimator, once it is made."""
        made: SequenceTagger | None = self.__dict__.get("tagger")
        return self.saved if made is None else made.predictor_


def whole_tagger(given: SequenceTagger | SavedTagger) -> SequenceTagger:
    """The estimator itself, or the one that was saved."""
    return given.tagger if isinstance(given, SavedTagger) else given
