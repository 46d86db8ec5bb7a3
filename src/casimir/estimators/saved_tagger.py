"""A tagger as it comes out of a model folder, or out of a training that did without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np

from casimir.estimators.names import FeatureNames
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.state import decode_names, decode_predictor, tagger_around

if TYPE_CHECKING:  # scikit-learn takes a second to load, and solvers are loaded when something is trained
    from casimir.estimators.chain_tagger import ChainTagger
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


@dataclass(frozen=True, eq=False)
class TrainedTagger:
    """A tagger that was just trained; the scikit-learn estimator takes its place when `tagger` is first asked for."""

    trained: ChainTagger

    @cached_property
    def tagger(self) -> SequenceTagger:
        """The estimator."""
        from casimir.estimators.sequence_tagger import SequenceTagger

        return SequenceTagger.of(self.trained)

    @property
    def present(self) -> ChainTagger:
        """The estimator, once it is made."""
        made: SequenceTagger | None = self.__dict__.get("tagger")
        return self.trained if made is None else made

    @property
    def predictor_(self) -> ChainPredictor:
        """What predicts."""
        return self.present.predictor_


GivenTagger = Union["SequenceTagger", SavedTagger, TrainedTagger]


def given_tagger(tagger: ChainTagger) -> GivenTagger:
    """A tagger that was just trained, as models take it."""
    from casimir.estimators.chain_tagger import ChainTagger

    return TrainedTagger(tagger) if type(tagger) is ChainTagger else cast("SequenceTagger", tagger)


def whole_tagger(given: GivenTagger) -> SequenceTagger:
    """The estimator itself, or the one that was saved or trained."""
    return given.tagger if isinstance(given, SavedTagger | TrainedTagger) else given


def present_tagger(given: GivenTagger) -> ChainTagger:
    """The tagger with all that was learned; no estimator is made of one that was just trained."""
    return given.present if isinstance(given, TrainedTagger) else whole_tagger(given)
