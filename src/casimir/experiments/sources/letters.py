"""Handwritten words: Taskar's letters by their pixels, trained on the first of ten folds, and made-up handwriting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from casimir.costs import Hamming
from casimir.datasets.handwriting import make_words
from casimir.experiments.base import Data, Places, Source
from casimir.losses import Hinge
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.scores import FloatArray
from casimir.structures.chain import Chain
from casimir.tasks.ocr.features import pack_words
from casimir.tasks.ocr.reader import read_letters
from casimir.tasks.ocr.words import LETTERS, WordImages, words_of

FILE = "ocr/letters.npz"


@dataclass(frozen=True, eq=False)
class LetterAccuracy:
    """The share of letters in held-out words that are read right."""

    words: WordImages
    model: LinearChainModel

    def __call__(self, w: FloatArray) -> float:
        outputs = Chain(len(LETTERS)).max(self.model.scores(w)).outputs
        return float(np.mean(np.concatenate(outputs) == self.words.letters))


def letter_data(words: WordImages, train_folds: Iterable[int]) -> Data:
    """The hinge loss of chains over the pixels of the training folds' words."""
    is_train = words.in_folds(train_folds)
    train, held_out = (words.select(part) for part in (is_train, ~is_train))
    assert train.letters is not None
    y = [train.letters[a:b] for a, b in pairwise(train.offsets.tolist())]
    model, other = (LinearChainModel(pack_words(part, "pixels"), len(LETTERS)) for part in (train, held_out))
    objective = Objective(model, Chain(len(LETTERS)), Hinge(Hamming()), y, Ridge(1.0), n_threads=1)
    return Data(objective, {"accuracy": LetterAccuracy(held_out, other)})


def _letters(places: Places) -> Data:
    assert places.data is not None
    return letter_data(read_letters(places.data / FILE), (0,))


def _handwriting(places: Places, n: int) -> Data:
    return letter_data(words_of(make_words(n)), (0, 1))


HANDWRITING = Source("handwriting", partial(_handwriting, n=60))
TASKAR = Source("letters", _letters, (FILE,), HANDWRITING)
