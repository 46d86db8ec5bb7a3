"""The contract that every structure keeps, as a test-suite to inherit.

class TestChain(StructureContract):
    def instances(self, elements): ...      # strategy of (structure, scores), small enough to list all outputs
    def listing(self, structure, s): ...    # all outputs of every example, and the parts that each of them uses
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from casimir._threads import n_threads
from casimir.costs import Hamming
from casimir.errors import Intractable
from casimir.scores import Scores
from casimir.smoothing import L2, Entropy, Hard, Smoothing
from casimir.structures.base import indicator
from casimir.testing.brute_force import Listing, Ranked, flatten, l2_max, random_like, rank

Instance = tuple[Any, Scores]

TIES = st.integers(-2, 2).map(float)
"""Small whole scores: sums are exact and ties are frequent."""
REALS = st.floats(-5.0, 5.0, allow_subnormal=False)

_contract = settings(
    max_examples=20,
    deadline=None,
    # The same inherited test runs once per structure; that is the point.
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
_seeds = st.integers(0, 2**32 - 1)
_mus = st.sampled_from([0.05, 0.5, 1.0, 3.0, 20.0])
_smoothings: list[tuple[Smoothing, str]] = [
    (Hard(), "max"),
    (L2(k=1), "topk"),
    (L2(k=3), "topk"),
    (L2(), "topk"),
    (Entropy(), "expect"),
]
_exact_smoothings: list[tuple[Smoothing, str]] = [(Hard(), "max"), (L2(), "topk"), (Entropy(), "expect")]


class StructureContract:
    """Inherit, give `instances` and `listing`, and every oracle, cost and smoothing is held against brute force."""

    oracles: ClassVar[frozenset[str]] = frozenset({"max", "topk", "expect", "max_marginals"})
    """Oracles that the structure has; the others must raise Intractable."""
    labelled: ClassVar[bool] = True
    """Whether outputs are labels; then Hamming is a cost of a structure that has parts_of_cost."""

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[Instance]:
        """Structures and scores made of the given elements: a few examples, a few dozen outputs each."""
        raise NotImplementedError

    def listing(self, structure: Any, s: Scores) -> list[Listing]:
        """All outputs of every example; parts in the order of `flatten`."""
        raise NotImplementedError

    def draw(self, data: st.DataObject, elements: st.SearchStrategy[float] = TIES) -> tuple[Any, Scores, list[Ranked]]:
        """A structure, its scores, and the sorted list of all outputs of every example."""
        structure, s = data.draw(_instances(self, elements))
        with _arguments_unchanged(s):
            return structure, s, [rank(listing, s, i) for i, listing in enumerate(self.listing(structure, s))]

    def step(self, structure: Any, s: Scores, rng: np.random.Generator) -> Scores:
        """A direction in which scores may move and stay scores of the structure."""
        return random_like(s, rng)

    def cost_table_size(self, structure: Any, ranked: list[Ranked]) -> int | None:
        """Labels of a cost table; None where examples differ in them. By default all labels occur in some output."""
        sizes = {1 + int(r.outputs.max()) for r in ranked}
        return sizes.pop() if len(sizes) == 1 else None

    def smoothings(self, pairs: list[tuple[Smoothing, str]]) -> list[Smoothing]:
        """Those whose oracle the structure has; where it has none of them, the test is skipped."""
        found = [smoothing for smoothing, oracle in pairs if oracle in self.oracles]
        if not found:
            pytest.skip("no oracle of these smoothings")
        return found

    def needs(self, *oracles: str) -> None:
        """Skip the test where the structure lacks one of these oracles."""
        missing = set(oracles) - self.oracles
        if missing:
            pytest.skip(f"no {', '.join(sorted(missing))}")

    @_contract
    @given(st.data())
    def test_max_is_the_first_best_output(self, data: st.DataObject) -> None:
        self.needs("max")
        structure, s, ranked = self.draw(data)
        with _arguments_unchanged(s):
            best = structure.max(s)
        assert best.value.dtype == np.float64
        for i, r in enumerate(ranked):
            assert best.value[i] == r.z[0]
            np.testing.assert_array_equal(best.outputs[i], r.outputs[0])
            assert best.outputs[i].dtype == np.int64

    @_contract
    @given(st.data())
    def test_max_of_real_scores_is_attained(self, data: st.DataObject) -> None:
        self.needs("max")
        structure, s, ranked = self.draw(data, REALS)
        best = structure.max(s)
        np.testing.assert_allclose(best.value, [r.z[0] for r in ranked], rtol=0, atol=1e-10)
        np.testing.assert_allclose(structure.score_of(s, best.outputs), best.value, rtol=0, atol=1e-10)

    @_contract
    @given(st.data(), st.integers(1, 40))
    def test_topk_lists_the_best_outputs_in_order(self, data: st.DataObject, k: int) -> None:
        self.needs("topk")
        structure, s, ranked = self.draw(data)
        with _arguments_unchanged(s):
            top = structure.topk(s, k)
        assert top.value.shape == (len(s), k)
        for i, r in enumerate(ranked):
            np.testing.assert_array_equal(top.value[i, : len(r.z)], r.z[:k])
            assert np.all(np.isneginf(top.value[i, len(r.z) :]))
            np.testing.assert_array_equal(top.outputs[i], r.outputs[:k])
            assert top.outputs[i].dtype == np.int64

    @_contract
    @given(st.data(), st.integers(1, 12), st.integers(1, 12))
    def test_topk_is_sorted_distinct_and_prefix_stable(self, data: st.DataObject, k: int, more: int) -> None:
        self.needs("topk")
        structure, s, ranked = self.draw(data, REALS)
        top, longer = structure.topk(s, k), structure.topk(s, k + more)
        np.testing.assert_array_equal(top.value, longer.value[:, :k])
        for i, r in enumerate(ranked):
            count = min(k, len(r.z))
            np.testing.assert_array_equal(top.outputs[i], longer.outputs[i][:k])
            assert len(np.unique(top.outputs[i], axis=0)) == count
            assert np.all(np.diff(top.value[i, :count]) <= 1e-10)
            np.testing.assert_allclose(top.value[i, :count], r.z[:count], rtol=0, atol=1e-10)

    @_contract
    @given(st.data(), st.integers(2, 12), _mus)
    def test_topk_until_is_a_prefix_that_settles_the_projection(self, data: st.DataObject, k: int, mu: float) -> None:
        structure, s, ranked = self.draw(data)
        if not hasattr(structure, "topk_until"):
            pytest.skip("no topk_until")
        pulled = structure.topk_until(s, k, mu)
        for i, r in enumerate(ranked):
            count = len(pulled.values[i])
            assert 1 <= count <= k
            np.testing.assert_array_equal(pulled.values[i], r.z[:count])
            np.testing.assert_array_equal(pulled.outputs[i], r.outputs[:count])
            if count < min(k, len(r.z)):  # it stopped, so the rest must have weight 0
                assert np.sum(r.z[:count] - r.z[count]) >= mu * (1.0 - 1e-12)  # sums of fractions round

    @_contract
    @given(st.data(), _mus)
    def test_expect_is_the_log_sum_exp_and_its_gradient(self, data: st.DataObject, mu: float) -> None:
        self.needs("expect")
        structure, s, ranked = self.draw(data, REALS)
        with _arguments_unchanged(s):
            soft = structure.expect(s, mu)
        for i, r in enumerate(ranked):
            p = np.exp((r.z - r.z[0]) / mu)
            np.testing.assert_allclose(soft.value[i], r.z[0] + mu * np.log(p.sum()), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(flatten(soft.marginals, i), p / p.sum() @ r.parts, rtol=0, atol=1e-9)

    @_contract
    @given(st.data())
    def test_expect_survives_large_scores_and_small_mu(self, data: st.DataObject) -> None:
        self.needs("expect")
        structure, s, ranked = self.draw(data)
        soft = structure.expect(s * 1e4, 1e-3)
        np.testing.assert_allclose(soft.value, [1e4 * r.z[0] for r in ranked], rtol=1e-12, atol=0.1)
        for i, r in enumerate(ranked):
            winners = r.z == r.z[0]
            np.testing.assert_allclose(flatten(soft.marginals, i), r.parts[winners].mean(axis=0), rtol=0, atol=1e-6)

    @_contract
    @given(st.data())
    def test_max_marginals_are_constrained_maxima(self, data: st.DataObject) -> None:
        self.needs("max_marginals")
        structure, s, ranked = self.draw(data)
        with _arguments_unchanged(s):
            tables = structure.max_marginals(s)
        for table, r in zip(tables, ranked, strict=True):
            assert len(table) == r.outputs.shape[1]
            for v, j in np.ndindex(table.shape):
                assert table[v, j] == max(r.z[r.outputs[:, v] == j], default=-np.inf)

    @_contract
    @given(st.data(), _seeds)
    def test_score_and_parts_of_outputs(self, data: st.DataObject, seed: int) -> None:
        structure, s, ranked = self.draw(data, REALS)
        rng = np.random.default_rng(seed)
        picks = [int(rng.integers(len(r.z))) for r in ranked]
        y = [r.outputs[k] for r, k in zip(ranked, picks, strict=True)]
        np.testing.assert_allclose(structure.score_of(s, y), [r.z[k] for r, k in zip(ranked, picks, strict=True)])
        parts = indicator(structure, s, y)
        np.testing.assert_allclose(s.dot(parts), structure.score_of(s, y), rtol=0, atol=1e-10)
        for i, (r, k) in enumerate(zip(ranked, picks, strict=True)):
            np.testing.assert_array_equal(flatten(parts, i), r.parts[k])

    @_contract
    @given(st.data(), _seeds)
    def test_mixture_is_linear_in_the_weights(self, data: st.DataObject, seed: int) -> None:
        structure, s, ranked = self.draw(data, REALS)
        rng = np.random.default_rng(seed)
        picks = [rng.integers(len(r.z), size=rng.integers(1, 5)) for r in ranked]
        weights = [rng.random(len(k)) for k in picks]
        mix = structure.mixture(s, [r.outputs[k] for r, k in zip(ranked, picks, strict=True)], weights)
        for i, (r, k, u) in enumerate(zip(ranked, picks, weights, strict=True)):
            np.testing.assert_allclose(flatten(mix, i), u @ r.parts[k], rtol=0, atol=1e-12)

    @_contract
    @given(st.data(), _seeds, st.booleans())
    def test_hamming_cost_is_a_score(self, data: st.DataObject, seed: int, weighted: bool) -> None:
        structure, s, ranked = self.draw(data)
        if not (self.labelled and hasattr(structure, "parts_of_cost")):
            pytest.skip("no costs of labels")
        rng = np.random.default_rng(seed)
        labels = self.cost_table_size(structure, ranked) if weighted else None
        cost = Hamming(None if labels is None else rng.random((labels, labels)) * (1 - np.eye(labels)))
        y = [r.outputs[rng.integers(len(r.z))] for r in ranked]
        parts = cost.parts(structure, s, y)
        other = [r.outputs[rng.integers(len(r.z))] for r in ranked]
        expected = [cost(a, b) for a, b in zip(y, other, strict=True)]
        np.testing.assert_allclose(structure.score_of(parts, other), expected, rtol=0, atol=1e-9)
        total = structure.score_of(s, other) + expected
        np.testing.assert_allclose(structure.score_of(s + parts, other), total, rtol=0, atol=1e-9)

    @_contract
    @given(st.data(), _mus)
    def test_exact_l2_is_the_projection_over_all_outputs(self, data: st.DataObject, mu: float) -> None:
        self.needs("topk")
        structure, s, ranked = self.draw(data, REALS)
        smooth = L2()(structure, s, mu)
        assert smooth.exact.all()
        for i, r in enumerate(ranked):
            value, u = l2_max(r.z, mu)
            np.testing.assert_allclose(smooth.value[i], value, rtol=0, atol=1e-9)
            np.testing.assert_allclose(flatten(smooth.marginals, i), u @ r.parts, rtol=0, atol=1e-7)

    @_contract
    @given(st.data(), _mus, st.integers(1, 10))
    def test_top_k_strategy_projects_k_scores_and_knows_when_it_is_exact(
        self, data: st.DataObject, mu: float, k: int
    ) -> None:
        self.needs("topk")
        structure, s, ranked = self.draw(data)
        smooth = L2(k=k)(structure, s, mu)
        for i, r in enumerate(ranked):
            value, u = l2_max(r.z[:k], mu)
            np.testing.assert_allclose(smooth.value[i], value, rtol=0, atol=1e-9)
            np.testing.assert_allclose(flatten(smooth.marginals, i), u @ r.parts[:k], rtol=0, atol=1e-9)
            assert smooth.exact[i] == (len(r.z) <= k or np.sum(r.z[:k] - r.z[min(k, len(r.z) - 1)]) >= mu)
            upper, true = smooth.value[i] if smooth.upper is None else smooth.upper[i], l2_max(r.z, mu)[0]
            assert upper >= true - 1e-9
            assert upper == smooth.value[i] or not smooth.exact[i]

    @_contract
    @given(st.data(), _mus)
    def test_smoothed_values_bound_the_max(self, data: st.DataObject, mu: float) -> None:
        structure, s, ranked = self.draw(data, REALS)
        best = structure.max(s).value
        for smoothing in self.smoothings(_smoothings):
            smooth = smoothing(structure, s, mu)
            bound = np.array([smoothing.bound(float(np.log(len(r.z)))) for r in ranked])
            assert np.all(best <= smooth.value + 1e-9), smoothing
            assert np.all(smooth.value <= best + mu * bound + 1e-9), smoothing
            if smooth.max_value is not None:
                np.testing.assert_allclose(smooth.max_value, best, rtol=0, atol=1e-10)

    @_contract
    @given(st.data(), _mus, _seeds)
    def test_marginals_are_subgradients(self, data: st.DataObject, mu: float, seed: int) -> None:
        structure, s, _ = self.draw(data)
        step = self.step(structure, s, np.random.default_rng(seed))
        for smoothing in self.smoothings(_exact_smoothings):
            here, there = smoothing(structure, s, mu), smoothing(structure, s + step, mu)
            assert np.all(there.value >= here.value + step.dot(here.marginals) - 1e-9), smoothing

    @_contract
    @given(st.data(), st.sampled_from([0.3, 1.0, 5.0]), _seeds)
    def test_marginals_are_finite_differences_of_the_value(self, data: st.DataObject, mu: float, seed: int) -> None:
        structure, s, _ = self.draw(data, REALS)
        step, h = self.step(structure, s, np.random.default_rng(seed)), 1e-6
        for smoothing in self.smoothings(_exact_smoothings[1:]):
            slope = step.dot(smoothing(structure, s, mu).marginals)
            up, down = smoothing(structure, s + step * h, mu).value, smoothing(structure, s - step * h, mu).value
            np.testing.assert_allclose((up - down) / (2 * h), slope, rtol=1e-3, atol=1e-3, err_msg=repr(smoothing))

    @_contract
    @given(st.data(), _mus)
    def test_a_batch_is_its_examples_one_by_one(self, data: st.DataObject, mu: float) -> None:
        structure, s, _ = self.draw(data, REALS)
        for smoothing in self.smoothings(_smoothings):
            whole = smoothing(structure, s, mu)
            for i in range(len(s)):
                alone = smoothing(structure.select([i]), s.select([i]), mu)
                assert (alone.value[0], alone.exact[0]) == (whole.value[i], whole.exact[i])
                np.testing.assert_array_equal(flatten(alone.marginals, 0), flatten(whole.marginals, i))

    @settings(_contract, max_examples=5)
    @given(st.data())
    def test_an_empty_batch_gives_empty_results(self, data: st.DataObject) -> None:
        structure, s, _ = self.draw(data)
        none, empty = structure.select([]), s.select([])
        assert none.max(empty).value.shape == (0,)
        if "topk" in self.oracles:
            assert none.topk(empty, 2).value.shape == (0, 2)
        assert none.score_of(empty, []).shape == (0,)
        for smoothing in self.smoothings(_smoothings):
            smooth = smoothing(none, empty, 1.0)
            assert smooth.value.shape == smooth.exact.shape == (0,)
            assert smooth.marginals.nodes.shape == empty.nodes.shape

    @settings(_contract, max_examples=15)
    @given(st.data())
    def test_results_do_not_depend_on_the_number_of_threads(self, data: st.DataObject) -> None:
        structure, s, _ = self.draw(data, REALS)
        for smoothing in self.smoothings(_smoothings):
            with _threads(1):
                one = smoothing(structure, s, 1.0)
            with _threads(3):
                three = smoothing(structure, s, 1.0)
            np.testing.assert_array_equal(one.value, three.value)
            np.testing.assert_array_equal(one.marginals.nodes, three.marginals.nodes)

    @settings(_contract, max_examples=1)
    @given(st.data())
    def test_oracles_out_of_reach_say_so(self, data: st.DataObject) -> None:
        structure, s, _ = self.draw(data)
        calls = {"max": (), "topk": (2,), "expect": (1.0,), "max_marginals": ()}
        for oracle in calls.keys() - self.oracles:
            with pytest.raises(Intractable):
                getattr(structure, oracle)(s, *calls[oracle])

    @settings(_contract, max_examples=3)
    @given(st.data())
    def test_bad_arguments_are_refused(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        for mu in (0.0, -1.0, np.nan, np.inf) if "expect" in self.oracles else ():
            with pytest.raises(ValueError, match=r"mu=.* must be finite and larger than 0"):
                structure.expect(s, mu)
        if "topk" in self.oracles:
            with pytest.raises(ValueError, match="k=0; it must be a whole number"):
                structure.topk(s, 0)
            with pytest.raises(TypeError, match=r"k=1.5; it must be a whole number"):
                structure.topk(s, 1.5)
        with pytest.raises(ValueError, match="finite"):
            structure.max(s * np.nan)
        with pytest.raises(ValueError, match=r"for .* examples"):
            structure.score_of(s, [r.outputs[0] for r in ranked] * 2)


@cache
def _instances(contract: StructureContract, elements: st.SearchStrategy[float]) -> st.SearchStrategy[Instance]:
    """Made once per test: to put a strategy together takes longer than to draw from it."""
    return contract.instances(elements)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Oracles use this many threads, more than there are CPUs if need be; their number is looked up once per process,
    so it has to be forgotten."""
    here = mock.patch("casimir._threads.allowed_cpus", return_value=count)
    with here, mock.patch.dict(os.environ, CASIMIR_NUM_THREADS=str(count)):
        n_threads.cache_clear()
        assert n_threads() == count
        yield
    n_threads.cache_clear()


@contextmanager
def _arguments_unchanged(s: Scores) -> Iterator[None]:
    arrays = [a for a in (s.nodes, s.offsets, s.edges, s.edge_offsets, s.whole) if a is not None]
    before = [a.copy() for a in arrays]
    yield
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)
