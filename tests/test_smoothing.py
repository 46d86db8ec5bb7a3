"""Smoothed max functions: what holds for every structure is in the contract (casimir.testing); here is the rest."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from casimir import smoothing as smoothing_module
from casimir.errors import Intractable
from casimir.scores import Scores
from casimir.smoothing import L2, Entropy, Hard, Smoothed, Smoothing, l2_upper, project_simplex
from casimir.structures.base import Best, TopK
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.testing import l2_max, project_by_bisection

CANDIDATES = Candidates()
ALL: list[Smoothing] = [Hard(), L2(k=2), L2(), Entropy()]


class PlainTopK:
    """A chain that does not know when to stop: L2 has to ask again for more."""

    def __init__(self, n_labels: int) -> None:
        self.chain, self.asked = Chain(n_labels), list[tuple[int, int]]()

    def topk(self, s: Scores, k: int) -> TopK:
        self.asked.append((len(s), k))
        return self.chain.topk(s, k)

    def __getattr__(self, name: str) -> Any:
        if name == "topk_until":
            raise AttributeError(name)
        return getattr(self.chain, name)

    def select(self, examples: Any) -> PlainTopK:
        return self


def random_chain(n: int = 5, labels: int = 3, length: int = 5, seed: int = 0) -> tuple[Chain, Scores]:
    rng = np.random.default_rng(seed)
    chain = Chain(labels)
    return chain, chain.scores(rng.normal(size=(n, length, labels)), rng.normal(size=(labels, labels)))


def assert_same(a: Smoothed, b: Smoothed) -> None:
    np.testing.assert_array_equal(a.value, b.value)
    np.testing.assert_array_equal(a.exact, b.exact)
    np.testing.assert_array_equal(a.max_value, b.max_value)
    np.testing.assert_array_equal(a.marginals.nodes, b.marginals.nodes)
    np.testing.assert_array_equal(a.marginals.edges, b.marginals.edges)


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-3, 3)))
def test_projection_is_the_nearest_point_of_the_simplex(z: np.ndarray) -> None:
    u = project_simplex(z)
    assert u.min() >= 0
    assert u.sum() == pytest.approx(1)
    np.testing.assert_allclose(u, project_by_bisection(z), rtol=0, atol=1e-9)


def test_projection_of_known_points() -> None:
    assert project_simplex([1, 0.5]).tolist() == [0.75, 0.25]
    assert project_simplex([5.0]).tolist() == [1.0]
    assert project_simplex([3, 1, 3]).tolist() == [0.5, 0, 0.5]
    np.testing.assert_allclose(project_simplex(np.full(4, 1e12)), 0.25)


@pytest.mark.parametrize(
    ("z", "message"),
    [
        ([], r"z has shape \[0\]"),
        ([[1.0]], r"z has shape \[1, 1\]; it must be \[m\]"),
        ([1.0, np.nan], r"z has nan at index \[1\]"),
    ],
)
def test_projection_refuses_other_things(z: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        project_simplex(z)


def test_l2_value_and_weights_by_hand() -> None:
    """u = (3/4, 1/4): value = 3/4 + 1/8 - 1/2 (10/16 - 1), not sum_k u_k psi_k alone."""
    smooth = L2(k=2)(CANDIDATES, CANDIDATES.scores([[1.0, 0.5]]), 1.0)
    assert smooth.value.tolist() == [1.0625]
    assert smooth.marginals.unary(0).tolist() == [0.75, 0.25]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("mu", [0.5, 2.0, 50.0])
def test_top_k_value_and_gradient_are_of_one_function_also_where_inexact(k: int, mu: float) -> None:
    z = np.array([0.3, 1.0, 0.8, -0.2, 0.5, 0.9])
    smooth = L2(k=k)(CANDIDATES, CANDIDATES.scores([z]), mu)
    h = 1e-6
    for j, m in enumerate(smooth.marginals.unary(0)):
        step = h * np.eye(6)[j]
        up, down = (L2(k=k)(CANDIDATES, CANDIDATES.scores([z + sign * step]), mu).value[0] for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(m, abs=1e-5)


def test_exact_flags_follow_the_proposition() -> None:
    s = CANDIDATES.scores([[4.0, 3.0, 1.0], [4.0, 3.9, 3.8], [4.0, 3.9]])
    # K = 2: sum_{i <= 2} (z_i - z_3) is 5 and 0.3; the third example has no other outputs.
    assert L2(k=2)(CANDIDATES, s, 5.0).exact.tolist() == [True, False, True]
    assert L2(k=2)(CANDIDATES, s, 5.1).exact.tolist() == [False, False, True]
    assert L2(k=2)(CANDIDATES, s, 0.1).exact.tolist() == [True, True, True]
    assert L2(k=3)(CANDIDATES, s, 5.1).exact.all()


@settings(max_examples=300, deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(1, 12), elements=st.integers(-8, 8).map(lambda j: j / 4)),
    st.integers(1, 12),
    st.sampled_from([0.1, 0.5, 1.0, 4.0, 30.0]),
    st.floats(0.0, 2.0),
)
def test_some_outputs_and_a_bound_of_the_rest_bound_the_smoothed_max(
    z: np.ndarray, k: int, mu: float, slack: float
) -> None:
    z = -np.sort(-z)
    first = z[:k]
    value, true = l2_max(first, mu)[0], l2_max(z, mu)[0]
    rest = z[k] + slack if len(z) > k else -np.inf
    upper, settled = l2_upper(first[None], np.array([rest]), np.array([value]), mu)
    assert upper[0] >= true - 1e-9
    assert upper[0] >= value
    if settled[0]:
        assert upper[0] == value == pytest.approx(true, abs=1e-9)
    else:  # it is attained when many others are as good as the bound
        many = l2_max(np.concatenate([first, np.full(20_000, rest)]), mu)[0]
        assert upper[0] == pytest.approx(many, abs=1e-3 * mu)


class Unfinished(Candidates):
    """Knows the first candidate alone, and a bound of the others."""

    def max(self, s: Scores) -> Best:
        first = np.array([s.unary(i)[0] for i in range(len(s))])
        upper = np.array([s.unary(i).max() for i in range(len(s))])
        return Best(first, [np.array([0])] * len(s), upper)

    def topk(self, s: Scores, k: int) -> TopK:
        value = np.full((len(s), k), -np.inf)
        value[:, 0] = self.max(s).value
        rest = [s.unary(i)[1:].max(initial=-np.inf) for i in range(len(s))]
        return TopK(value, [np.zeros((1, 1), dtype=np.int64)] * len(s), np.array(rest))


@pytest.mark.parametrize("k", [1, 2, None])
def test_an_oracle_that_did_not_finish_is_exact_only_where_nothing_is_missed(k: int | None) -> None:
    s = CANDIDATES.scores([[1.0, 2.0, 1.5], [3.0, 2.0], [1.0], [1.0, 0.9]])
    hard = Hard()(Unfinished(), s)
    assert hard.value.tolist() == [1.0, 3.0, 1.0, 1.0]
    assert hard.exact.tolist() == [False, True, True, True]
    assert hard.max_value is not None
    assert hard.upper is not None
    assert hard.max_value.tolist() == hard.upper.tolist() == [2.0, 3.0, 1.0, 1.0]
    smooth = L2(k=k)(Unfinished(), s, 1.0)  # says nothing of its cap, which was not reached
    assert smooth.exact.tolist() == [False, True, True, False]
    assert smooth.max_value is not None
    assert smooth.upper is not None
    assert smooth.max_value.tolist() == [2.0, 3.0, 1.0, 1.0]
    np.testing.assert_allclose(smooth.upper, [2.5, 3.0, 1.0, 0.9 + 0.5 + 0.005])
    np.testing.assert_array_equal(smooth.value, [1.0, 3.0, 1.0, 1.0])


@pytest.mark.parametrize("smoothing", [L2(k=2), L2(k=20), L2(k=100), L2()])
@pytest.mark.parametrize("mu", [0.1, 2.0, 30.0])
def test_asking_for_more_outputs_is_the_same_as_pulling_them(smoothing: L2, mu: float) -> None:
    chain, s = random_chain()
    assert_same(smoothing(PlainTopK(3), s, mu), smoothing(chain, s, mu))


def test_only_unsettled_examples_are_asked_again() -> None:
    plain = PlainTopK(2)
    s = plain.chain.scores([np.zeros((6, 2)), [[0, 9.0]] * 6], np.zeros((2, 2)))
    assert L2()(plain, s, 1.0).exact.all()
    assert plain.asked == [(2, 16), (1, 32), (1, 64), (1, 128)]


def test_large_batches_are_smoothed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, s = random_chain(n=9)
    whole = L2(k=4)(chain, s, 2.0)
    monkeypatch.setattr(smoothing_module, "_CHUNK_LABELS", 60)
    chunks = L2(k=4)(chain, s, 2.0)
    assert_same(chunks, whole)
    assert not whole.exact.all()
    np.testing.assert_array_equal(chunks.upper, whole.upper)


def test_exact_l2_warns_at_its_cap() -> None:
    chain = Chain(2)
    s = chain.scores([np.zeros((6, 2)), [[0.0, 9.0]] * 6, np.zeros((6, 2))], np.zeros((2, 2)))
    with pytest.warns(RuntimeWarning, match=r"cap=10 outputs for 2 of 3 examples with mu=1 \(the first is 0\)"):
        smooth = L2(cap=10)(chain, s, 1.0)
    assert smooth.exact.tolist() == [False, True, False]
    assert L2(cap=64)(chain, s, 1.0).exact.all()
    assert L2(k=10)(chain, s, 1.0).exact.tolist() == [False, True, False]  # asked for: no warning


@pytest.mark.parametrize("smoothing", ALL)
def test_small_mu_gives_the_max(smoothing: Smoothing) -> None:
    chain, s = random_chain(n=20)
    s = s * 1e4
    smooth, best = smoothing(chain, s, 1e-3), chain.max(s)
    np.testing.assert_allclose(smooth.value, best.value, rtol=1e-12)
    hard = Hard()(chain, s, 0.0)
    np.testing.assert_allclose(smooth.marginals.nodes, hard.marginals.nodes, atol=1e-12)
    np.testing.assert_allclose(smooth.marginals.edges, hard.marginals.edges, atol=1e-12)


@pytest.mark.parametrize("smoothing", ALL)
def test_marginals_are_distributions(smoothing: Smoothing) -> None:
    chain, s = random_chain()
    marginals = smoothing(chain, s, 3.0).marginals
    np.testing.assert_allclose(marginals.nodes.sum(axis=1), 1.0, rtol=1e-12)
    for i in range(len(s)):
        np.testing.assert_allclose(marginals.pairwise(i).sum(axis=2), marginals.unary(i)[:-1], atol=1e-12)
        np.testing.assert_allclose(marginals.pairwise(i).sum(axis=1), marginals.unary(i)[1:], atol=1e-12)


@pytest.mark.parametrize(("smoothing", "name"), [(L2(), "L2"), (L2(k=3), "L2"), (Entropy(), "Entropy")])
def test_a_missing_oracle_is_named(smoothing: Smoothing, name: str) -> None:
    chain, s = random_chain()
    only_max: Any = SimpleNamespace(max=chain.max, mixture=chain.mixture)
    oracle = "topk" if name == "L2" else "expect"
    with pytest.raises(TypeError, match=rf"{name} smoothing needs Structure.{oracle}, which .* Use .*Hard\(\)"):
        smoothing(only_max, s, 1.0)
    assert Hard()(only_max, s).exact.all()


def test_an_intractable_oracle_speaks_for_itself() -> None:
    def expect(s: Scores, mu: float) -> None:
        raise Intractable("GraphCut has no expect; use L2(k=...).")

    with pytest.raises(Intractable, match="use L2"):
        Entropy()(SimpleNamespace(expect=expect), random_chain()[1], 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("mu", [0, -1.0, np.nan, np.inf])
def test_mu_must_be_positive_where_it_is_used(mu: float) -> None:
    chain, s = random_chain()
    for smoothing in (L2(), L2(k=2), Entropy()):
        with pytest.raises(ValueError, match=r"mu=.*; it must be finite and larger than 0"):
            smoothing(chain, s, mu)
    assert_same(Hard()(chain, s, mu), Hard()(chain, s))


def test_hyperparameters_are_checked() -> None:
    with pytest.raises(ValueError, match="k=0"):
        L2(k=0)
    with pytest.raises(TypeError, match=r"k=2.5"):
        L2(k=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cap=-1"):
        L2(cap=-1)
    with pytest.raises(TypeError, match="mu='a'"):
        Entropy()(*random_chain(), "a")  # type: ignore[arg-type]


def test_bounds_of_the_smoothing_functions() -> None:
    assert [s.bound(np.log(8)) for s in ALL] == [0.0, 0.5, 0.5, np.log(8)]


def test_smoothings_are_values() -> None:
    assert L2(k=5) == L2(k=5) != L2()
    assert len({L2(k=5), L2(k=5), Hard(), Entropy()}) == 3
    assert pickle.loads(pickle.dumps(L2(k=5))) == L2(k=5)
    with pytest.raises(AttributeError):
        L2().k = 3  # type: ignore[misc]


def test_k_beyond_the_number_of_outputs_and_of_an_integer() -> None:
    chain = Chain(2)
    s = chain.scores([np.array([[0.0, 1.0], [2.0, 0.0]])], np.zeros((2, 2)))
    assert L2(k=2**61)(chain, s, 1.0).value == L2()(chain, s, 1.0).value
    with pytest.raises(ValueError, match=r"k=.*; it must be below 2\^62"):
        L2(k=2**63)
    with pytest.raises(ValueError, match=r"k=.*; it must be below 2\^62"):
        chain.topk(s, 2**70)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_chunks_follow_one_another_and_fit_in_memory(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothing_module, "_CHUNK_LABELS", 20)
    lengths = np.random.default_rng(0).integers(1, 9, 40)
    s = Chain(2).scores([np.zeros((p, 2)) for p in lengths], np.zeros((2, 2)))
    chunks = list(smoothing_module._chunks(s, k))
    assert np.concatenate(chunks).tolist() == list(range(40))
    assert len(chunks) > 1
    for chunk in chunks:
        assert np.sum(lengths[chunk[1:]]) * min(k, 20) < 20, "the first one is taken whatever it needs"
