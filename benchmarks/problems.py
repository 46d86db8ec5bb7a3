"""Problems on which solvers are compared: named entities, letters, random classes, boxes in pictures."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import casimir as cs
from benchmarks.localize import Data
from casimir.datasets import load_news
from casimir.tasks.localize import AlexNet, collect, read_voc
from casimir.tasks.localize.features import FeatureMap
from casimir.tasks.localize.metrics import best_candidates
from casimir.tasks.ner import extract, read_conll
from casimir.tasks.ocr import read_letters
from casimir.tasks.ocr.features import pack_words

FEATURES = Path("bench-output") / "features"  # those of pictures are kept here, as benchmarks.localize does


@dataclass(frozen=True, eq=False)
class Problem:
    """What an objective is made of, but for the loss and lam."""

    model: Any
    structure: Any
    cost: Any
    y: list[Any]

    def objective(self, lam_n: float, loss: str = "hinge") -> cs.Objective:
        """lam = lam_n / n; the loss is "hinge" or "log"."""
        chosen: Any = cs.Hinge(self.cost) if loss == "hinge" else cs.Log()
        return cs.Objective(self.model, self.structure, chosen, self.y, lam_n / len(self.y), n_threads=1)


def conll() -> Problem:
    """CoNLL-2003 with the paper's features, hashed."""
    return _tagging(_data("conll2003/eng.train"), "paper", 2**16 - 1)


def news() -> Problem:
    return _tagging(load_news().train, None, None)


def ocr() -> Problem:
    words = read_letters(_data("ocr/letters.npz"))
    assert words.letters is not None
    y = [words.letters[a:b] for a, b in zip(words.offsets[:-1], words.offsets[1:], strict=True)]
    return Problem(cs.LinearChainModel(pack_words(words, "pixels"), 26), cs.Chain(26), cs.Hamming(), y)


def multiclass(n: int = 2000, classes: int = 10, dim: int = 30, seed: int = 100) -> Problem:
    """Noisy classes of Gaussian inputs, as candidate lists."""
    rng = np.random.default_rng(seed)
    inputs, weights = rng.normal(size=(n, dim)), rng.normal(size=(classes, dim))
    y = (inputs @ weights.T + 3.0 * rng.normal(size=(n, classes))).argmax(axis=1)
    features = [np.kron(np.eye(classes), x[None]) for x in inputs]
    return Problem(cs.LinearCandidateModel(features), cs.Candidates(), cs.Hamming(), [np.array([c]) for c in y])


def wide() -> Problem:
    """More weights than examples."""
    return multiclass(n=1000, classes=8, dim=200, seed=200)


def voc(name: str = "aeroplane") -> Problem:
    """Boxes of selective search in pictures of PASCAL VOC 2012, with the paper's features."""
    descriptor = AlexNet(_data("weights/alexnet_features.npz"))
    found = collect(read_voc(_data("VOCdevkit/VOC2012"), name), descriptor, cache=FEATURES)
    part = Data(name, found, descriptor).first_part()
    assert part.truth is not None
    rows, offsets = FeatureMap(descriptor.cells, descriptor.channels, "paper").stacked(part)
    y = [np.array([j]) for j in best_candidates(part.boxes, part.truth)]
    cost = cs.IoU([boxes.astype(np.float64) for boxes in part.boxes])
    return Problem(cs.LinearCandidateModel.of_rows(rows, offsets), cs.Candidates(), cost, y)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "news": news,
    "multiclass": multiclass,
    "wide": wide,
    "ocr": ocr,
    "voc": voc,
    "cow": partial(voc, "cow"),
    "sheep": partial(voc, "sheep"),
    "horse": partial(voc, "horse"),
    "conll": conll,
}


def _data(path: str) -> Path:
    folder = os.environ.get("CASIMIR_DATA")
    if not folder:
        raise SystemExit(f"CASIMIR_DATA is not set; it must be a folder with {path}. Try --data news,multiclass,wide.")
    return Path(folder) / path


def _tagging(path: Path, features: str | None, n_features: int | None) -> Problem:
    corpus = read_conll(path)
    strings = extract(corpus.sentences) if features is None else extract(corpus.sentences, features)
    classes = sorted({label for labels in corpus.labels for label in labels})
    number = {label: j for j, label in enumerate(classes)}
    y = [np.array([number[label] for label in labels]) for labels in corpus.labels]
    model = cs.LinearChainModel(cs.pack(strings, n_features), len(classes))
    return Problem(model, cs.Chain(len(classes)), cs.Hamming(), y)
