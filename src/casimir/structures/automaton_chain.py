"""Chains whose outputs an automaton accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from casimir._validate import flat_labels
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.automaton import Automaton, StateTable
from casimir.structures.base import Best, Expectation, Pulled, TopK, indicator, split_flat
from casimir.structures.chain import Chain
from casimir.structures.masks import Masks
from casimir.structures.unfolded import Unfolded


@dataclass(frozen=True, eq=False, repr=False)
class AutomatonChain(Chain):
    """A `Chain` whose outputs are the sequences of labels that an automaton accepts.

    automaton  an `Automaton` over the labels 0 .. n_labels - 1; the other arguments are those of `Chain`

    Every oracle runs on the chain of the pairs (label, state after it), of which the automaton leaves one sequence per
    output. With Q states it takes up to Q^2 times as long.

    >>> once = Automaton({"none": {1: "one", "*": "none"}, "one": {1: None, "*": "one"}})
    >>> chain = AutomatonChain(2, automaton=once)  # at most one label 1
    >>> chain.max(chain.scores([[[0, 1], [0, 1], [0, 3]]], [[0, 0], [0, 0]])).outputs
    [array([0, 0, 1])]
    """

    automaton: Any = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.automaton
        if isinstance(given, Automaton):
            object.__setattr__(self, "automaton", given.table(range(self.n_labels)))
        elif not isinstance(given, StateTable):
            raise TypeError(f"automaton is a {type(given).__name__}; it must be an Automaton.")
        else:
            StateTable.checked(given.steps, given.final, self.n_labels)

    def __repr__(self) -> str:
        steps = self.automaton.steps
        text = self._described("allowed_start", "allowed_stop")
        return f"AutomatonChain({text}, automaton=<{len(steps)} states>)"

    @property
    def is_constrained(self) -> bool:
        return True

    @property
    def unfolded(self) -> Unfolded:
        """The labels with what the automaton remembers."""
        found: Unfolded = self.automaton.unfolded
        return found

    @cached_property
    def wide(self) -> Chain:
        """The chain of the pairs of labels and states, which all oracles run on."""
        own = self.unfolded
        at = own.label
        pairs = own.pairs if self.allowed is None else own.pairs & self.allowed[at[:, None], at]
        first = own.first if self.allowed_start is None else own.first & self.allowed_start[at]
        last = own.last if self.allowed_stop is None else own.last & self.allowed_stop[at]
        return Chain(len(at), pairs, first, last, None if self.labels is None else _wide_masks(self.labels, at))

    def forbidden(self, s: Scores) -> Scores | None:
        """What labels and pairs of labels must not be by themselves; the automaton says more."""
        self.wide.forbidden(self.unfolded.scores(s))  # an example without any output is an error
        nodes, pairs = self.forbidden_nodes(s), self.forbidden_pairs
        if nodes is None and pairs is None:
            return None
        return Scores.unchecked(np.zeros(s.nodes.shape) if nodes is None else nodes, s.offsets, pairs)

    def check_allowed(self, s: Scores, y: Any, name: str = "y") -> None:
        """Raises where one of the outputs y, a list of int[p_i], is not allowed."""
        super().check_allowed(s, y, name)
        labels = flat_labels(y, np.diff(s.offsets), self.n_labels, name)
        broken = self.automaton.first_broken(labels, s.offsets)
        if broken is not None:
            i, v = broken
            own = labels[s.offsets[i] : s.offsets[i + 1]]
            what = f"[{v}] has the label {own[v]}" if v < len(own) else f" ends after {v} labels"
            raise ValueError(f"{name}[{i}]{what}, which the automaton has not allowed after what comes before.")

    def max(self, s: Scores) -> Best:
        best = self.wide.max(self._scores(s))
        return Best(best.value, self._labels(best.outputs))

    def topk(self, s: Scores, k: int) -> TopK:
        top = self.wide.topk(self._scores(s), k)
        return TopK(top.value, self._labels(top.outputs))

    def topk_until(self, s: Scores, k: int, mu: float) -> Pulled:
        pulled = self.wide.topk_until(self._scores(s), k, mu)
        return Pulled(pulled.values, self._labels(pulled.outputs))

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, L]: max of score(y) over the allowed outputs with y_v = j, -inf where there are none."""
        groups = [self.unfolded.label == j for j in range(self.n_labels)]
        tables = self.wide.max_marginals(self._scores(s))
        return [np.stack([t[:, group].max(axis=1, initial=-np.inf) for group in groups], axis=1) for t in tables]

    def expect(self, s: Scores, mu: float) -> Expectation:
        soft = self.wide.expect(self._scores(s), mu)
        return Expectation(soft.value, self.unfolded.folded(soft.marginals))

    def log_sum(self, s: Scores, mu: float) -> FloatArray:
        return self.wide.log_sum(self._scores(s), mu)

    def soft_loss(self, s: Scores, y: IntArray, mu: float) -> tuple[FloatArray, Scores]:
        """float64[n] = expect(s, mu) - score_of(s, y) and its gradient; y int64[N], all labels in a row."""
        soft, outputs = self.expect(s, mu), split_flat(y, s.offsets)
        return soft.value - self.score_of(s, outputs), soft.marginals - indicator(self, s, outputs)

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: the log of the number of allowed outputs."""
        return self.wide.log_n_outputs(self._scores(s))

    def select(self, examples: Any) -> Self:
        part = super().select(examples)
        if part is not self:
            part.__dict__["wide"] = self.wide.select(examples)
        return part

    def _scores(self, s: Scores) -> Scores:
        self._arrays(s)  # checks them
        return self.unfolded.scores(s)

    def _labels(self, outputs: Sequence[IntArray]) -> list[IntArray]:
        return [self.unfolded.label[y] for y in outputs]


def _wide_masks(labels: Masks, at: IntArray) -> Masks:
    return Masks(np.ascontiguousarray(labels.rows[:, at]), labels.offsets, labels.given)
