"""Named entities: CoNLL-2003 with the paper's features (Sec. 7.1), and the embedded news corpus."""

from __future__ import annotations

from collections.abc import Sequence
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
from casimir.metrics.entities import entity_scores
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.scores import FloatArray
from casimir.structures.chain import Chain
from casimir.tasks.tag.columns import read_conll
from casimir.tasks.tag.corpus import Sentence
from casimir.tasks.tag.features import TokenFeatures, extract
from casimir.tasks.tag.model import PAPER_N_FEATURES

TRAIN, DEV = "conll2003/eng.train", "conll2003/eng.testa"
TokenLists = list[list[TokenFeatures]]


@dataclass(frozen=True, eq=False)
class EntityF1:
    """F1 of entities in a held-out file, as the official script counts it."""

    packed: PackedSequences
    labels: list[list[str]]
    classes: tuple[str, ...]

    def __call__(self, w: FloatArray) -> float:
        predictor = ChainPredictor(w, self.classes, self.packed.n_features, None, threads=1)
        return entity_scores(self.labels, cast(list[list[str]], predictor.predict(self.packed))).f1


@dataclass(frozen=True, eq=False)
class Corpora:
    """Training and held-out sentences with their labels; `classes` are those of the training file."""

    sentences: Sequence[Sentence]
    held_out: Sequence[Sentence]
    labels: list[list[str]]
    held_out_labels: list[list[str]]
    classes: tuple[str, ...]


def read_corpora(train: Path, dev: Path, most: int | None = None) -> Corpora:
    """The first `most` sentences of both files."""
    read = [read_conll(path) for path in (train, dev)]
    sentences, held_out = (corpus.sentences[:most] for corpus in read)
    labels, held_out_labels = ([list(y) for y in corpus.labels[:most]] for corpus in read)
    return Corpora(sentences, held_out, labels, held_out_labels, tuple(sorted({tag for one in labels for tag in one})))


def data_of(corpora: Corpora, features: TokenLists, held_out_features: TokenLists, n_features: int) -> Data:
    """The hinge loss of chains on features hashed into n_features numbers, with entity F1 on the held-out ones."""
    classes, number = corpora.classes, {label: j for j, label in enumerate(corpora.classes)}
    y = [np.array([number[label] for label in one]) for one in corpora.labels]
    model = LinearChainModel(pack(features, n_features), len(classes))
    objective = Objective(model, Chain(len(classes)), Hinge(Hamming()), y, Ridge(1.0), n_threads=1)
    return Data(objective, {"f1": EntityF1(pack(held_out_features, n_features), corpora.held_out_labels, classes)})


def tagging_data(train: Path, dev: Path, n_features: int, most: int | None = None) -> Data:
    """Words, parts of speech and chunk tags around each token, hashed; labels are those of the file."""
    corpora = read_corpora(train, dev, most)
    return data_of(corpora, extract(corpora.sentences, "paper"), extract(corpora.held_out, "paper"), n_features)


def _conll(places: Places) -> Data:
    assert places.data is not None
    return tagging_data(places.data / TRAIN, places.data / DEV, PAPER_N_FEATURES)


def _news(places: Places, most: int) -> Data:
    return tagging_data(load_news().train, load_news().heldout, 2**12 - 1, most)


NEWS = Source("news", partial(_news, most=120))
CONLL = Source("conll", _conll, (TRAIN, DEV), NEWS)
