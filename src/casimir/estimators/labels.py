"""Label sequences <-> numbers, with messages that name the sentence."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from casimir.scores import IntArray

Label = Hashable


def label_sequences(y: Any, lengths: IntArray) -> list[list[Label]]:
    """y as plain lists, one label per token; sentence i has lengths[i] tokens."""
    if isinstance(y, str | bytes | dict) or not isinstance(y, Iterable):
        raise TypeError(f"y is a {type(y).__name__}; it must be a list with one sequence of labels per sentence.")
    sequences = [_plain_labels(labels, i) for i, labels in enumerate(y)]
    if len(sequences) != len(lengths):
        raise ValueError(f"y has labels for {len(sequences)} sentences, X has {len(lengths)}; they must be equal.")
    for i, (labels, length) in enumerate(zip(sequences, lengths.tolist(), strict=True)):
        if len(labels) != length:
            raise ValueError(_mismatch(i, len(labels), length))
    return sequences


def classes_of(sequences: Iterable[Sequence[Label]]) -> tuple[Label, ...]:
    """The distinct labels: sorted, or in order of appearance where they cannot be compared."""
    seen: dict[Any, None] = {}
    for i, labels in enumerate(sequences):
        _add(seen, labels, i)
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(seen)


def numbers_of(sequences: Iterable[Sequence[Label]], classes: Sequence[Label]) -> list[IntArray]:
    """One int64[p_i] per sentence: the place of every label in `classes`."""
    number = {label: j for j, label in enumerate(classes)}
    return [np.array([number[label] for label in labels], dtype=np.int64) for labels in sequences]


def labels_of(numbers: IntArray, classes: Sequence[Label], offsets: IntArray) -> Iterator[list[Label]]:
    """The labels of every sentence; sentence i owns numbers[offsets[i]:offsets[i + 1]]."""
    table = as_object_array(classes)
    flat = table[numbers].tolist()
    bounds = offsets.tolist()
    return (flat[a:b] for a, b in itertools.pairwise(bounds))


def as_object_array(classes: Sequence[Label]) -> np.ndarray:
    """object[L], also of labels that are tuples."""
    table = np.empty(len(classes), dtype=object)
    table[:] = classes
    return table


def _plain_labels(labels: Any, i: int) -> list[Label]:
    if isinstance(labels, str | bytes | dict) or not isinstance(labels, Iterable):
        raise TypeError(f"y[{i}] is {labels!r}; it must be a list with one label per token of sentence {i}.")
    if isinstance(labels, np.ndarray):
        plain: list[Label] = labels.tolist()
        return plain
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _add(seen: dict[Any, None], labels: Sequence[Label], i: int) -> None:
    try:
        seen.update(dict.fromkeys(labels))
    except TypeError:
        position, label = next((t, x) for t, x in enumerate(labels) if not _is_hashable(x))
        raise TypeError(
            f"y[{i}][{position}] is {label!r}, a {type(label).__name__}; a label is a string or a number."
        ) from None
    for position, label in enumerate(labels):
        if label != label or label is None:
            raise ValueError(f"y[{i}][{position}] is {label!r}; every token needs a label. Leave such sentences out.")


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _mismatch(i: int, n_labels: int, n_tokens: int) -> str:
    where = f"token {n_labels} has no label" if n_labels < n_tokens else f"label {n_tokens} has no token"
    return (
        f"Sentence {i} has {n_tokens} tokens and {n_labels} labels: {where} (all counted from 0). "
        "Every token needs one label."
    )
