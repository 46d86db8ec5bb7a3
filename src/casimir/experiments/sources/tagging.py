"""Named entities: CoNLL-2003 with the paper's features (Sec. 7.1), and the embedded news corpus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from casimir.costs import Hamming
from casimir.datasets import load_news
from casimir.estimators.predictor import ChainPredictor
from casimir.experiments.base import Data, Places, Source
from casimir.features import PackedSequences, pack
from casimir.losses import Hinge
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.scores import FloatArray
from casimir.structures.chain import Chain
from casimir.tasks.tag.columns import read_conll
from casimir.tasks.tag.features import extract
from casimir.tasks.tag.metrics import entity_scores
from casimir.tasks.tag.model import PAPER_N_FEATURES

TRAIN, DEV = "conll2003/eng.train", "conll2003/eng.testa"


@dataclass(frozen=True, eq=False)
class EntityF1:
    """F1 of entities in a held-out file, as the official script counts it."""

    packed: PackedSequences
    labels: list[list[str]]
    classes: tuple[str, ...]

    def __call__(self, w: FloatArray) -> float:
        predictor = ChainPredictor(w, self.classes, self.packed.n_features, None, threads=1)
        return entity_scores(self.labels, cast(list[list[str]], predictor.predict(self.packed))).f1


def tagging_data(train: Path, dev: Path, n_features: int, most: int | None = None) -> Data:
    """Words, parts of speech and chunk tags around each token, hashed; labels are those of the file."""
    read = [read_conll(path) for path in (train, dev)]
    sentences, held_out = (corpus.sentences[:most] for corpus in read)
    labels, held_out_labels = ([list(y) for y in corpus.labels[:most]] for corpus in read)
    classes = tuple(sorted({label for one in labels for label in one}))
    number = {label: j for j, label in enumerate(classes)}
    y = [np.array([number[label] for label in one]) for one in labels]
    model = LinearChainModel(pack(extract(sentences, "paper"), n_features), len(classes))
    objective = Objective(model, Chain(len(classes)), Hinge(Hamming()), y, Ridge(1.0), n_threads=1)
    f1 = EntityF1(pack(extract(held_out, "paper"), n_features), held_out_labels, classes)
    return Data(objective, {"f1": f1})


def _conll(places: Places) -> Data:
    assert places.data is not None
    return tagging_data(places.data / TRAIN, places.data / DEV, PAPER_N_FEATURES)


def _news(places: Places, most: int) -> Data:
    return tagging_data(load_news().train, load_news().heldout, 2**12 - 1, most)


NEWS = Source("news", partial(_news, most=120))
CONLL = Source("conll", _conll, (TRAIN, DEV), NEWS)
