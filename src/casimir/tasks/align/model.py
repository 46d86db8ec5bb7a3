"""A word aligner: matchings with null, whose cell scores are linear in the features."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from casimir._validate import positive_int
from casimir.persistence import save_folder
from casimir.scores import FloatArray, IntArray
from casimir.tasks.align.bitext import Bitext
from casimir.tasks.align.examples import Examples
from casimir.tasks.align.features import CellFeatures, shapes_of
from casimir.tasks.align.fertility import needed_fertility
from casimir.tasks.align.guess import PREFIX, LinkGuess
from casimir.tasks.align.lexicon import Lexicon
from casimir.tasks.align.metrics import LinkScores, link_scores
from casimir.tasks.align.mistakes import mistakes
from casimir.tasks.align.rates import LinkRates
from casimir.tasks.align.tuning import tuned_missed
from casimir.tasks.arrays import checked_array
from casimir.tasks.training import DEFAULT, Run, Training, fit

KIND = "align"
_MOST_LINKS = 100  # of a word


@dataclass(frozen=True, eq=False)
class AlignModel:
    """features   of the cells, with the lexicons and the link rates that they read
    w          float64[d]: one weight per feature
    run        how training ended
    guess      first guesses at every cell, whose features come behind the others; None for models made without them
    fertility  links that a word may have
    missed     what a missed link cost in training; None where that was not kept
    thresholds of the baselines that match by lexicon alone; none in models of the first version
    """

    features: CellFeatures
    w: FloatArray
    run: Run
    guess: LinkGuess | None = None
    fertility: int = 1
    missed: float | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def align(self, bitext: Bitext) -> list[IntArray]:
        """int64[k_i, 2] per pair: links (source word, target word), counted from 0 and sorted, `fertility` at most for
        each word.

        Words that the training text did not have are aligned by position, spelling and what is around them.
        """
        shapes, matrices = shapes_of(bitext), self.features.of_all(bitext)
        if self.guess is not None:
            matrices = _side_by_side(matrices, [self.guess.features(t) for t in _tables(matrices, shapes)])
        return Examples(matrices, shapes, self.fertility).align(self.w)

    def evaluate(self, bitext: Bitext) -> LinkScores:
        """Alignment error rate, precision and recall on pairs with links."""
        found = self.align(bitext)
        return replace(link_scores(bitext.gold, found), mistakes=mistakes(bitext, found))

    def names(self) -> list[str]:
        """What the weights belong to."""
        return self.features.names() + ([] if self.guess is None else self.guess.names())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        words, word_arrays = self.features.words.to_parts("words")
        stems, stem_arrays = self.features.stems.to_parts("stems")
        meta: dict[str, Any] = {"words": words, "stems": stems, "features": self.names(), "run": self.run.to_dict()}
        meta["thresholds"] = dict(self.thresholds)
        arrays = {"weights": self.w, **word_arrays, **stem_arrays, **self.features.rates.to_arrays()}
        if self.guess is not None:
            meta |= {"fertility": self.fertility, "missed": self.missed, "guess": self.guess.kinds()}
            arrays |= self.guess.to_arrays()
        save_folder(path, KIND, meta, arrays)


def train(
    bitext: Bitext,
    how: Training = DEFAULT,
    *,
    text: Sequence[Bitext] = (),
    fertility: int | None = None,
    wrong: float = 1.0,
    missed: float | Literal["auto"] = "auto",
    say: Callable[[str], None] = lambda text: None,
) -> AlignModel:
    """Learn to align from pairs with links.

    text           more pairs, whose links are not read: co-occurrence and translation statistics count them too
    fertility      links that a word may have; None: as many as the words of these pairs need, 4 at most
    wrong, missed  cost of a link that is not even possible, and of a sure link that is not found; "auto": what gave the
                   least error rate in cross-validation on these pairs
    lam            of `how`: None is 1/n
    say            is told what happens before training, which takes most of the time where missed is "auto"
    """
    if missed == "auto" and not wrong > 0.0:
        raise ValueError(f"wrong={wrong}; missed='auto' is a multiple of it. Give missed a number, or a larger wrong.")
    lam = how.lam_or(1.0 / len(bitext))
    fertility = needed_fertility(bitext.gold) if fertility is None else _fertility(fertility)
    say(f"Counting the words of {len(bitext) + sum(map(len, text)):,} pairs")
    features, shapes = CellFeatures.learned(bitext, text), shapes_of(bitext)
    matrices = features.of_all(bitext, labelled=True)
    guess, guessed = LinkGuess.learned(_tables(matrices, shapes), bitext.gold)
    examples = Examples(_side_by_side(matrices, guessed), shapes, fertility)
    cost = tuned_missed(examples, bitext.gold, wrong, lam, how.seed, say) if missed == "auto" else missed
    objective = examples.objective(bitext.gold, wrong, cost, lam)
    result = fit(objective, how)
    run, parts = Run.of(result, lam), examples.parts_per_pair
    run = replace(run, objective=run.objective * parts, dual=run.dual * parts)
    return AlignModel(features, result.w, run, guess, fertility, cost)


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> AlignModel:
    """The model that `AlignModel.save` wrote; one from before there were guesses aligns each word once."""
    try:
        words, stems = (Lexicon.from_parts(name, meta[name], arrays) for name in ("words", "stems"))
        features = CellFeatures(words, stems, LinkRates.from_arrays(arrays, words))
        names = [str(name) for name in meta["features"]]
        w, run = checked_array(arrays, "weights", (len(names),)), Run.from_dict(meta["run"])
        thresholds = {str(name): float(value) for name, value in meta.get("thresholds", {}).items()}
        if not any(name.startswith(PREFIX) for name in names):
            return _with_names(AlignModel(features, w, run, thresholds=thresholds), names)
        guess = LinkGuess.from_arrays(meta["guess"], arrays, len(features.names()))
        fertility, missed = _fertility(meta["fertility"]), float(meta["missed"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    return _with_names(AlignModel(features, w, run, guess, fertility, missed, thresholds), names)


def _fertility(given: Any) -> int:
    """Words are copied as often as they may be linked, so a model cannot ask for any number."""
    fertility = positive_int(given, "fertility")
    if fertility > _MOST_LINKS:
        raise ValueError(f"fertility={fertility}; a word has {_MOST_LINKS} links at most.")
    return fertility


def _with_names(model: AlignModel, names: list[str]) -> AlignModel:
    """The model, if its features have these names."""
    if names != model.names():
        raise ValueError("its features are not those of this casimir. Train it again, or use the version that made it.")
    return model


def _tables(matrices: Sequence[FloatArray], shapes: Sequence[tuple[int, int]]) -> list[FloatArray]:
    """float64[m, n + 1, d] of every pair."""
    return [matrix.reshape(*shape, -1) for matrix, shape in zip(matrices, shapes, strict=True)]


def _side_by_side(left: Sequence[FloatArray], right: Sequence[FloatArray]) -> list[FloatArray]:
    return [np.concatenate(pair, axis=1) for pair in zip(left, right, strict=True)]
