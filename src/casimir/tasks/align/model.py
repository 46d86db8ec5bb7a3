"""A word aligner: a matching with null, whose cell scores are linear in the features."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casimir.models import LinearPartsModel
from casimir.objective import Objective
from casimir.persistence import save_folder
from casimir.scores import FloatArray, IntArray
from casimir.solvers.base import Solver
from casimir.solvers.run import Callback
from casimir.structures.matching import Matching
from casimir.tasks.align.baselines import links_of
from casimir.tasks.align.bitext import Bitext
from casimir.tasks.align.cost import LinkCost
from casimir.tasks.align.features import CellFeatures, shapes_of
from casimir.tasks.align.lexicon import Lexicon
from casimir.tasks.align.metrics import LinkScores, link_scores
from casimir.tasks.align.rates import LinkRates
from casimir.tasks.arrays import checked_array
from casimir.tasks.training import Run, fit, load_as

KIND = "align"


@dataclass(frozen=True, eq=False)
class AlignModel:
    """features  of the cells, with the lexicons and the link rates that they read
    w         float64[d]: one weight per feature
    run       how training ended
    thresholds  of the baselines that match by lexicon alone; none in models of the first version
    """

    features: CellFeatures
    w: FloatArray
    run: Run
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def align(self, bitext: Bitext) -> list[IntArray]:
        """int64[k_i, 2] per pair: links (source word, target word), counted from 0, at most one per word.

        Words that the training text did not have are aligned by position, spelling and what is around them.
        """
        shapes = shapes_of(bitext)
        scores = LinearPartsModel(self.features.of_all(bitext), shapes=shapes).scores(self.w)
        return links_of(Matching(null=True).max(scores).outputs, shapes)

    def evaluate(self, bitext: Bitext) -> LinkScores:
        """Alignment error rate, precision and recall on pairs with links."""
        return link_scores(bitext.gold, self.align(bitext))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        words, word_arrays = self.features.words.to_parts("words")
        stems, stem_arrays = self.features.stems.to_parts("stems")
        meta = {"words": words, "stems": stems, "features": self.features.names(), "run": self.run.to_dict()}
        meta["thresholds"] = dict(self.thresholds)
        arrays = {"weights": self.w, **word_arrays, **stem_arrays, **self.features.rates.to_arrays()}
        save_folder(path, KIND, meta, arrays)


def train(
    bitext: Bitext,
    *,
    text: Sequence[Bitext] = (),
    wrong: float = 1.0,
    missed: float = 1.0,
    lam: float | None = None,
    solver: str | Solver = "auto",
    tol: float = 1e-2,
    epochs: int = 500,
    seed: int = 0,
    callbacks: Iterable[Callback] = (),
) -> AlignModel:
    """Learn to align from pairs with links.

    text           more pairs, whose links are not read: co-occurrence and translation statistics count them too
    wrong, missed  cost of a link that is not even possible, and of a sure link that is not found
    lam            regularisation; None is 1/n
    """
    lam = 1.0 / len(bitext) if lam is None else lam
    features, shapes = CellFeatures.learned(bitext, text), shapes_of(bitext)
    cost = LinkCost(bitext.gold, shapes, wrong, missed)
    model = LinearPartsModel(features.of_all(bitext, labelled=True), shapes=shapes)
    objective = Objective(model, Matching(null=True), cost, cost.targets(), lam)
    result = fit(objective, solver=solver, tol=tol, epochs=epochs, seed=seed, callbacks=callbacks)
    return AlignModel(features, result.w, Run.of(result, lam))


def load_model(path: str | os.PathLike[str]) -> AlignModel:
    """The word aligner in the folder `path`."""
    return load_as(path, AlignModel, "casimir train align")


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> AlignModel:
    """The model that `AlignModel.save` wrote."""
    try:
        words, stems = (Lexicon.from_parts(name, meta[name], arrays) for name in ("words", "stems"))
        features = CellFeatures(words, stems, LinkRates.from_arrays(arrays, words))
        names = [str(name) for name in meta["features"]]
        w, run = checked_array(arrays, "weights", (len(names),)), Run.from_dict(meta["run"])
        thresholds = {str(name): float(value) for name, value in meta.get("thresholds", {}).items()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    if names != features.names():
        raise ValueError("its features are not those of this casimir. Train it again, or use the version that made it.")
    return AlignModel(features, w, run, thresholds)
