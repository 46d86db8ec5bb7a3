"""CoNLL-2003 as the code released with the paper reads it: few weights, and one token for all rare words.

All cells, a feature or a tag with a tag, share 65,535 weights (see `released_features`). A sentence is a tree whose
nodes have one child each: trees train natively with weights that are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from casimir.costs import Hamming
from casimir.datasets import load_news
from casimir.experiments.base import Data, Places, Source
from casimir.experiments.sources.released_features import Numbering, tag_numbers
from casimir.experiments.sources.tagging import DEV, TRAIN, Corpora, read_corpora
from casimir.losses import Hinge
from casimir.metrics.entities import entity_scores
from casimir.models import LinearTreeModel, SharedWeights
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.problems import decode_trees
from casimir.scores import FloatArray, IntArray
from casimir.structures.tree import Tree
from casimir.tasks.tag.corpus import Sentence

N_WEIGHTS = 2**16 - 1


@dataclass(frozen=True, eq=False)
class SharedF1:
    """F1 of entities in a held-out file."""

    shared: SharedWeights
    structure: Tree
    labels: list[list[str]]
    classes: tuple[str, ...]

    def __call__(self, w: FloatArray) -> float:
        assert isinstance(self.shared.model, LinearTreeModel)
        found = decode_trees(self.shared.model, self.structure, self.shared.expand(w))
        return entity_scores(self.labels, [[self.classes[j] for j in one] for one in found]).f1


def authors_data(train: Path, dev: Path, n_weights: int, most: int | None = None) -> Data:
    corpora = read_corpora(train, dev, most)
    numbering, classes = Numbering.of(corpora.sentences), corpora.classes
    by_occurrence = tag_numbers(corpora.labels)
    cells = numbering.cells(np.array([by_occurrence[label] for label in classes]), n_weights)

    def model(sentences: Sequence[Sentence]) -> tuple[SharedWeights, Tree]:
        wide = LinearTreeModel(numbering.pack(sentences), len(classes))
        parents = [np.arange(-1, len(sentence.words) - 1) for sentence in sentences]
        return SharedWeights(wide, cells, n_weights), Tree(parents, len(classes))

    objective = Objective(*model(corpora.sentences), Hinge(Hamming()), _labels(corpora), Ridge(1.0), n_threads=1)
    return Data(objective, {"f1": SharedF1(*model(corpora.held_out), corpora.held_out_labels, classes)})


def _labels(corpora: Corpora) -> list[IntArray]:
    number = {label: j for j, label in enumerate(corpora.classes)}
    return [np.array([number[label] for label in one]) for one in corpora.labels]


def _conll(places: Places) -> Data:
    assert places.data is not None
    return authors_data(places.data / TRAIN, places.data / DEV, N_WEIGHTS)


def _news(places: Places, most: int) -> Data:
    return authors_data(load_news().train, load_news().heldout, 2**13 - 1, most)


SMALL = Source("news-authors", partial(_news, most=60))
CONLL_AUTHORS = Source("conll-authors", _conll, (TRAIN, DEV), SMALL)
