"""Deterministic automata that read labels: which sequences are valid, with memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir.scores import IntArray
from casimir.structures.base import split_flat
from casimir.structures.masks import BoolArray
from casimir.structures.unfolded import Unfolded, check_size

ANY = "*"
State = Hashable


@dataclass(frozen=True, eq=False)
class Automaton:
    """Reads the labels of a sequence one by one; the sequence is valid if every step is there and the last state final.

    steps  {state: {label: next state}}; "*" stands for all labels that the state does not name. None in the place of
           the next state, or no entry at all: the label must not come in that state
    start  the state before the first label; None: the first one of steps
    final  the states in which a sequence may end; None: all

    Labels are what the structure or the estimator calls them: numbers for `AutomatonChain`, names for `SequenceTagger`.

    >>> once = Automaton({"none": {"TITLE": "one", "*": "none"}, "one": {"TITLE": None, "*": "one"}})
    >>> once.accepts(["TITLE", "NAME"]), once.accepts(["TITLE", "NAME", "TITLE"])
    (True, False)
    """

    steps: Mapping[State, Mapping[Hashable, State | None]]
    start: State | None = None
    final: Iterable[State] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.steps, Mapping) or not self.steps:
            raise TypeError(
                f"steps is {self.steps!r}; it must be {{state: {{label: next state}}}} with a state or more."
            )
        for state, row in self.steps.items():
            if not isinstance(row, Mapping):
                raise TypeError(f"steps[{state!r}] is a {type(row).__name__}; it must be {{label: next state}}.")
        if None in self.steps:
            raise ValueError(
                "steps has a state None, which is what stands where a label must not come; name it otherwise."
            )
        start = next(iter(self.steps)) if self.start is None else self.start
        if self.final is not None and (isinstance(self.final, str | bytes) or not isinstance(self.final, Iterable)):
            raise TypeError(f"final is {self.final!r}; it must be a list of states, or None for all.")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "final", None if self.final is None else tuple(self.final))
        named = [("start", start), *(("final", state) for state in self.final or ())]
        named += [(f"steps[{q!r}][{label!r}]", to) for q, row in self.steps.items() for label, to in row.items()]
        for place, state in named:
            if state is None and place != "final":
                continue
            if not _is_key(state, self.steps):
                raise ValueError(f"{place} is {state!r}, which is no state; steps has {list(self.steps)}.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Automaton) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((Automaton, self.start, tuple(self.steps)))

    def accepts(self, labels: Iterable[Hashable]) -> bool:
        """Whether a sequence of labels is valid."""
        state: State | None = self.start
        for label in labels:
            row = self.steps[state]
            state = row.get(label, row.get(ANY))
            if state is None:
                return False
        return self.final is None or state in self.final

    def table(self, labels: Sequence[Hashable]) -> StateTable:
        """The same for labels that are numbers, the places in `labels`; an error where a label is not among them."""
        number = {state: q for q, state in enumerate(sorted(self.steps, key=lambda state: state != self.start))}
        steps = np.full((len(number), len(labels)), -1, dtype=np.int64)
        place = {label: j for j, label in enumerate(labels)}
        for state, row in self.steps.items():
            for label, to in sorted(row.items(), key=lambda step: step[0] != ANY):  # ANY first: the others replace it
                if label != ANY and label not in place:
                    raise ValueError(f"the automaton has a step for {label!r}; the labels are {list(labels)}.")
                steps[number[state], slice(None) if label == ANY else place[label]] = -1 if to is None else number[to]
        final = np.array([self.final is None or state in self.final for state in number], dtype=np.bool_)
        return StateTable(steps, final)

    def _parts(self) -> tuple[Any, ...]:
        return (
            {q: dict(row) for q, row in self.steps.items()},
            self.start,
            None if self.final is None else set(self.final),
        )


def _is_key(thing: Any, steps: Mapping[State, Any]) -> bool:
    try:
        return thing in steps
    except TypeError:  # it cannot be a key at all
        return False


@dataclass(frozen=True, eq=False)
class StateTable:
    """An automaton whose states and labels are numbers; state 0 is the first.

    steps  int64[Q, L]: the state after reading a label; -1: it must not come there
    final  bool[Q]: whether a sequence may end in a state
    """

    steps: IntArray
    final: BoolArray

    @classmethod
    def checked(cls, steps: Any, final: Any, n_labels: int) -> StateTable:
        """From arrays that come from elsewhere."""
        steps, final = np.asarray(steps), np.asarray(final)
        if steps.dtype != np.int64 or steps.ndim != 2 or not len(steps) or steps.shape[1] != n_labels:
            raise ValueError(f"steps is {steps.dtype}{list(steps.shape)}; it must be int64[Q, {n_labels}].")
        if final.dtype != np.bool_ or final.shape != (len(steps),):
            raise ValueError(f"final is {final.dtype}{list(final.shape)}; it must be bool[{len(steps)}].")
        if steps.size and not -1 <= steps.min() <= steps.max() < len(steps):
            raise ValueError(f"steps has states from {steps.min()} to {steps.max()}; there are {len(steps)}.")
        return cls(steps, final)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StateTable)
            and np.array_equal(self.steps, other.steps)
            and np.array_equal(self.final, other.final)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_labels(self) -> int:
        return int(self.steps.shape[1])

    @property
    def n_wide(self) -> int:
        """Pairs of a label and a state after it."""
        labels = np.broadcast_to(np.arange(self.n_labels), self.steps.shape)
        return len(np.unique((self.steps * self.n_labels + labels)[self.steps >= 0]))

    def __and__(self, other: StateTable) -> StateTable:
        """The automaton of what both accept; its states are the pairs that can be reached."""
        number, pairs = {(0, 0): 0}, [(0, 0)]
        rows: list[list[int]] = []
        for a, b in pairs:  # grows on the way
            check_size(len(pairs) - 1)
            rows.append([])
            for to in zip(self.steps[a].tolist(), other.steps[b].tolist(), strict=True):
                if min(to) >= 0 and to not in number:
                    number[to] = len(pairs)
                    pairs.append(to)
                rows[-1].append(number[to] if min(to) >= 0 else -1)
        final = np.array([self.final[a] and other.final[b] for a, b in pairs], dtype=np.bool_)
        return StateTable(np.array(rows, dtype=np.int64), final)

    def first_broken(self, labels: IntArray, offsets: IntArray) -> tuple[int, int] | None:
        """(sequence, place) of the first label that must not come where it is; place p_i: only the end is wrong.

        labels  int64[N], all sequences one after another; -1: unknown, and nothing is said of what follows
        """
        for i, sequence in enumerate(split_flat(labels, offsets)):
            place = self._stops(sequence.tolist())
            if place is not None:
                return i, place
        return None

    def accepted(self, labels: IntArray, offsets: IntArray) -> BoolArray:
        """bool[n]: whether sequences are valid."""
        places = (self._stops(sequence.tolist()) for sequence in split_flat(labels, offsets))
        return np.array([place is None for place in places], dtype=np.bool_)

    def _stops(self, labels: list[int]) -> int | None:
        """Where a sequence is not valid any more."""
        state = 0
        for place, label in enumerate(labels):
            if label < 0:
                return None
            state = int(self.steps[state, label])
            if state < 0:
                return place
        return None if self.final[state] else len(labels)

    @cached_property
    def unfolded(self) -> Unfolded:
        """The labels with what the automaton remembers."""
        return Unfolded.of(self.steps, self.final)
