"""Label sequences <-> numbers, with messages that name the sentence."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._frames import is_frame
from casimir._outputs import Outputs
from casimir.scores import IntArray
from casimir.structures.base import split_flat

Label = Hashable


@dataclass(frozen=True, eq=False)
class LabelSequences:
    """Labels as they were given: token t has the label distinct[numbers[t]].

    distinct  the labels in the order of their first appearance; None where a label is not known, a frozenset where it
              is one of several
    numbers   int64[N], of all sentences one after another
    offsets   int64[n + 1]: sentence i owns the tokens offsets[i]:offsets[i + 1]
    """

    distinct: list[Label]
    numbers: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, y: Any, offsets: IntArray, name: str = "y") -> LabelSequences:
        """One pass over y, a list with one label per token; offsets are those of the tokens."""
        is_list = isinstance(y, list | tuple)
        if not is_list and (isinstance(y, str | bytes | dict) or is_frame(y) or not isinstance(y, Iterable)):
            raise TypeError(
                f"{name} is a {type(y).__name__}; it must be a list with one sequence of labels per sentence."
            )
        sequences = [y_i if isinstance(y_i, list | tuple) else _as_list(y_i, i, name) for i, y_i in enumerate(y)]
        _check_lengths(sequences, offsets, name)
        seen: defaultdict[Any, int] = defaultdict()
        seen.default_factory = seen.__len__  # a label that is not there gets the next number
        try:
            tokens = map(seen.__getitem__, itertools.chain.from_iterable(sequences))
            numbers = np.fromiter(tokens, dtype=np.int64, count=int(offsets[-1]))
        except TypeError:
            return cls.of(_with_hashable_sets(sequences, name), offsets, name)
        plain = [label.item() if isinstance(label, np.generic) else label for label in seen]
        return cls(plain, numbers, offsets)

    @property
    def is_partial(self) -> bool:
        """Whether some label is not known, or one of several."""
        return any(label is None or isinstance(label, frozenset) for label in self.distinct)

    def classes(self) -> tuple[Label, ...]:
        """The distinct labels: sorted, or in order of appearance where they cannot be compared."""
        distinct: Any = {}
        for j, given in enumerate(self.distinct):
            for label in sorted(given, key=repr) if isinstance(given, frozenset) else (given,):
                if label != label or (label is None and given is not None):
                    i, position = self.first_place(j)
                    raise ValueError(
                        f"y[{i}][{position}] is {given!r}, which is no label. Write None where a label is not known."
                    )
                distinct[label] = None
        distinct.pop(None, None)
        if not distinct:
            raise ValueError("y has no labels: all of them are None. Some tokens at least need a label.")
        try:
            return tuple(sorted(distinct))
        except TypeError:
            return tuple(distinct)

    def places(self, classes: Sequence[Label]) -> Outputs:
        """An int64[p_i] per sentence: the place of every label in `classes`, -1 where it is not among them."""
        place = {label: j for j, label in enumerate(classes)}
        numbers = np.array([place.get(label, -1) for label in self.distinct], dtype=np.int64)
        return Outputs(numbers[self.numbers], self.offsets)

    def first_place(self, j: int) -> tuple[int, int]:
        """(sentence, position) of the first token that has the label distinct[j]."""
        token = int(np.argmax(self.numbers == j))
        i = int(np.searchsorted(self.offsets, token, side="right")) - 1
        return i, token - int(self.offsets[i])


class LabelLists(list[list[Label]]):
    """The labels of every sentence. NumPy reads it as object[n], an array of lists whatever their lengths.

    scikit-learn joins the predictions of folds by np.concatenate, which would refuse plain lists of different lengths.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        table = np.empty(len(self), dtype=object)
        for i, labels in enumerate(self):
            table[i] = labels
        return table


def labels_of(numbers: IntArray, classes: Sequence[Label], offsets: IntArray) -> list[list[Label]]:
    """The labels of every sentence; sentence i owns numbers[offsets[i]:offsets[i + 1]]."""
    return LabelLists(split_flat(as_object_array(classes)[numbers].tolist(), offsets))


def as_object_array(classes: Sequence[Label]) -> np.ndarray:
    """object[L], also of labels that are tuples."""
    table = np.empty(len(classes), dtype=object)
    table[:] = classes
    return table


def _as_list(labels: Any, i: int, name: str) -> list[Label]:
    if isinstance(labels, str | bytes | dict) or is_frame(labels) or not isinstance(labels, Iterable):
        given = "a DataFrame" if is_frame(labels) else repr(labels)
        raise TypeError(f"{name}[{i}] is {given}; it must be a list with one label per token of sentence {i}.")
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


def _check_lengths(sequences: Sequence[Sequence[Label]], offsets: IntArray, name: str) -> None:
    if len(sequences) != len(offsets) - 1:
        raise ValueError(
            f"{name} has labels for {len(sequences)} sentences, X has {len(offsets) - 1}; they must be equal."
        )
    given, needed = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences)), np.diff(offsets)
    for i in np.flatnonzero(given != needed)[:1]:
        tokens, labels = int(needed[i]), int(given[i])
        where = f"token {labels} has no label" if labels < tokens else f"label {tokens} has no token"
        raise ValueError(
            f"Sentence {i} has {tokens} token{'s' * (tokens != 1)} and {labels} label{'s' * (labels != 1)}: {where} "
            "(all counted from 0). Every token needs one label."
        )


def _with_hashable_sets(sequences: Iterable[Sequence[Label]], name: str) -> list[list[Label]]:
    """The labels with sets as frozensets; an error where one is neither a set nor hashable."""
    return [
        [_hashable(label, f"{name}[{i}][{position}]") for position, label in enumerate(labels)]
        for i, labels in enumerate(sequences)
    ]


def _hashable(label: Any, place: str) -> Label:
    if isinstance(label, set | frozenset):
        if not label:
            raise ValueError(f"{place} is an empty set; it needs a label or more. Write None where any may be right.")
        return frozenset(label)
    try:
        hash(label)
    except TypeError:
        raise TypeError(
            f"{place} is {label!r}, a {type(label).__name__}; a label is a string or a number, a set of them, or None."
        ) from None
    found: Label = label
    return found
