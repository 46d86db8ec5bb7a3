"""Which label sequences are valid: found in the labels, or given as a scheme, a mask or forbidden pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._outputs import Outputs
from casimir._warnings import warn
from casimir.estimators.labels import Label
from casimir.estimators.span_schemes import SCHEMES, detect, scheme_mask, write_spans
from casimir.structures.chain import Chain

BoolArray = npt.NDArray[np.bool_]

_NEEDED = (
    "'auto', a scheme ('IOB1', 'IOB2', 'IOBES'), an array bool[L, L] (from, to), or pairs (from, to) of labels that "
    "must not follow one another, with None for the start or the end of a sentence"
)
_SHOWN = 5  # broken rules that a warning names


@dataclass(frozen=True, eq=False)
class LabelRules:
    """What may follow what.

    follows  bool[L + 1, L + 1] (from, to); the last row is the start of a sentence, the last column its end
    scheme   "IOB1", "IOB2" or "IOBES" where the rules are those of a scheme, else None
    """

    follows: BoolArray
    scheme: str | None = field(default=None)

    @property
    def allowed(self) -> BoolArray:
        """bool[L, L] (from, to)"""
        return self.follows[:-1, :-1]

    @property
    def start(self) -> BoolArray:
        """bool[L]: the labels that the first token may have"""
        return self.follows[-1, :-1]

    @property
    def stop(self) -> BoolArray:
        """bool[L]: those of the last"""
        return self.follows[:-1, -1]

    @property
    def chain(self) -> Chain:
        return Chain(len(self.allowed), self.allowed, self.start, self.stop)


def label_rules(constraints: Any, classes: Sequence[Label], y: Outputs) -> LabelRules | None:
    """The rules that `SequenceTagger` takes as constraints mean, for training labels y; None: everything is valid.

    y  the places of the labels in classes, -1 where a label is not known
    """
    if isinstance(constraints, str) and constraints == "auto":
        return _found(classes, _neighbours(y, len(classes))) if write_spans(classes) else None
    rules = _given(constraints, classes)
    _check(rules, classes, y)
    return rules


def _found(classes: Sequence[Any], seen: npt.NDArray[np.int64]) -> LabelRules:
    """The rules of the scheme that the labels are in, without those that they break."""
    scheme = detect(classes, seen)
    follows = scheme_mask(scheme, classes)
    broken = np.argwhere(~follows & (seen > 0))
    if len(broken):
        count = int(seen[tuple(broken.T)].sum())
        pairs = [f"{_shown(pair, classes)} ({seen[tuple(pair)]})" for pair in broken[:_SHOWN].tolist()]
        more = f" and {len(broken) - _SHOWN} others" if len(broken) > _SHOWN else ""
        warn(
            f"constraints='auto': the labels look like {scheme}, and {count} places in training break it: "
            f"{', '.join(pairs)}{more}. These stay allowed."
        )
    return LabelRules(follows | (seen > 0), scheme)


def _given(constraints: Any, classes: Sequence[Any]) -> LabelRules:
    if isinstance(constraints, str):
        scheme = SCHEMES.get(constraints.upper())
        if scheme is None:
            raise ValueError(f"constraints={constraints!r}; it must be {_NEEDED}.")
        if not write_spans(classes):
            raise ValueError(f"constraints={constraints!r} needs labels such as B-LOC and O; y has {list(classes)}.")
        return LabelRules(scheme_mask(scheme, classes), scheme)
    follows = np.ones((len(classes) + 1, len(classes) + 1), dtype=np.bool_)
    if isinstance(constraints, np.ndarray):
        if constraints.dtype != np.bool_ or constraints.shape != follows[1:, 1:].shape:
            raise ValueError(
                f"constraints is {constraints.dtype}{list(constraints.shape)}; the {len(classes)} labels "
                f"{list(classes)} need bool{[len(classes)] * 2} (from, to), in that order."
            )
        follows[:-1, :-1] = constraints
        return LabelRules(follows)
    if isinstance(constraints, Iterable):
        for pair in constraints:
            follows[_places(pair, classes)] = False
        return LabelRules(follows)
    raise TypeError(f"constraints is a {type(constraints).__name__}; it must be {_NEEDED}.")


def _places(pair: Any, classes: Sequence[Label]) -> tuple[int, int]:
    """(row, column) of a pair of labels."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"constraints has {pair!r}; its entries are pairs (from, to) of labels that must not follow.")
    missing = [label for label in pair if label is not None and label not in classes]
    if missing:
        raise ValueError(f"constraints has the label {missing[0]!r}; y has only {list(classes)}.")
    row, column = (len(classes) if label is None else classes.index(label) for label in pair)
    return row, column


def _neighbours(y: Outputs, n_labels: int) -> npt.NDArray[np.int64]:
    """int64[L + 1, L + 1]: how often one label follows another, start and end last; unknown labels do not count."""
    left, right = _pairs(y, n_labels)
    known = (left >= 0) & (right >= 0)
    size = n_labels + 1
    counts = np.bincount(left[known] * size + right[known], minlength=size * size)
    return counts.astype(np.int64).reshape(size, size)


def _pairs(y: Outputs, n_labels: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Two int64[N + n]: neighbours, the start of every sentence before its first label and the end behind its last."""
    padded = np.insert(y.flat, y.offsets, n_labels)  # between any two sentences, before the first and behind the last
    return padded[:-1], padded[1:]


def _check(rules: LabelRules, classes: Sequence[Label], y: Outputs) -> None:
    left, right = _pairs(y, len(classes))
    broken = np.flatnonzero((left >= 0) & (right >= 0) & ~rules.follows[left, right])
    if not len(broken):
        return
    k = int(broken[0])
    ends = y.offsets + np.arange(len(y.offsets))  # places of starts and ends among the padded labels
    i = int(np.searchsorted(ends, k, side="right")) - 1
    raise ValueError(
        f"y[{i}] has {_shown((int(left[k]), int(right[k])), classes)} at token {max(k - int(ends[i]) - 1, 0)}, which "
        f"constraints forbid; so do {len(broken)} places in all. Correct the labels, or use constraints='auto', which "
        "leaves out the rules that they break."
    )


def _shown(pair: Sequence[int], classes: Sequence[Label]) -> str:
    """'O' before 'I-LOC'"""
    left, right = ((repr(classes[j]) if j < len(classes) else None) for j in pair)
    if left is None:
        return f"{right} at the start"
    return f"{left} at the end" if right is None else f"{left} before {right}"
