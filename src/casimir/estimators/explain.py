"""Why a sentence got its labels: every feature's share of the score, beside its share in the runner-up.

    score(x, y) = sum_t sum_f x_tf w[f, y_t]  +  sum_t transitions[y_{t-1}, y_t]  +  start[y_1] + stop[y_p]

Each term is a row of the explanation, for the labels y and for the labels y' that they are held against; the rows add
up to both scores, and their differences to the margin score(x, y) - score(x, y').
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from casimir.estimators.confidence import Confidence, scored
from casimir.estimators.labels import Label, LabelSequences
from casimir.estimators.names import Feature, FeatureNames, features_of
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.tables import Table
from casimir.estimators.words import words_of
from casimir.features import PackedSequences
from casimir.scores import FloatArray

_SHOWN = 5  # rows of a token that are shown


class Contribution(NamedTuple):
    """One term of the score.

    token         its place, from 0
    feature       a name, or "label before", "first label", "last label" for the weights of transitions
    contribution  to the score of the labels
    other         to the score of the labels that they are held against
    """

    token: int
    feature: str
    contribution: float
    other: float

    @property
    def difference(self) -> float:
        return self.contribution - self.other


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """words, labels, other   of the sentence: its words, its labels, and those of the runner-up (None: there is none)
    score, other_score        contributions add up to them
    probability, other_probability
    contributions             a row per term of the score
    label_scores              float64[p, L]: what every label would get from the features of every token
    classes                   the labels in the order of the columns of label_scores
    """

    words: list[str]
    labels: list[Label]
    other: list[Label] | None
    score: float
    other_score: float
    probability: float
    other_probability: float
    contributions: list[Contribution]
    label_scores: FloatArray
    classes: list[Label]

    @property
    def margin(self) -> float:
        """By how much the labels beat the others."""
        return self.score - self.other_score

    @property
    def differing(self) -> list[int]:
        """The tokens on which both label sequences differ; all of them where there is no other sequence."""
        if self.other is None:
            return list(range(len(self.labels)))
        return [t for t, (a, b) in enumerate(zip(self.labels, self.other, strict=True)) if a != b]

    def table(self, n: int | None = None) -> Table:
        """All contributions, or the n of every token that make most of the difference."""
        rows = []
        for t in range(len(self.labels)):
            own = [row for row in self.contributions if row.token == t]
            own.sort(key=lambda row: (-abs(row.difference), -abs(row.contribution), row.feature))
            rows += [self._row(row) for row in (own if n is None else own[:n])]
        return Table(("token", "word", "feature", "label", "contribution", "other label", "other", "difference"), rows)

    def by_token(self) -> Table:
        """What each token adds to both scores."""
        sums = np.zeros((len(self.labels), 2))
        for row in self.contributions:
            sums[row.token] += row.contribution, row.other
        others = self.other or [""] * len(self.labels)
        cells = zip(self.words, self.labels, sums[:, 0].tolist(), others, sums[:, 1].tolist(), strict=True)
        rows = [(t, *row, row[2] - row[4]) for t, row in enumerate(cells)]
        return Table(("token", "word", "label", "score", "other label", "other", "difference"), rows)

    def __str__(self) -> str:
        return f"{self._headline()}\n\n{self._shown()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self._headline().split("\n"))
        return f"<div><p>{lines}</p>{self._shown()._repr_html_()}</div>"

    def _row(self, row: Contribution) -> tuple[Any, ...]:
        label, other = self.labels[row.token], "" if self.other is None else self.other[row.token]
        return row.token, self.words[row.token], row.feature, label, row.contribution, other, row.other, row.difference

    def _shown(self) -> Table:
        """Where the two differ, the features that decide."""
        table = self.table(_SHOWN)
        return Table(table.columns, [row for row in table if self.other is None or row[-1] != 0.0])

    def _headline(self) -> str:
        lines = [f"{_tagged(self.words, self.labels)}   score {self.score:.3f}, probability {self.probability:.3f}"]
        if self.other is not None:
            told = f"score {self.other_score:.3f}, probability {self.other_probability:.3f}"
            lines.append(f"{_tagged(self.words, self.other)}   {told}")
        return "\n".join(lines)


def explained(
    tagger: Confidence,
    x: Any,
    labels: Sequence[Label] | None,
    against: Sequence[Label] | None,
    names: FeatureNames | None,
) -> Explanation:
    """The labels (None: the best ones) of sentence x against others (None: the best ones that differ)."""
    predictor = tagger._fitted()
    packed = predictor.pack(x if isinstance(x, PackedSequences) else [x])
    if len(packed) != 1:
        raise ValueError(f"explain takes one sentence; got {len(packed)}. Give one of them, such as X[0].")
    top = [one for one, _ in tagger.predict_topk(packed, 2)[0]]
    chosen = top[0] if labels is None else list(labels)
    other = next((one for one in top if one != chosen), None) if against is None else list(against)
    both = [_numbers(predictor, packed, one) for one in (chosen, other) if one is not None]
    rows = _contributions(predictor, features_of(predictor, x, names), both)
    if packed.edges is not None:
        rows += _of_pairs(predictor, packed.edges, both)
    (s,) = scored(predictor, packed)
    chances = [float(np.exp(tagger.sequence_log_proba(packed, [one])[0])) for one in (chosen, other) if one is not None]
    return Explanation(
        words=words_of(x),
        labels=chosen,
        other=other,
        score=math.fsum(row.contribution for row in rows),
        other_score=math.fsum(row.other for row in rows),
        probability=chances[0],
        other_probability=0.0 if other is None else chances[1],
        contributions=rows,
        label_scores=s.nodes,
        classes=list(predictor.classes),
    )


def _numbers(predictor: ChainPredictor, packed: PackedSequences, labels: Sequence[Label]) -> list[int]:
    places: list[int] = LabelSequences.of([labels], packed.offsets).places(predictor.classes).flat.tolist()
    if -1 in places:
        raise ValueError(
            f"the label {labels[places.index(-1)]!r} was not seen in fit; it is none of {predictor.classes}."
        )
    return places


def _contributions(
    predictor: ChainPredictor, features: list[list[Feature]], outputs: list[list[int]]
) -> list[Contribution]:
    """A row per feature of every token, and per transition; the second output may be missing."""
    unary, transitions, (start, stop) = predictor.unary, predictor.transitions, predictor.ends

    def row(t: int, name: str, values: Iterable[Any]) -> Contribution:
        contribution, other = [*map(float, values), 0.0][:2]
        return Contribution(t, name, contribution, other)

    rows = [
        row(t, name, (value * unary[place, y[t]] for y in outputs))
        for t, own in enumerate(features)
        for name, value, place in own
    ]
    rows.append(row(0, "first label", (start[y[0]] for y in outputs)))
    for t in range(1, len(features)):
        rows.append(row(t, "label before", (transitions[y[t - 1], y[t]] for y in outputs)))
    rows.append(row(len(features) - 1, "last label", (stop[y[-1]] for y in outputs)))
    return rows


def _of_pairs(predictor: ChainPredictor, edges: PackedSequences, outputs: list[list[int]]) -> list[Contribution]:
    """A row per feature of every pair of neighbouring labels, at the second of them."""
    assert predictor.pairs is not None
    rows, weights = [], predictor.edge_weights
    for t in range(1, edges.n_tokens):
        for f in range(edges.indptr[t], edges.indptr[t + 1]):
            value, place = 1.0 if edges.values is None else float(edges.values[f]), int(edges.indices[f])
            both = [value * float(weights[place, y[t - 1], y[t]]) for y in outputs]
            rows.append(Contribution(t, predictor.pairs[place], *[*both, 0.0][:2]))
    return rows


def _tagged(words: list[str], labels: Sequence[Label]) -> str:
    return " ".join(f"{word}/{label}" for word, label in zip(words, labels, strict=True))
