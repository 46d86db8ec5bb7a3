"""Any structure whose node parts are the labels of its outputs, restricted to some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from casimir._validate import positive_float
from casimir.scores import FloatArray, IntArray, Scores, segment_sums
from casimir.structures.base import Best, Expectation, Pulled, Structure, TopK
from casimir.structures.masks import BoolArray, Masks, Seen

_NEVER = 800.0  # exp(-800) is 0 in doubles
_OFFERED = ("scores", "n_labels", "parts_of_cost", "label_shapes", "layout")  # passed on where the structure has them


class Restricted:
    """The outputs of a structure that use allowed node parts only, with the scores they have there.

    structure  its node part (v, j) is used by the outputs with y_v = j, and by no others
    allowed    Masks: which of them each example may use
    counts     whether y_v may be any allowed label, whatever the others are, so that outputs can be counted

    Forbidden parts get a penalty that is larger than what the scores of two outputs of an example can differ by. So the
    oracles of the structure put all allowed outputs before all others, and those are left out.
    """

    is_constrained = True  # so that true outputs are looked at

    def __init__(self, structure: Any, allowed: Masks, *, counts: bool = False) -> None:
        self.structure, self.allowed, self.counts = structure, allowed, counts
        self._seen = Seen(len(allowed))
        for name in _OFFERED:
            if hasattr(structure, name):
                setattr(self, name, getattr(structure, name))
        if hasattr(structure, "topk_until"):
            self.topk_until = self._topk_until
        if counts:
            self.log_n_outputs = self._log_n_outputs

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.structure, self.allowed, self.counts)

    def __repr__(self) -> str:
        return f"{self.structure!r}.restricted(<{len(self)} examples>)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Restricted) and bool(
            self.structure == other.structure and self.allowed == other.allowed
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.allowed)

    def max(self, s: Scores) -> Best:
        best: Best = self.structure.max(self._penalised(s, 0.0))
        for i, y in enumerate(best.outputs):
            if not self._are_allowed(s, i, y[None])[0]:
                empty = np.flatnonzero(~self._table(s, i).any(axis=1))
                where = f": no label is left for node {empty[0]}" if len(empty) else ""
                raise ValueError(f"Example {i} has no allowed output{where}. Allow more labels.")
        self._seen.add(np.diff(s.offsets))
        return best

    def topk(self, s: Scores, k: int) -> TopK:
        self._check(s)
        top = self.structure.topk(self._penalised(s, 0.0), k)
        values, outputs = top.value.copy(), []
        for i, found in enumerate(top.outputs):
            kept = self._are_allowed(s, i, found)
            values[i, : len(found)][~kept] = -np.inf  # those that are not allowed come last
            outputs.append(found[kept])
        return TopK(values, outputs)

    def expect(self, s: Scores, mu: float) -> Expectation:
        mu = positive_float(mu, "mu")
        self._check(s)
        size = self.structure.log_n_outputs(s) if hasattr(self.structure, "log_n_outputs") else 0.0
        soft: Expectation = self.structure.expect(self._penalised(s, mu * (_NEVER + size)), mu)
        nodes = np.where(self.allowed.over(s.offsets), soft.marginals.nodes, 0.0)
        return Expectation(soft.value, replace(soft.marginals, nodes=nodes))

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, L]: max of score(y) over the allowed outputs with y_v = j, -inf where there are none."""
        tables = self.structure.max_marginals(self._penalised(s, 0.0))
        least = self.max(s).value - 2.0 * _ranges(s)  # between allowed outputs and others
        result = []
        for i, table in enumerate(tables):
            result.append(np.where(self._table(s, i) & (table > least[i] - 0.5), table, -np.inf))
        return result

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        mixed: Scores = self.structure.mixture(s, outputs, weights)
        return mixed

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        value: FloatArray = self.structure.score_of(s, outputs)
        return value

    def check_allowed(self, s: Scores, y: Any, name: str = "y") -> None:
        """Raises where one of the outputs y is not allowed."""
        self.structure.score_of(s, y)  # are they outputs at all?
        self.allowed.check(s.offsets, type(self.structure).__name__, s.shapes)
        for i, output in enumerate(y):
            labels = np.atleast_1d(np.asarray(output))
            for v in np.flatnonzero(~self._table(s, i)[np.arange(len(labels)), labels]).tolist():
                raise ValueError(f"{name}[{i}][{v}] has the label {labels[v]}, which is not allowed there.")

    def select(self, examples: Any) -> Restricted:
        chosen = np.arange(len(self))[examples]
        part = Restricted(self.structure.select(chosen), self.allowed.select(chosen), counts=self.counts)
        part._seen = self._seen.select(chosen)
        return part

    def restricted(self, allowed: Any) -> Restricted:
        """The same with fewer outputs, see the structure's own `restricted`."""
        more = self.structure.restricted(allowed)
        return Restricted(self.structure, self.allowed & more.allowed, counts=self.counts)

    def _topk_until(self, s: Scores, k: int, mu: float) -> Pulled:
        """At most k outputs, fewer once proj_simplex(z / mu) has no use for more (prop:smoothing:proj-simplex-2)."""
        mu = positive_float(mu, "mu")
        self._check(s)
        pulled = self.structure.topk_until(self._penalised(s, mu), k, mu)
        kept = [self._are_allowed(s, i, found) for i, found in enumerate(pulled.outputs)]
        values = [z[there] for z, there in zip(pulled.values, kept, strict=True)]
        return Pulled(values, [y[there] for y, there in zip(pulled.outputs, kept, strict=True)])

    def _log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: sum_v log of the number of labels that node v may have."""
        self._check(s)
        return np.array([np.log(self._table(s, i).sum(axis=1)).sum() for i in range(len(s))], dtype=np.float64)

    def _check(self, s: Scores) -> None:
        """Whether the masks belong to the scores, and every example has an allowed output."""
        self.allowed.check(s.offsets, type(self.structure).__name__, s.shapes)
        if not self._seen.covers(np.diff(s.offsets)):
            self.max(s)

    def _penalised(self, s: Scores, more: Any) -> Scores:
        """The scores with a penalty on forbidden parts: outputs with one lie 3 ranges + 1 + more below the allowed."""
        self.allowed.check(s.offsets, type(self.structure).__name__, s.shapes)
        penalty = np.repeat(4.0 * _ranges(s) + 1.0 + more, np.diff(s.offsets))
        there = self.allowed.over(s.offsets)
        return replace(s, nodes=s.nodes - np.where(there, 0.0, penalty if there.ndim == 1 else penalty[:, None]))

    def _table(self, s: Scores, i: int) -> BoolArray:
        """bool[p_i, L]: the labels that the nodes of example i may have."""
        mask = self.allowed[i]
        if mask is None:
            mask = np.ones(s.unary(i).shape, dtype=np.bool_)
        return mask if mask.ndim == 2 else mask[None]

    def _are_allowed(self, s: Scores, i: int, outputs: IntArray) -> BoolArray:
        """bool[k] of outputs int64[k, p_i]."""
        return np.asarray(self._table(s, i)[np.arange(outputs.shape[1]), outputs].all(axis=1))


def _restore(structure: Structure, allowed: Masks, counts: bool) -> Restricted:
    return Restricted(structure, allowed, counts=counts)


@np.errstate(invalid="ignore")
def _ranges(s: Scores) -> FloatArray:
    """float64[n]: at least the difference between the scores of any two outputs of an example."""
    if s.nodes.ndim == 2:
        total = segment_sums(np.ptp(s.nodes, axis=1), s.offsets)
    else:
        span = [np.ptp(nodes) if (nodes := s.unary(i)).size else 0.0 for i in range(len(s))]
        total = np.array(span, dtype=np.float64) * (1 if s.shapes is None else s.shapes[:, 0])
    if s.edges is None or s.edge_offsets is None:
        return total
    return total + segment_sums(np.ptp(s.edges, axis=(1, 2)), s.edge_offsets)


def kept_rows(allowed: Any, sizes: Sequence[int], one_list: bool) -> list[BoolArray]:
    """Masks of listed outputs, checked against the number of outputs of each example (of all, if they share a list)."""
    masks = Masks.of(allowed, "allowed", ())
    if not one_list and len(masks) != len(sizes):
        raise ValueError(f"allowed has {len(masks)} entries for {len(sizes)} examples; give one or None for each.")
    kept = []
    for i in range(len(masks)):
        size, mask = sizes[0 if one_list else i], masks[i]
        kept.append(np.ones(size, dtype=np.bool_) if mask is None else mask)
        if len(kept[i]) != size:
            raise ValueError(f"allowed[{i}] has {len(kept[i])} entries; example {i} has {size} listed outputs.")
        if not kept[i].any():
            raise ValueError(f"Example {i} has no allowed output. Allow one or more of those listed.")
    return kept
