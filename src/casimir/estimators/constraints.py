"""Which label sequences are valid: found in the labels, or a scheme, a mask, forbidden pairs or an automaton."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._outputs import Outputs, ShardedOutputs, in_shards
from casimir._warnings import warn
from casimir.estimators.labels import Label
from casimir.estimators.span_schemes import SCHEMES, detect, scheme_mask, write_spans
from casimir.structures.automaton import Automaton, StateTable
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.chain import Chain

BoolArray = npt.NDArray[np.bool_]

_NEEDED = (
    "'auto', a scheme ('IOB1', 'IOB2', 'IOBES'), an array bool[L, L] (from, to), an Automaton, pairs (from, to) of "
    "labels that must not follow one another, with None for the start or the end of a sentence, or a list of all these"
)
_SHOWN = 5  # broken rules that a warning names


@dataclass(frozen=True, eq=False)
class LabelRules:
    """What may follow what.

    follows    bool[L + 1, L + 1] (from, to); the last row is the start of a sentence, the last column its end
    scheme     "IOB1", "IOB2" or "IOBES" where the rules are those of a scheme, else None
    automaton  what it says besides, where one was given, over the numbers of the labels; else None
    """

    follows: BoolArray
    scheme: str | None = field(default=None)
    automaton: StateTable | None = field(default=None)

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
        masks = len(self.allowed), self.allowed, self.start, self.stop
        return Chain(*masks) if self.automaton is None else AutomatonChain(*masks, automaton=self.automaton)

    def __and__(self, other: LabelRules) -> LabelRules:
        """What both allow."""
        automata = [rules.automaton for rules in (self, other) if rules.automaton is not None]
        automaton = reduce(and_, automata) if automata else None
        return LabelRules(self.follows & other.follows, self.scheme or other.scheme, automaton)


def label_rules(constraints: Any, classes: Sequence[Label], y: Outputs | ShardedOutputs) -> LabelRules | None:
    """The rules that `SequenceTagger` takes as constraints mean, for training labels y; None: everything is valid.

    y  the places of the labels in classes, -1 where a label is not known
    """
    found = [_one(entry, classes, y) for entry in _entries(constraints)]
    rules = [one for one in found if one is not None]
    if not rules:
        return None
    every = reduce(and_, rules)
    _check(every, classes, y)
    return every


def _entries(constraints: Any) -> list[Any]:
    """What has to hold, one thing after another; all pairs are one."""
    if isinstance(constraints, str | np.ndarray | Automaton):
        return [constraints]
    if not isinstance(constraints, Iterable):
        raise TypeError(f"constraints is a {type(constraints).__name__}; it must be {_NEEDED}.")
    given = list(constraints)
    whole = [entry for entry in given if isinstance(entry, np.ndarray | Automaton) or _is_scheme(entry)]
    pairs = [entry for entry in given if not isinstance(entry, np.ndarray | Automaton) and not _is_scheme(entry)]
    return [*whole, pairs] if pairs or not whole else whole


def _is_scheme(entry: Any) -> bool:
    return isinstance(entry, str) and (entry == "auto" or entry.upper() in SCHEMES)


def _one(entry: Any, classes: Sequence[Any], y: Outputs | ShardedOutputs) -> LabelRules | None:
    if isinstance(entry, str) and entry == "auto":
        return _found(classes, _neighbours(y, len(classes))) if write_spans(classes) else None
    if isinstance(entry, str):
        return _of_scheme(entry, classes)
    follows = np.ones((len(classes) + 1, len(classes) + 1), dtype=np.bool_)
    if isinstance(entry, Automaton):
        return LabelRules(follows, automaton=entry.table(classes))
    if isinstance(entry, np.ndarray):
        if entry.dtype != np.bool_ or entry.shape != follows[1:, 1:].shape:
            raise ValueError(
                f"constraints is {entry.dtype}{list(entry.shape)}; the {len(classes)} labels "
                f"{list(classes)} need bool{[len(classes)] * 2} (from, to), in that order."
            )
        follows[:-1, :-1] = entry
        return LabelRules(follows)
    for pair in entry:
        follows[_places(pair, classes)] = False
    return LabelRules(follows)


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


def _of_scheme(name: str, classes: Sequence[Any]) -> LabelRules:
    scheme = SCHEMES.get(name.upper())
    if scheme is None:
        raise ValueError(f"constraints={name!r}; it must be {_NEEDED}.")
    if not write_spans(classes):
        raise ValueError(f"constraints={name!r} needs labels such as B-LOC and O; y has {list(classes)}.")
    return LabelRules(scheme_mask(scheme, classes), scheme)


def _places(pair: Any, classes: Sequence[Label]) -> tuple[int, int]:
    """(row, column) of a pair of labels."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(
            f"constraints has {pair!r}; its entries are pairs (from, to) of labels that must not follow, "
            "schemes, arrays bool[L, L] and automata."
        )
    missing = [label for label in pair if label is not None and label not in classes]
    if missing:
        raise ValueError(f"constraints has the label {missing[0]!r}; y has only {list(classes)}.")
    row, column = (len(classes) if label is None else classes.index(label) for label in pair)
    return row, column


