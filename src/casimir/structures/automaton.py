"""Deterministic automata that read labels: which sequences are valid, where that depends on more than two neighbours."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import split_flat
from casimir.structures.masks import BoolArray

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
            raise TypeError(f"steps is {self.steps!r}; it must be {{state: {{label: next state}}}} with a state or more.")
        for state, row in self.steps.items():
            if not isinstance(row, Mapping):
                raise TypeError(f"steps[{state!r}] is a {type(row).__name__}; it must be {{label: next state}}.")
        start = next(iter(self.steps)) if self.start is None else self.start
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "final", None if self.final is None else tuple(self.final))
        named = [("start", start), *(("final", state) for state in self.final or ())]
        named += [(f"steps[{q!r}][{label!r}]", to) for q, row in self.steps.items() for label, to in row.items()]
        for place, state in named:
            if state is not None and state not in self.steps:
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
        return {q: dict(row) for q, row in self.steps.items()}, self.start, None if self.final is None else set(self.final)


@dataclass(frozen=True, eq=False)
class StateTable:
    """An automaton whose states and labels are numbers; state 0 is the first.

    steps  int64[Q, L]: the state after reading a label; -1: it must not come there
    final  bool[Q]: whether a sequence may end in a state
    """

    steps: IntArray
    final: BoolArray

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StateTable)
            and np.array_equal(self.steps, other.steps)
            and np.array_equal(self.final, other.final)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_labels(self) -> int:
        return self.steps.shape[1]

    def __and__(self, other: StateTable) -> StateTable:
        """The automaton of what both accept; its states are the pairs that can be reached."""
        number, pairs = {(0, 0): 0}, [(0, 0)]
        rows: list[list[int]] = []
        for a, b in pairs:  # grows on the way
            rows.append([])
            for to in zip(self.steps[a].tolist(), other.steps[b].tolist(), strict=True):
                if min(to) >= 0 and to not in number:
                    number[to] = len(pairs)
                    pairs.append(to)
                rows[-1].append(number[to] if min(to) >= 0 else -1)
        final = np.array([self.final[a] and other.final[b] for a, b in pairs], dtype=np.bool_)
        return StateTable(np.array(rows, dtype=np.int64), final)

    def first_broken(self, labels: IntArray, offsets: IntArray) -> tuple[int, int] | None:
        """(sequence, place) of the first label that must not come where it is; the place is p_i if only the end is wrong.

        labels  int64[N], all sequences one after another; -1: unknown, and nothing is said of its sequence
        """
        for i, sequence in enumerate(split_flat(labels, offsets)):
            state, place = 0, 0
            numbers = sequence.tolist()
            while place < len(numbers) and numbers[place] >= 0 and state >= 0:
                state = int(self.steps[state, numbers[place]])
                place += 1
            if state < 0:
                return i, place - 1
            if place == len(numbers) and place and not self.final[state]:
                return i, place
        return None

    @cached_property
    def unfolded(self) -> Unfolded:
        return Unfolded.of(self)


@dataclass(frozen=True, eq=False)
class Unfolded:
    """Wide labels: the pairs (label, state after reading it) that can be reached, in the order of their labels.

    Since the automaton is deterministic, a valid sequence of labels is one sequence of wide labels, and the other way
    round; so a chain of wide labels is the chain of labels under the automaton.

    label  int64[M]: the label of every wide label
    pairs  bool[M, M]: whether a step leads from one to the other
    first, last  bool[M]: whether a sequence may begin, may end with it
    """

    n_labels: int
    label: IntArray
    pairs: BoolArray
    first: BoolArray
    last: BoolArray
    native: tuple[Any, ...] = field(repr=False)
    """The same as the core takes it."""

    @classmethod
    def of(cls, table: StateTable) -> Unfolded:
        reached, queue = {0}, [0]
        for state in queue:  # grows on the way
            more = set(table.steps[state].tolist()) - reached - {-1}
            reached |= more
            queue += sorted(more)
        steps = [(j, to) for state in queue for j, to in enumerate(table.steps[state].tolist()) if to >= 0]
        wide = sorted(set(steps))
        if not wide:
            raise ValueError("the automaton has no step from its first state: no sequence of labels is valid.")
        label, state = (np.array(part, dtype=np.int64) for part in zip(*wide, strict=True))
        pairs = table.steps[state].take(label, axis=1) == state
        first, last = table.steps[0, label] == state, table.final[state]
        arrays = (np.where(mask, 0.0, -np.inf) for mask in (pairs, first, last))
        return cls(table.n_labels, label, pairs, first, last, (label.astype(np.int32), *arrays))

    @property
    def members(self) -> FloatArray:
        """float64[M, L]: 1 where a wide label is of a label."""
        return np.asarray(self.label[:, None] == np.arange(self.n_labels), dtype=np.float64)

    def scores(self, s: Scores) -> Scores:
        """Those of wide labels."""
        edges = s.edges
        if edges is not None:
            edges = edges.take(self.label, axis=-2).take(self.label, axis=-1)
        return Scores.unchecked(s.nodes.take(self.label, axis=1), s.offsets, edges, s.edge_offsets)

    def folded(self, marginals: Scores) -> Scores:
        """Sums of what wide labels have, for every label."""
        fold, edges = self.members, marginals.edges
        if edges is not None:
            edges = np.ascontiguousarray(fold.T @ edges @ fold)
        return Scores.unchecked(marginals.nodes @ fold, marginals.offsets, edges, marginals.edge_offsets)
