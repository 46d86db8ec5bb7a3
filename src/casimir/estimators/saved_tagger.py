"""A tagger as it comes out of a model folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.state import decode_predictor, tagger_around

if TYPE_CHECKING:  # scikit-learn takes a second to load
    from casimir.estimators.sequence_tagger import SequenceTagger


@dataclass(frozen=True, eq=False)
class SavedTagger:
    """It predicts at once; the scikit-learn estimator is made when `tagger` is first asked for."""

    predictor_: ChainPredictor
    meta: Mapping[str, Any]

    @classmethod
    def of(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SavedTagger:
        """From what `encode_tagger` gave."""
        return cls(decode_predictor(meta, arrays), meta)

    @cached_property
    def tagger(self) -> SequenceTagger:
        return tagger_around(self.predictor_, self.meta)


def whole_tagger(given: SequenceTagger | SavedTagger) -> SequenceTagger:
    """The estimator itself, or the one that was saved."""
    return given.tagger if isinstance(given, SavedTagger) else given
