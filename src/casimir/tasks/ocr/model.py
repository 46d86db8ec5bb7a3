"""A reader of handwritten words: a chain over letters, with features of their pixels."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir.estimators.sequence_tagger import SequenceTagger
from casimir.estimators.state import decode_tagger, encode_tagger
from casimir.persistence import save_folder
from casimir.tasks.ocr.features import FEATURE_SETS, pack_words
from casimir.tasks.ocr.metrics import LetterScores, letter_scores
from casimir.tasks.ocr.words import HEIGHT, WIDTH, WordImages
from casimir.tasks.training import DEFAULT, Run, Training

KIND = "ocr"


@dataclass(frozen=True, eq=False)
class OCRModel:
    """tagger       a fitted SequenceTagger; its labels are letters
    feature_set  "strokes" or "pixels"
    folds        of the words that it was trained on
    chained      whether it reads whole words, or each letter on its own
    """

    tagger: SequenceTagger
    feature_set: str
    folds: tuple[int, ...]
    chained: bool = True

    @property
    def run(self) -> Run:
        """How training ended."""
        return Run.of_tagger(self.tagger)

    def read(self, words: WordImages) -> list[str]:
        """What the words say."""
        given = words if self.chained else words.cut()
        letters = "".join("".join(map(str, word)) for word in self.tagger.predict(pack_words(given, self.feature_set)))
        bounds = words.offsets.tolist()
        return [letters[a:b] for a, b in itertools.pairwise(bounds)]

    def evaluate(self, words: WordImages) -> LetterScores:
        return letter_scores(words.texts(), self.read(words))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        meta, arrays = encode_tagger(self.tagger)
        description = {
            "feature_set": self.feature_set,
            "folds": list(self.folds),
            "chained": self.chained,
            "tagger": meta,
        }
        save_folder(path, KIND, description, arrays)


def train(
    words: WordImages, how: Training = DEFAULT, *, feature_set: str = "strokes", chained: bool = True
) -> OCRModel:
    """Learn to read from words with known letters.

    feature_set  "strokes", or "pixels" for the plain pixels
    chained      False learns letters one by one, without their neighbours
    lam          of `how`: None is what suits the features (FEATURE_SETS), divided by the number of words, or of letters
    callbacks    of `how`: as in `SequenceTagger.fit`
    """
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"feature_set={feature_set!r}; it must be one of {', '.join(FEATURE_SETS)}.")
    given = words if chained else words.cut()
    labels = [list(word) for word in given.texts()]
    if not labels:
        raise ValueError(f"{words.name} has no words to train on.")
    tagger = SequenceTagger.of(how.tagger(FEATURE_SETS[feature_set].lam / len(given)))
    tagger.fit(pack_words(given, feature_set), labels, callbacks=how.callbacks)
    return OCRModel(tagger, feature_set, tuple(np.unique(words.folds).tolist()), chained)


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> OCRModel:
    """The model that `OCRModel.save` wrote."""
    try:
        feature_set, folds = str(meta["feature_set"]), tuple(int(fold) for fold in meta["folds"])
        chained, tagger_meta = bool(meta["chained"]), dict(meta["tagger"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"it has the feature set {feature_set!r}, which this casimir does not know; upgrade casimir.")
    tagger = decode_tagger(tagger_meta, arrays)
    needed = FEATURE_SETS[feature_set].matrix(np.zeros((1, HEIGHT, WIDTH), dtype=np.bool_)).shape[1]
    if tagger.predictor_.n_features != needed:
        raise ValueError(
            f"the model file is damaged: it has weights for {tagger.predictor_.n_features} features; "
            f"{feature_set!r} has {needed}."
        )
    return OCRModel(tagger, feature_set, folds, chained)
