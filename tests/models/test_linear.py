"""Linear models: the adjoint is the adjoint, scores are linear, a sub-batch is a sub-batch."""

from __future__ import annotations

import re
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from casimir._arrays import aligned_zeros
from casimir.features import PackedSequences, pack
from casimir.models import LinearCandidateModel, LinearChainModel, LinearPartsModel
from casimir.models.base import ScoreModel
from casimir.models.tokens import feature_matrix
from casimir.models.weight_rows import stride_of
from casimir.scores import Scores, chain_edge_offsets

N = 7


def sequences(rng: np.random.Generator, weighted: bool) -> PackedSequences:
    def value() -> Any:
        return float(rng.normal()) if weighted else str(rng.integers(5))

    tokens = [[{f"f{j}": value() for j in range(rng.integers(4))} for _ in range(rng.integers(1, 6))] for _ in range(N)]
    return pack(tokens, 13)  # few buckets, so that some features of a token collide


def parts(rng: np.random.Generator, blocks: list[int], d: int, kind: str) -> list[Any]:
    dense = [rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.5) for m in blocks]
    return [sp.csc_matrix(a) if kind == "sparse" or (kind == "mixed" and i % 2) else a for i, a in enumerate(dense)]


def make_model(name: str, seed: int) -> ScoreModel:
    rng = np.random.default_rng(seed)
    if name.startswith("chain"):
        return LinearChainModel(sequences(rng, "weighted" in name), int(name[-1]))
    counts = rng.integers(1, 5, N).tolist()
    if name == "candidates":
        return LinearCandidateModel([rng.normal(size=(m, 6)) for m in counts])
    kind = name.split("-")[1]
    if "edges" in name:
        edges = parts(rng, [(m - 1) * 9 for m in counts], 6, kind)
        return LinearPartsModel(parts(rng, [3 * m for m in counts], 6, kind), edges, n_labels=3)
    return LinearPartsModel(parts(rng, counts, 6, kind))


MODELS = [
    *("chain-1", "chain-3", "chain-4", "chain-weighted-5", "candidates"),
    *("parts-dense", "parts-sparse", "parts-mixed", "parts-dense-edges", "parts-sparse-edges"),
]
every_model = pytest.mark.parametrize("name", MODELS)


def random_weights(model: Any, rng: np.random.Generator) -> np.ndarray:
    """Padding stays zero."""
    w = model.zeros()
    if isinstance(model, LinearChainModel):
        for block in model.unpack(w):
            block[...] = rng.normal(size=block.shape)
    else:
        w[:] = rng.normal(size=w.shape)
    return w


def random_like(s: Scores, rng: np.random.Generator) -> Scores:
    """Marginals have an own matrix per edge, also where the scores share theirs."""
    nodes = rng.normal(size=s.nodes.shape)
    if s.edges is None:
        return Scores(nodes, s.offsets)
    edge_offsets = chain_edge_offsets(s.offsets) if s.edge_offsets is None else s.edge_offsets
    return Scores(nodes, s.offsets, rng.normal(size=(edge_offsets[-1], *s.edges.shape[-2:])), edge_offsets)


examples_strategy = st.one_of(
    st.none(),
    st.lists(st.integers(-N, N - 1), min_size=1),
    st.lists(st.booleans(), min_size=N, max_size=N).map(np.array),
    st.slices(N),
)


@every_model
@given(seed=st.integers(0, 10**6), examples=examples_strategy)
@settings(max_examples=25, deadline=None)
def test_adjoint_moves_to_the_other_side(name: str, seed: int, examples: Any) -> None:
    """<scores(w), m> = <w, adjoint(m)>"""
    model, rng = make_model(name, seed), np.random.default_rng(seed + 1)
    w = random_weights(model, rng)
    s = model.scores(w, examples)
    m = random_like(s, rng)
    np.testing.assert_allclose(s.dot(m).sum(), w @ model.adjoint(m, examples), rtol=1e-10, atol=1e-10)


@every_model
@given(seed=st.integers(0, 10**6), a=st.floats(-10, 10))
@settings(max_examples=15, deadline=None)
def test_scores_and_adjoint_are_linear(name: str, seed: int, a: float) -> None:
    model, rng = make_model(name, seed), np.random.default_rng(seed + 1)
    v, w = random_weights(model, rng), random_weights(model, rng)
    left, right = model.scores(v + a * w), model.scores(v) + model.scores(w) * a
    np.testing.assert_allclose(left.nodes, right.nodes, atol=1e-9)
    if left.edges is not None:
        np.testing.assert_allclose(left.edges, right.edges, atol=1e-9)
    m, l = random_like(left, rng), random_like(left, rng)
    np.testing.assert_allclose(model.adjoint(m + l * a), model.adjoint(m) + a * model.adjoint(l), atol=1e-9)


