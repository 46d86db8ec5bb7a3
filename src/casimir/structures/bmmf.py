"""Best Max-Marginal First: the k best outputs of any structure that has max-marginals (Yanover & Weiss 2004)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from casimir._validate import positive_int
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Structure, indicator

BoolArray = npt.NDArray[np.bool_]
Labels = tuple[int, ...]

_ROUNDING = 4 * np.finfo(np.float64).eps  # scores that differ by less, times the sum of all scores, are ties
_TOLERANCE = 1e-12  # max-marginals that differ by less are decoded and compared by their outputs


@dataclass(frozen=True, eq=False, slots=True)
class CountedTopK:
    """The k best outputs, sorted by (-value, lexicographic order), and what they took.

    value      float64[n, k], -inf where an example has fewer than k outputs
    outputs    list of int64[k_i, p_i]
    calls      int64[n]: tables of max-marginals, at most 2 k
    decodings  int64[n]: calls of max
    """

    value: FloatArray
    outputs: list[IntArray]
    calls: IntArray
    decodings: IntArray


def bmmf(structure: Structure, s: Scores, k: int) -> CountedTopK:
    """The k best outputs from max-marginals psi_{v;j} = max {score(y) : y_v = j} (algo:top_k_map:general).

    The outputs are kept in disjoint subsets, each given by the labels it allows at every node. A subset knows its best
    output y and the best one beside it, which is found where psi_{v;j}, j != y_v, is largest. When that one is pulled,
    the subset is split at v into y_v = j and y_v != j, and both halves get a new table.

    A label is forbidden by a large penalty on its node score, so the structure must have one node score per node and
    label: Chain, Candidates, Tree, JunctionTree, GraphCut, Matching. This is a reference in Python; a structure's own
    topk is faster.
    """
    k = positive_int(k, "k")
    for oracle in ("max", "max_marginals", "score_of", "mixture", "select"):
        if not callable(getattr(structure, oracle, None)):
            raise TypeError(f"bmmf needs Structure.{oracle}, which {type(structure).__name__} does not have.")
    searches = [_Search(structure.select([i]), s.select([i])) for i in range(len(s))]
    value, outputs = np.full((len(s), k), -np.inf), []
    for i, search in enumerate(searches):
        pulled = search.pull(k)
        value[i, : len(pulled)] = [z for z, _ in pulled]
        outputs.append(np.array([y for _, y in pulled], dtype=np.int64))
    calls = np.array([search.calls for search in searches], dtype=np.int64)
    decodings = np.array([search.decodings for search in searches], dtype=np.int64)
    return CountedTopK(value, outputs, calls, decodings)


@dataclass(eq=False, slots=True)
class _Subset:
    """The outputs that use only allowed labels.

    allowed  bool[p, L]
    best     the best of them and its value
    next     (value, output, node, label): the best one beside it, which has this label at this node; None if there is
             no other
    """

    allowed: BoolArray
    value: float
    best: Labels
    next: tuple[float, Labels, int, int] | None


class _Search:
    """Best-first search among the outputs of one example."""

    def __init__(self, structure: Structure, s: Scores) -> None:
        self.calls = self.decodings = 0
        self._structure, self._s = structure, s
        self._total = _sum_of_scores(s)
        # A power of two, so that whole scores stay whole; large enough that one forbidden label outweighs all the rest.
        self._penalty = 2.0 ** math.ceil(math.log2(16.0 * self._total)) if self._total > 0.0 else 1.0

    def pull(self, k: int) -> list[tuple[float, Labels]]:
        y = self._decode(None)
        pulled = [(self._score(y), y)]
        subsets: list[_Subset] = []
        while len(pulled) < k:
            if not subsets:
                subsets.append(self._subset(None, *pulled[0]))
            chosen = self._best(subsets)
            if chosen is None or chosen.next is None:
                break
            value, y, v, j = chosen.next
            pulled.append((value, y))
            if len(pulled) < k:
                subsets.remove(chosen)
                with_label, without = chosen.allowed.copy(), chosen.allowed.copy()
                with_label[v] = np.arange(with_label.shape[1]) == j
                without[v, j] = False
                subsets += [self._subset(with_label, value, y), self._subset(without, chosen.value, chosen.best)]
        return pulled

    def _subset(self, allowed: BoolArray | None, value: float, best: Labels) -> _Subset:
        """A subset whose best output is known; one table of max-marginals tells where the best one beside it is."""
        self.calls += 1
        s = self._s if allowed is None else self._constrained(allowed)
        table = self._structure.max_marginals(s)[0].copy()
        if allowed is None:
            self._check_parts(table, best)
            allowed = table > -np.inf
        nodes = np.arange(len(table))
        table[~allowed | (table < -0.5 * self._penalty)] = -np.inf  # forbidden here, or only with a forbidden label
        table[nodes, best] = -np.inf
        subset = _Subset(allowed, value, best, None)
        most = table.max(initial=-np.inf)
        if np.isneginf(most):
            return subset
        for v, j in np.argwhere(table >= most - _TOLERANCE * self._total).tolist():
            only = allowed.copy()
            only[v] = np.arange(table.shape[1]) == j
            y = self._decode(only)
            z = self._score(y)
            if subset.next is None or self._before(z, y, subset.next[0], subset.next[1]):
                subset.next = (z, y, v, j)
        return subset

    def _best(self, subsets: list[_Subset]) -> _Subset | None:
        """The subset with the best next output; of ties the lexicographically first."""
        open_ = [(u.next[0], u.next[1], u) for u in subsets if u.next is not None]
        top = max((z for z, _, _ in open_), default=-math.inf)
        ties = [(y, u) for z, y, u in open_ if z >= top - _ROUNDING * self._total]
        return min(ties, key=lambda tie: tie[0])[1] if ties else None

    def _before(self, z: float, y: Labels, other_z: float, other: Labels) -> bool:
        return z > other_z if abs(z - other_z) > _ROUNDING * self._total else y < other

    def _constrained(self, allowed: BoolArray) -> Scores:
        """The scores with a penalty on every label that is not allowed."""
        s, nodes = self._s, self._s.nodes.copy()
        nodes.reshape(-1)[: allowed.size][~allowed.reshape(-1)] -= self._penalty
        return Scores.unchecked(nodes, s.offsets, s.edges, s.edge_offsets, s.shapes, s.whole, s.reference)

    def _decode(self, allowed: BoolArray | None) -> Labels:
        self.decodings += 1
        y = self._structure.max(self._s if allowed is None else self._constrained(allowed)).outputs[0]
        assert allowed is None or bool(allowed[np.arange(len(y)), y].all())
        return tuple(y.tolist())

    def _score(self, y: Labels) -> float:
        return float(self._structure.score_of(self._s, [np.array(y, dtype=np.int64)])[0])

    def _check_parts(self, table: FloatArray, y: Labels) -> None:
        """Penalties need the node parts [v, j] of the table, and the output must use exactly those with j = y_v."""
        output = np.array(y, dtype=np.int64)
        used = indicator(self._structure, self._s, [output]).nodes.reshape(-1)
        name = type(self._structure).__name__
        if not np.array_equal(used[: table.size], np.eye(table.shape[1])[output].reshape(-1)):
            raise TypeError(
                f"bmmf forbids labels through node scores; {name} has {self._s.nodes.size} node scores for "
                f"{list(table.shape)} nodes and labels, and they are not one for each. Use the structure's own topk."
            )


def _sum_of_scores(s: Scores) -> float:
    """A bound on the absolute score of any output of the only example."""
    total = float(np.abs(s.nodes).sum())
    if s.edges is not None:
        shared = s.edge_offsets is None
        total += float(np.abs(s.edges).sum()) * (len(s.nodes) if shared else 1)
    return total + (0.0 if s.whole is None else float(np.abs(s.whole).sum()))
