"""A labeller of dependency trees: a structural SVM (or CRF) over the tree, with one score per pair of labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir.costs import Hamming
from casimir.features import HASH_VERSION, PackedSequences, pack
from casimir.losses import loss_named
from casimir.models import LinearTreeModel, WeightRows
from casimir.objective import Objective
from casimir.persistence import save_folder
from casimir.persistence.arrays import decode_rows, encode_rows, shape_of_rows
from casimir.persistence.labels import distinct_strings
from casimir.problems import decode_trees
from casimir.scores import FloatArray
from casimir.structures.tree import Tree
from casimir.tasks.deprel.conllu import DependencyTree, Treebank
from casimir.tasks.deprel.features import FEATURES_VERSION, iter_features
from casimir.tasks.deprel.metrics import LabelScores, label_scores
from casimir.tasks.training import DEFAULT, Run, Training, fit

KIND = "deprel"
N_FEATURES = 2**17
LAM_N = 10.0  # lam = 10 / n labelled the dev part of UD English EWT better than 1 / n or 100 / n


@dataclass(frozen=True, eq=False)
class DeprelModel:
    """score(y) = sum_v <features of v, U[:, y_v]> + sum_v edges[y_v, y_head(v)]

    w          float64[d], as `LinearTreeModel` reads it
    classes    the L labels
    subtypes   whether labels keep what stands behind ":", as in nsubj:pass
    edges      whether edges are scored; without them nodes are labelled one by one
    """

    w: FloatArray
    classes: tuple[str, ...]
    subtypes: bool
    edges: bool
    n_features: int
    run: Run

    def predict(self, treebank: Treebank) -> list[list[str]]:
        """A label for every node."""
        return Packed(treebank, self.n_features, self.edges).predict(self.w, self.classes)

    def evaluate(self, treebank: Treebank) -> LabelScores:
        """Accuracy on a labelled treebank; labels are compared as the model writes them, with subtypes or without."""
        return label_scores(known_labels(treebank, self.subtypes), self.predict(treebank))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        meta = {
            "classes": list(self.classes),
            "subtypes": self.subtypes,
            "edges": self.edges,
            "n_features": self.n_features,
            "hash_version": HASH_VERSION,
            "features_version": FEATURES_VERSION,
            "run": self.run.to_dict(),
        }
        weights = WeightRows(self.n_features, len(self.classes))
        save_folder(path, KIND, meta, encode_rows("weights", weights.padded(self.w)))


class Packed:
    """The features and the trees of a treebank, extracted once."""

    def __init__(self, treebank: Treebank, n_features: int = N_FEATURES, edges: bool = True) -> None:
        self._trees, self._edges = treebank.trees, edges
        self.X: PackedSequences = pack(iter_features(treebank.trees), n_features)

    def model(self, n_labels: int) -> tuple[LinearTreeModel, Tree]:
        parents = [_parents(tree, self._edges) for tree in self._trees]
        return LinearTreeModel(self.X, n_labels), Tree(parents, n_labels)

    def predict(self, w: FloatArray, classes: Sequence[str]) -> list[list[str]]:
        outputs = decode_trees(*self.model(len(classes)), w)
        return [[classes[j] for j in y.tolist()] for y in outputs]


class HeldOut:
    """Accuracy of weights on a labelled treebank, whose features are extracted once."""

    def __init__(
        self, treebank: Treebank, classes: Sequence[str], subtypes: bool, n_features: int, edges: bool
    ) -> None:
        self._treebank, self._classes = treebank, classes
        self._true, self._shape = known_labels(treebank, subtypes), (n_features, edges)

    def accuracy(self, w: FloatArray) -> float:
        return label_scores(self._true, self._packed.predict(w, self._classes)).accuracy

    @cached_property
    def _packed(self) -> Packed:
        return Packed(self._treebank, *self._shape)


def train(
    treebank: Treebank,
    how: Training = DEFAULT,
    *,
    loss: str = "hinge",
    subtypes: bool = False,
    edges: bool = True,
    n_features: int = N_FEATURES,
) -> DeprelModel:
    """Fit a labelled treebank.

    lam        of `how`: None is 10 / n
    loss       "hinge" (Hamming cost) or "crf"
    subtypes   keep what stands behind ":" in labels
    edges      False leaves edge scores out: nodes on their own, the baseline
    """
    labels = known_labels(treebank, subtypes)
    classes = classes_of(labels)
    number = {label: j for j, label in enumerate(classes)}
    y = [np.array([number[label] for label in tree], dtype=np.int64) for tree in labels]
    lam = how.lam_or(LAM_N / len(treebank))
    model, structure = Packed(treebank, n_features, edges).model(len(classes))
    objective = Objective(model, structure, loss_named(loss, Hamming()), y, lam)
    result = fit(objective, how)
    return DeprelModel(result.w, classes, subtypes, edges, n_features, Run.of(result, lam))


def known_labels(treebank: Treebank, subtypes: bool) -> list[list[str]]:
    """The labels of the file; without subtypes only what stands before ":"."""
    return [[label if subtypes else label.partition(":")[0] for label in tree] for tree in treebank.labels()]


def classes_of(labels: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({label for tree in labels for label in tree}))


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> DeprelModel:
    """The model that `DeprelModel.save` wrote."""
    try:
        classes, n_features = tuple(distinct_strings(meta["classes"], "labels")), int(meta["n_features"])
        subtypes, edges, run = bool(meta["subtypes"]), bool(meta["edges"]), Run.from_dict(meta["run"])
        versions = int(meta["hash_version"]), int(meta["features_version"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    if versions != (HASH_VERSION, FEATURES_VERSION):
        raise ValueError(
            "it was trained with another version of the features. Load it with the casimir that wrote it, or train a "
            "new model."
        )
    shape = shape_of_rows("weights", arrays)
    weights = WeightRows(n_features, len(classes))
    if not classes or n_features < 1 or shape != (weights.n_rows, weights.stride):
        raise ValueError(f"the model file is damaged: weights {list(shape)} do not fit {len(classes)} labels.")
    rows = decode_rows("weights", arrays)
    if rows[:, len(classes) :].any():
        raise ValueError("the model file is damaged: it has weights of labels that are not there.")
    return DeprelModel(np.ascontiguousarray(rows).reshape(-1), classes, subtypes, edges, n_features, run)


def _parents(tree: DependencyTree, edges: bool) -> list[int]:
    """Without edges every node is a root."""
    return list(tree.parents) if edges else [-1] * len(tree)