@every_model
@given(seed=st.integers(0, 10**6), examples=examples_strategy)
@settings(max_examples=25, deadline=None)
def test_scores_of_some_examples_are_those_of_all(name: str, seed: int, examples: Any) -> None:
    model, rng = make_model(name, seed), np.random.default_rng(seed + 1)
    w = random_weights(model, rng)
    some, all_scores = model.scores(w, examples), model.scores(w).select(slice(None) if examples is None else examples)
    np.testing.assert_array_equal(some.offsets, all_scores.offsets)
    np.testing.assert_allclose(some.nodes, all_scores.nodes, rtol=1e-13, atol=1e-13)
    if some.edges is not None:
        np.testing.assert_allclose(some.edges, all_scores.edges, rtol=1e-13, atol=1e-13)


@every_model
def test_adjoint_of_all_is_the_sum_of_the_parts(name: str) -> None:
    model, rng = make_model(name, 3), np.random.default_rng(4)
    m = random_like(model.scores(random_weights(model, rng)), rng)
    pieces = [model.adjoint(m.select([i]), [i]) for i in range(N)]
    np.testing.assert_allclose(model.adjoint(m), np.sum(pieces, axis=0), atol=1e-12)


@every_model
def test_no_examples_give_no_scores_and_a_zero_gradient(name: str) -> None:
    model = make_model(name, 0)
    for examples in ([], np.zeros(N, bool), slice(0, 0), np.zeros(0, np.int64)):
        s = model.scores(random_weights(model, np.random.default_rng(0)), examples)
        assert len(s) == 0
        assert not np.any(model.adjoint(random_like(s, np.random.default_rng(0)), examples))


@every_model
def test_wrong_weights_and_marginals_are_refused(name: str) -> None:
    model = make_model(name, 0)
    for w in (np.zeros(model.n_params + 1), np.zeros(model.n_params, np.float32), [0.0] * model.n_params):
        with pytest.raises(ValueError, match="needs a contiguous float64"):
            model.scores(w)
    with pytest.raises(ValueError, match="same `examples`"):
        model.adjoint(model.scores(np.zeros(model.n_params)), [0, 1])
    with pytest.raises(ValueError, match="list of example numbers"):
        model.scores(np.zeros(model.n_params), 3)


@every_model
def test_arguments_are_left_alone(name: str) -> None:
    model, rng = make_model(name, 0), np.random.default_rng(0)
    w = random_weights(model, rng)
    before = w.copy()
    s = model.scores(w)
    s.nodes[...] = 7.0
    if s.edges is not None:
        s.edges[...] = 7.0
    np.testing.assert_array_equal(w, before)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_bound_on_rows_leaves_features_alone_that_a_token_has_twice(weighted: bool) -> None:
    """The core reads the same arrays, and SciPy adds up repeated entries in place."""
    X = sequences(np.random.default_rng(0), weighted)
    model, indices, values = LinearChainModel(X, 3), X.indices.copy(), None if X.values is None else X.values.copy()
    scores = model.scores(np.arange(float(model.n_params)))
    model.longest_rows([np.zeros(n, dtype=np.int64) for n in np.diff(X.offsets)])
    np.testing.assert_array_equal(X.indices, indices)
    assert values is None or np.array_equal(X.values, values)
    np.testing.assert_array_equal(model.scores(np.arange(float(model.n_params))).nodes, scores.nodes)


# --- chains


@pytest.mark.parametrize("n_labels", [1, 3, 4])
def test_chain_score_of_an_output_adds_up_by_hand(n_labels: int) -> None:
    model, rng = make_model(f"chain-{n_labels}", 1), np.random.default_rng(2)
    assert isinstance(model, LinearChainModel)
    w = random_weights(model, rng)
    U, transitions, start, stop = model.unpack(w)
    s, X = model.scores(w), model.X
    for i in range(N):
        p = int(X.lengths[i])
        for y in list(product(range(n_labels), repeat=p))[:20]:
            expected = start[y[0]] + stop[y[-1]] + sum(transitions[a, b] for a, b in pairwise(y))
            for v, label in enumerate(y):
                t = X.offsets[i] + v
                expected += U[X.indices[X.indptr[t] : X.indptr[t + 1]], label].sum()
            edges = s.pairwise(i)[np.arange(p - 1), y[:-1], y[1:]].sum()
            np.testing.assert_allclose(s.unary(i)[np.arange(p), y].sum() + edges, expected, atol=1e-12)