def _neighbours(y: Outputs | ShardedOutputs, n_labels: int) -> npt.NDArray[np.int64]:
    """int64[L + 1, L + 1]: how often one label follows another, start and end last; unknown labels do not count."""
    size = n_labels + 1
    counts = np.zeros(size * size, dtype=np.int64)
    for _, own in in_shards(y):
        left, right = _pairs(own, n_labels)
        known = (left >= 0) & (right >= 0)
        counts += np.bincount(left[known] * size + right[known], minlength=size * size)
    return counts.reshape(size, size)


def _pairs(y: Outputs, n_labels: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Two int64[N + n]: neighbours, the start of every sentence before its first label and the end behind its last."""
    padded = np.insert(y.flat, y.offsets, n_labels)  # between any two sentences, before the first and behind the last
    return padded[:-1], padded[1:]


def _check(rules: LabelRules, classes: Sequence[Label], y: Outputs | ShardedOutputs) -> None:
    """Raises where training labels break the rules."""
    broken = int(_neighbours(y, len(classes))[~rules.follows].sum())
    for first, own in in_shards(y):
        if broken:
            _check_pairs(rules, classes, own, first, broken)
        _check_automaton(rules, classes, own, first)


def _check_pairs(rules: LabelRules, classes: Sequence[Label], y: Outputs, first: int, count: int) -> None:
    """first: the number of the first example of y; count: of the places that break the rules, in all shards."""
    left, right = _pairs(y, len(classes))
    broken = np.flatnonzero((left >= 0) & (right >= 0) & ~rules.follows[left, right])
    if len(broken):
        k = int(broken[0])
        ends = y.offsets + np.arange(len(y.offsets))  # places of starts and ends among the padded labels
        i = int(np.searchsorted(ends, k, side="right")) - 1
        raise ValueError(
            f"y[{first + i}] has {_shown((int(left[k]), int(right[k])), classes)} at token "
            f"{max(k - int(ends[i]) - 1, 0)}, which constraints forbid; so do {count} places in all. Correct the "
            "labels, or use constraints='auto', which leaves out the rules that they break."
        )


def _check_automaton(rules: LabelRules, classes: Sequence[Label], y: Outputs, first: int) -> None:
    refused = None if rules.automaton is None else rules.automaton.first_broken(y.flat, y.offsets)
    if refused is not None:
        i, t = refused
        own = y.flat[y.offsets[i] : y.offsets[i + 1]]
        what = f"the label {classes[own[t]]!r} at token {t}" if t < len(own) else f"its end after {t} tokens"
        raise ValueError(
            f"y[{first + i}] is not accepted by the automaton of constraints: it has no step for {what}. Correct the "
            "labels, or the automaton."
        )


def _shown(pair: Sequence[int], classes: Sequence[Label]) -> str:
    """'O' before 'I-LOC'"""
    left, right = ((repr(classes[j]) if j < len(classes) else None) for j in pair)
    if left is None:
        return f"{right} at the start"
    return f"{left} at the end" if right is None else f"{left} before {right}"
