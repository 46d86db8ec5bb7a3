"""Training that goes on: weights of a model in the features and labels of new data, and new names in old numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from casimir.estimators.labels import Label
from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences, pack, pack_more
from casimir.models.weight_rows import CHAIN_ENDS, chain_rows
from casimir.scores import FloatArray, IntArray
from casimir.vocabulary import Columns, Vocabulary

_NO_STEPS = {
    "l1_ratio": (0.0, "absolute values would have to be weighed against weights that were learnt before"),
    "checkpoint": (None, "a batch is one step, which starts at the weights so far"),
    "min_frequency": (0, "one batch does not tell how often a feature occurs"),
}
_NO_WORDS = {
    "class_weight": ("balanced", "one batch does not tell how often labels occur; give a dict"),
    "constraints": ("auto", "one batch does not tell which scheme the labels are in; name it, such as 'IOB2'"),
}


def check_steps(tagger: Any) -> None:
    """Whether partial_fit can do what the parameters ask for."""
    for name, (default, why) in _NO_STEPS.items():
        if getattr(tagger, name) != default:
            raise ValueError(f"partial_fit has no {name}={getattr(tagger, name)!r}: {why}. Leave it out, or use fit.")
    for name, (word, why) in _NO_WORDS.items():
        if isinstance(getattr(tagger, name), str) and getattr(tagger, name) == word:
            raise ValueError(f"partial_fit has no {name}={word!r}: {why}.")


def packed_after(before: ChainPredictor | None, X: Any, n_features: int | None) -> PackedSequences:
    """X in the features of the model; names that it has not seen get the next numbers of its vocabulary."""
    if before is None:
        return X if isinstance(X, PackedSequences) else pack(X, n_features)
    if isinstance(before.vocabulary, Vocabulary) and not isinstance(X, PackedSequences):
        return pack_more(X, before.vocabulary)
    return before.pack(X)


def classes_after(
    before: ChainPredictor | None, seen: Sequence[Label], given: Iterable[Label] | None
) -> tuple[Label, ...]:
    """The labels of the model, those that are announced and those of new data: sorted, or in this order."""
    every: Any = dict.fromkeys([*(() if before is None else before.classes), *(given or ()), *seen])
    try:
        return tuple(sorted(every))
    except TypeError:
        return tuple(every)


def carried(before: ChainPredictor, X: PackedSequences, classes: Sequence[Label]) -> FloatArray:
    """The weights of a model for the features of X and the given labels; 0 where it has none."""
    if before.pairs != (None if X.edges is None else X.edges.vocabulary):
        raise ValueError(
            "training that goes on needs the same features of pairs of labels; pack them in the vocabulary of before: "
            "pack(pairs, None, vocabulary=...)."
        )
    old, n_old = before.rows, len(before.classes)
    layout = chain_rows(X.n_features, len(classes), before.n_edge_features)
    place = {label: j for j, label in enumerate(before.classes)}
    columns = np.array([place.get(label, -1) for label in classes], dtype=np.int64)
    pairs = np.where(columns < 0, -1, before.n_features + columns)
    ends = before.n_features + n_old + np.arange(CHAIN_ENDS)
    first = ends[-1] + 1 + n_old * np.arange(before.n_edge_features)
    of_pairs = np.where(columns < 0, -1, first[:, None] + columns).ravel()
    rows = np.concatenate([_numbers(before, X), pairs, ends, of_pairs])
    found = np.where((rows >= 0)[:, None] & (columns >= 0), old[rows][:, columns], 0.0)
    return layout.weights(found)


def _numbers(before: ChainPredictor, X: PackedSequences) -> IntArray:
    """int64[n_features]: the number in the model of every feature of X, -1 where it has none."""
    mine, theirs = X.vocabulary, before.vocabulary
    if isinstance(mine, Vocabulary) and isinstance(theirs, Vocabulary):
        found = (theirs.find(name) for name in mine)
        numbers = np.array([-1 if number is None else number for number in found], dtype=np.int64)
        return numbers if len(mine) else np.full(1, -1, dtype=np.int64)
    if type(mine) is not type(theirs) or X.n_features != before.n_features:
        raise ValueError(
            f"X has {_described(X.n_features, mine)}, and the model was trained with "
            f"{_described(before.n_features, theirs)}. Training that goes on needs the same."
        )
    return np.arange(X.n_features)


def _described(n_features: int, vocabulary: Vocabulary | Columns | None) -> str:
    if vocabulary is None:
        return f"{n_features} hash buckets"
    return f"{n_features} columns" if isinstance(vocabulary, Columns) else "an exact vocabulary"
