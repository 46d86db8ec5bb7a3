"""Finding the object of one class in a picture: a score per candidate box, the best candidate."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from casimir.costs import IoU
from casimir.objective import Objective
from casimir.persistence import save_folder
from casimir.scores import FloatArray, IntArray
from casimir.structures import Candidates
from casimir.tasks.arrays import checked_array
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.descriptors import Descriptor
from casimir.tasks.localize.features import FeatureMap, default_kind, storage
from casimir.tasks.localize.metrics import LocalizeScores, baselines, best_candidates, localize_scores
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.localize.recipe import Recipe
from casimir.tasks.localize.scores import EluScore, LinearScore, make_score
from casimir.tasks.localize.solvers import solver_for
from casimir.tasks.localize.store import Progress, collect
from casimir.tasks.training import DEFAULT, Run, Training, fit

KIND = "localize"


@dataclass(frozen=True, eq=False)
class Found:
    """boxes       int64[n, 4]: top, left, bottom, right of the best candidates, in pixels, both ends inclusive
    confidence  float64[n]: their scores
    """

    boxes: IntArray
    confidence: FloatArray


@dataclass(frozen=True, eq=False)
class LocalizeModel:
    """The box of a picture is its candidate with the largest score.

    target    the class that the model finds
    recipe    how features are made
    score     how features and weights give scores
    w         float64[score.n_params]
    pictures  names of the pictures it was trained on
    run       how training ended
    """

    target: str
    recipe: Recipe
    score: LinearScore | EluScore
    w: FloatArray
    pictures: Sequence[str]
    run: Run

    def collect(
        self,
        pictures: Sequence[Picture],
        *,
        weights: str | Path | None = None,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> CandidateSet:
        """The candidates of new pictures, described as those of training were.

        weights  where the file with the descriptor's weights is now; None is where it was
        cache    folder that keeps descriptors, for other calls
        """
        descriptor = self.recipe.make_descriptor(weights)
        return collect(pictures, descriptor, top=self.recipe.top, cache=cache, progress=progress)

    def values(self, candidates: CandidateSet, i: int) -> FloatArray:
        """float64[m_i]: the scores of the candidates of picture i."""
        return self.score.values(self.w, self.recipe.features.of(candidates, i))

    def find(self, candidates: CandidateSet) -> Found:
        """The best candidate of every picture; the first of equal ones."""
        return find_best([self], candidates)[0]

    def find_all(self, candidates: CandidateSet) -> dict[str, Found]:
        """By class; here there is one."""
        return {self.target: self.find(candidates)}

    @property
    def targets(self) -> tuple[str, ...]:
        """The class that is found, as a tuple."""
        return (self.target,)

    def evaluate(self, candidates: CandidateSet) -> dict[str, LocalizeScores]:
        """Scores of the model and of its baselines on pictures whose boxes are known."""
        found, truth = self.find(candidates), known_boxes(candidates)
        ours = localize_scores(truth, found.boxes, found.confidence)
        return {"casimir": ours, **baselines(candidates.boxes, truth)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        save_folder(path, KIND, self.to_dict(), {"w": self.w})

    def to_dict(self) -> dict[str, Any]:
        """All but the weights."""
        return {
            "target": self.target,
            "recipe": self.recipe.to_dict(),
            "score": self.score.name,
            "hidden": self.score.hidden if isinstance(self.score, EluScore) else None,
            "pictures": list(self.pictures),
            "run": self.run.to_dict(),
        }


def train(
    candidates: CandidateSet,
    descriptor: Descriptor,
    how: Training = DEFAULT,
    *,
    score: str = "linear",
    hidden: int = 16,
    features: str | None = None,
    top: int = 1000,
    target: str = "object",
) -> LocalizeModel:
    """Learn to score candidates, with the cost 1 - IoU; the truth is the candidate that overlaps most with the box.

    descriptor  what described the candidates
    score       "linear", certified; "elu", the paper's <elu(Phi * w1), w2>, which is not convex
    hidden      channels of w1, for "elu"
    features    how descriptors and boxes become features: "full", "geometry", "paper" or "raw", see `FeatureMap`. None
                is "full", and "geometry" for the score "elu"
    top         as given to `collect`; predicting uses the same
    lam, epochs of `how`: None is 1/n, and 500 for the linear score, 15 for the other
    """
    truth = known_boxes(candidates)
    if not len(truth):
        raise ValueError("Training needs at least one picture.")
    phi = FeatureMap(descriptor.cells, descriptor.channels, default_kind(score) if features is None else features)
    form = make_score(score, phi.cells, phi.n_channels, hidden)
    lam = how.lam_or(1.0 / len(truth))
    objective = training_objective(candidates, phi, form, lam)
    how = replace(how, solver=solver_for(how.solver, form.name), epochs=how.epochs_or(form.epochs))
    result = fit(objective, how, w0=form.start(how.seed))
    recipe, run = Recipe.of(descriptor, phi, top), Run.of(result, lam, objective.is_convex)
    return LocalizeModel(target, recipe, form, result.w, list(candidates.names), run)


def training_objective(
    candidates: CandidateSet,
    features: FeatureMap,
    score: LinearScore | EluScore,
    lam: float,
    n_threads: int | None = None,
) -> Objective:
    """The mean hinge loss with the cost 1 - IoU, and (lam/2) |w|^2; true is the candidate nearest to the box."""
    rows, offsets = features.stacked(candidates, storage(features.kind, score.name))
    y = [np.array([j]) for j in best_candidates(candidates.boxes, known_boxes(candidates))]
    cost = IoU([boxes.astype(np.float64) for boxes in candidates.boxes])
    return Objective(score.model(rows, offsets), Candidates(), cost, y, lam, n_threads=n_threads)


def find_best(models: Sequence[LocalizeModel], candidates: CandidateSet) -> list[Found]:
    """What each of several models with the same features finds; the features of a picture are made once."""
    found = [Found(np.zeros((len(candidates), 4), dtype=np.int64), np.zeros(len(candidates))) for _ in models]
    for i, offered in enumerate(candidates.boxes):
        rows = models[0].recipe.features.of(candidates, i)
        for model, own in zip(models, found, strict=True):
            values = model.score.values(model.w, rows)
            best = int(np.argmax(values))
            own.boxes[i], own.confidence[i] = offered[best], values[best]
    return found


def known_boxes(candidates: CandidateSet) -> IntArray:
    """int64[n, 4]: the true boxes, which training and evaluation need."""
    if candidates.truth is None:
        raise ValueError("Some pictures have no box; training and evaluation need the box of every picture.")
    return candidates.truth


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LocalizeModel:
    """The model that `LocalizeModel.save` wrote."""
    try:
        recipe, run = Recipe.from_dict(meta["recipe"]), Run.from_dict(meta["run"])
        target, names, hidden = str(meta["target"]), [str(name) for name in meta["pictures"]], meta["hidden"]
        form = recipe.features.cells, recipe.features.n_channels
        score = make_score(str(meta["score"]), *form, 1 if hidden is None else int(hidden))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the model file is damaged: it has no proper {error}.") from None
    return LocalizeModel(target, recipe, score, checked_array(arrays, "w", (score.n_params,)), names, run)