def test_chain_weights_lie_as_documented() -> None:
    model = LinearChainModel(pack([[["a"]]], 10), 3)
    assert (model.stride, model.n_params) == (4, (10 + 3 + 2) * 4)
    w = np.arange(float(model.n_params))
    U, transitions, start, stop = model.unpack(w)
    assert (U.shape, transitions.shape, start.shape, stop.shape) == ((10, 3), (3, 3), (3,), (3,))
    assert (U[9, 2], transitions[1, 2], start[0], stop[2]) == (38.0, 46.0, 52.0, 58.0)
    assert all(np.shares_memory(view, w) for view in (U, transitions, start, stop))


@pytest.mark.parametrize(("n_labels", "stride"), [(1, 4), (4, 4), (5, 8), (8, 8), (9, 12)])
def test_stride_is_the_next_multiple_of_four(n_labels: int, stride: int) -> None:
    assert stride_of(n_labels) == stride


def test_chain_gradient_keeps_the_padding_at_zero() -> None:
    model, rng = LinearChainModel(sequences(np.random.default_rng(0), False), 3), np.random.default_rng(0)
    gradient = model.adjoint(random_like(model.scores(model.zeros()), rng))
    assert not np.any(gradient.reshape(-1, 4)[:, 3:])


def test_chain_marginals_may_share_edges_or_have_none() -> None:
    model, rng = LinearChainModel(sequences(np.random.default_rng(0), False), 3), np.random.default_rng(0)
    w = random_weights(model, rng)
    s = model.scores(w)
    shared = Scores(rng.normal(size=s.nodes.shape), s.offsets, rng.normal(size=(3, 3)))
    for m in (shared, Scores(shared.nodes, s.offsets)):
        np.testing.assert_allclose(s.dot(m).sum(), w @ model.adjoint(m), rtol=1e-12)


def test_chain_takes_numbers_beyond_31_bits() -> None:
    X = PackedSequences(np.array([0, 1]), np.array([0, 1]), np.array([2**31 + 5], np.uint32), None, 2**32 - 1)
    matrix = feature_matrix(X)
    assert matrix.indices.tolist() == [2**31 + 5]


def test_chain_needs_packed_features() -> None:
    with pytest.raises(TypeError, match="pack"):
        LinearChainModel([[["a"]]], 3)
    with pytest.raises(ValueError, match="n_labels"):
        LinearChainModel(pack([[["a"]]]), 0)


# --- candidates and parts


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "non-empty list"),
        ([np.zeros(3)], "non-empty list"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], r"features\[1\]"),
        ([np.zeros((0, 3))], "empty"),
        ([np.full((1, 2), np.nan)], "nan"),
    ],
)
def test_bad_candidate_features_are_refused(features: list[np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearCandidateModel(features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "empty"),
        (([np.zeros((2, 3)), np.zeros((2, 4))],), r"nodes\[1\]"),
        (([np.zeros((5, 3))], None, 2), "multiple of 2"),
        (([np.zeros((4, 3))], [np.zeros((4, 3))]), "n_labels"),
        (([np.zeros((4, 3))], [np.zeros((4, 2))], 2), "columns"),
        (([np.zeros((4, 3))], [np.zeros((4, 3))] * 2, 2), "one matrix per example"),
        (([np.full((2, 3), np.inf)],), "inf"),
        (([sp.csr_matrix(np.full((2, 3), np.nan))],), "NaN"),
    ],
)
def test_bad_part_matrices_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearPartsModel(*arguments)


def test_part_marginals_with_other_edges_are_refused() -> None:
    model = LinearPartsModel([np.zeros((4, 3))], [np.zeros((4, 3))], n_labels=2)
    wrong = Scores(np.zeros((2, 2)), np.array([0, 2]), np.zeros((2, 2, 2)), np.array([0, 2]))
    with pytest.raises(ValueError, match="edges"):
        model.adjoint(wrong)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")
def test_long_arrays_ask_for_large_pages() -> None:
    short, long = aligned_zeros(2**18), aligned_zeros(2**20)
    assert [advised_large(one.ctypes.data) for one in (short, long)] == [False, True]


def advised_large(address: int) -> bool:
    """Whether the kernel was told so of the memory there."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if (head := re.match("([0-9a-f]+)-([0-9a-f]+) ", line)) is not None:
            inside = int(head[1], 16) <= address < int(head[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise AssertionError("there is no such memory")


@pytest.mark.parametrize("n", [1, 7, 8, 1000, 10**6])
def test_aligned_zeros_start_at_a_cache_line(n: int) -> None:
    for _ in range(5):
        w = aligned_zeros(n)
        assert w.ctypes.data % 64 == 0
        assert w.shape == (n,)
        assert not w.any()
