"""Brute force over a listed output set: the judge of every other structure, and the short way to add one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._validate import as_float, finite_float, positive_float, positive_int, ragged_float, sequence_of
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Best, Expectation, TopK, check_layout, check_mixture, check_scores
from casimir.structures.layout import TensorLayout
from casimir.structures.restricted import kept_rows


@dataclass(frozen=True, eq=False, slots=True)
class _Table:
    """The outputs int64[K, p] of one example and the parts float64[K, m] that each of them uses."""

    outputs: IntArray
    parts: FloatArray

    def find(self, output: Any, name: str) -> int:
        match = np.flatnonzero((self.outputs == np.asarray(output)).all(axis=1))
        if not len(match):
            raise ValueError(f"{name} is {np.asarray(output).tolist()}, which is not among the listed outputs.")
        return int(match[0])

    def solve(self, costs: Any, i: int) -> FloatArray:
        """float64[m]: the scores of the parts that give every output its cost."""
        z = self._costs(finite_float(costs, f"costs[{i}]"), i)
        c = np.asarray(np.linalg.lstsq(self.parts, z, rcond=None)[0], dtype=np.float64)
        if not np.allclose(self.parts @ c, z, rtol=1e-9, atol=1e-9 * max(1.0, float(np.abs(z).max()))):
            raise ValueError(
                f"The cost of example {i} is not a sum over the parts of Enumerated. "
                "Add parts that tell the outputs apart, e.g. one indicator per output."
            )
        return c

    def _costs(self, costs: FloatArray, i: int) -> FloatArray:
        """float64[K]: the cost of every output, given by itself or as the sum over its labels."""
        count, p = self.outputs.shape
        labels = 1 + int(self.outputs.max(initial=0))
        if costs.ndim == 2 and len(costs) == p and costs.shape[1] >= labels:
            return np.asarray(costs[np.arange(p), self.outputs].sum(axis=1), dtype=np.float64)
        if costs.shape != (count,):
            raise ValueError(
                f"costs[{i}] has shape {list(costs.shape)}; example {i} has {count} outputs and needs {[count]}, or "
                f"{[p, labels]} for the cost of each label."
            )
        return costs


class Enumerated:
    """score(y) = <parts(y), part scores>, y in a list. Ties go to the output listed first.

    outputs  int[K, p] shared by all examples, or a list of int[K_i, p_i], one per example
    parts    a function from an output int64[p] to a vector [m]; or the vectors: [K, m] or a list of [K_i, m_i]

    >>> spins = Enumerated([[0, 0], [0, 1], [1, 0], [1, 1]], parts=lambda y: [y[0], y[1], y[0] == y[1]])
    >>> spins.max(spins.scores([[1.0, -2.0, 0.5]])).outputs
    [array([1, 0])]
    """

    layout: ClassVar[TensorLayout] = TensorLayout(("M",), ("P",))

    def __init__(self, outputs: Any, parts: Callable[[IntArray], Any] | Any) -> None:
        given = sequence_of(outputs, "outputs")
        self.shared = len(given) > 0 and np.ndim(given[0]) < 2
        lists = [given] if self.shared else list(given)
        if not callable(parts):
            parts = [parts] if self.shared else list(sequence_of(parts, "parts"))
            if len(parts) != len(lists):
                raise ValueError(f"parts has {len(parts)} entries for {len(lists)} examples; give one array each.")
        self._tables = [
            _table(y, parts if callable(parts) else parts[i], "" if self.shared else f"[{i}]")
            for i, y in enumerate(lists)
        ]

    def scores(self, values: Any) -> Scores:
        """values: list of [m_i], one score per part."""
        s = Scores.unchecked(*ragged_float(values, "values", ()))
        self._check(s)
        return s

    def outputs(self, i: int) -> IntArray:
        """int64[K_i, p_i]: the listed outputs of example i."""
        return self._table(i).outputs

    def parts(self, i: int) -> FloatArray:
        """float64[K_i, m_i]: the parts that each of them uses."""
        return self._table(i).parts

    def max(self, s: Scores) -> Best:
        values = self._values(s)
        best = [int(np.argmax(z)) for z in values]
        outputs = [self._table(i).outputs[k] for i, k in enumerate(best)]
        return Best(np.array([z[k] for z, k in zip(values, best, strict=True)], dtype=np.float64), outputs)

    def topk(self, s: Scores, k: int) -> TopK:
        k, values = positive_int(k, "k"), self._values(s)
        order = [np.argsort(-z, kind="stable")[:k] for z in values]
        padded = np.full((len(s), k), -np.inf)
        for i, kept in enumerate(order):
            padded[i, : len(kept)] = values[i][kept]
        return TopK(padded, [self._table(i).outputs[kept] for i, kept in enumerate(order)])

    def expect(self, s: Scores, mu: float) -> Expectation:
        mu, values = positive_float(mu, "mu"), self._values(s)
        top = np.array([z.max() for z in values], dtype=np.float64)
        p = [np.exp((z - t) / mu) for z, t in zip(values, top, strict=True)]
        total = np.array([q.sum() for q in p], dtype=np.float64)
        nodes = [(q / t) @ self._table(i).parts for i, (q, t) in enumerate(zip(p, total, strict=True))]
        return Expectation(top + mu * np.log(total), _like(s, nodes))

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, L], L = 1 + the largest label of the example; -inf where no output has y_v = j."""
        result = []
        for i, z in enumerate(self._values(s)):
            outputs = self._table(i).outputs
            table = np.full((outputs.shape[1], int(outputs.max(initial=0)) + 1), -np.inf)
            np.maximum.at(table, (np.arange(outputs.shape[1]), outputs), z[:, None])
            result.append(table)
        return result

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        check_mixture(s, outputs, weights)
        self._check(s)
        nodes = []
        for i, (y, u) in enumerate(zip(outputs, weights, strict=True)):
            table = self._table(i)
            rows = [table.find(row, f"outputs[{i}][{k}]") for k, row in enumerate(y)]
            nodes.append(np.asarray(u, dtype=np.float64) @ table.parts[rows])
        return _like(s, nodes)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        values = self._values(s)
        if len(outputs) != len(s):
            raise ValueError(f"outputs has {len(outputs)} entries for {len(s)} examples; give one output per example.")
        found = [self._table(i).find(y, f"outputs[{i}]") for i, y in enumerate(outputs)]
        return np.array([z[k] for z, k in zip(values, found, strict=True)], dtype=np.float64)

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: log K_i."""
        return np.log([len(self._table(i).outputs) for i in range(len(s))])

    def label_shapes(self, s: Scores) -> IntArray:
        """int64[n, 2]: the labels in an output of example i, and 1 + the largest label of all its outputs."""
        lists = [self._table(i).outputs for i in range(len(s))]
        return np.array([(y.shape[1], 1 + y.max(initial=0)) for y in lists], dtype=np.int64).reshape(-1, 2)

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """Part scores c with <parts(y), c> = the cost of y for every output y; an error when no such c exists.

        costs: list of [K_i], a cost per listed output, or of [p_i, L_i], the cost of node v having label j.
        """
        self._check(s)
        given = sequence_of(costs, "costs")
        if len(given) != len(s):
            raise ValueError(f"costs has {len(given)} entries for {len(s)} examples; give one per example.")
        return _like(s, [self._table(i).solve(c, i) for i, c in enumerate(given)])

    def select(self, examples: Any) -> Enumerated:
        if self.shared:
            return self
        chosen = Enumerated.__new__(Enumerated)
        chosen.shared = False
        chosen._tables = [self._tables[i] for i in np.arange(len(self._tables))[examples]]
        return chosen

    def restricted(self, allowed: Any) -> Enumerated:
        """The structure with fewer outputs: allowed is a list of bool[K_i], those of the listed ones, or None."""
        kept = kept_rows(allowed, [len(table.outputs) for table in self._tables], self.shared)
        return Enumerated(
            [self.outputs(i)[rows] for i, rows in enumerate(kept)], [self.parts(i)[rows] for i, rows in enumerate(kept)]
        )

    def _table(self, i: int) -> _Table:
        return self._tables[0 if self.shared else i]

    def _values(self, s: Scores) -> list[FloatArray]:
        """List of float64[K_i]: the score of every output."""
        check_scores(s, (), "Enumerated")
        self._check(s)
        return [self._table(i).parts @ s.unary(i) for i in range(len(s))]

    def _check(self, s: Scores) -> None:
        check_layout(s, (), "Enumerated")
        if not self.shared and len(s) != len(self._tables):
            raise ValueError(
                f"Enumerated lists the outputs of {len(self._tables)} examples and got scores of {len(s)}. "
                "Use structure.select(examples) for a sub-batch."
            )
        for i, size in enumerate(np.diff(s.offsets)):
            if size != self._table(i).parts.shape[1]:
                raise ValueError(
                    f"Example {i} has {size} part scores; its outputs use {self._table(i).parts.shape[1]}."
                )


def _like(s: Scores, nodes: list[FloatArray]) -> Scores:
    return Scores.unchecked(np.concatenate([np.zeros(0), *nodes]), s.offsets)


def _table(outputs: Any, parts: Any, at: str) -> _Table:
    y = np.asarray(outputs)
    if y.ndim != 2 or not len(y) or y.dtype.kind not in "iu" or (y.size and y.min() < 0):
        raise ValueError(
            f"outputs{at} is {y.dtype}{list(y.shape)}; it must be a non-empty integer array [K, p] of labels >= 0."
        )
    y = y.astype(np.int64)
    if len(np.unique(y, axis=0)) != len(y):
        raise ValueError(f"outputs{at} lists an output twice; every output must be listed once.")
    rows = finite_float(
        [as_float(parts(row), f"parts(outputs{at})") for row in y] if callable(parts) else parts, f"parts{at}"
    )
    if rows.ndim != 2 or len(rows) != len(y):
        raise ValueError(f"parts{at} has shape {list(rows.shape)}; {len(y)} outputs need [{len(y)}, m].")
    return _Table(y, rows)
