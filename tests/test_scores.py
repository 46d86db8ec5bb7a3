"""Layout, arithmetic and sub-batches of Scores."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from casimir._threads import n_threads
from casimir.scores import Scores, chain_edge_offsets, concatenate, offsets_of, segment_sums

LENGTHS = np.array([3, 1, 2])
OFFSETS = offsets_of(LENGTHS)


def scores(edges: str = "own", seed: int = 0, labels: int = 2) -> Scores:
    """Three chains whose edges are None, shared or their own."""
    rng = np.random.default_rng(seed)
    nodes = rng.normal(size=(6, labels))
    if edges == "none":
        return Scores(nodes, OFFSETS)
    if edges == "shared":
        return Scores(nodes, OFFSETS, rng.normal(size=(labels, labels)))
    return Scores(nodes, OFFSETS, rng.normal(size=(3, labels, labels)), chain_edge_offsets(OFFSETS))


def dense(s: Scores, i: int) -> np.ndarray:
    """All parts of example i, zeros where there are no edges."""
    labels = s.nodes.shape[1]
    edges = np.zeros((LENGTHS[i] - 1, labels, labels)) if s.edges is None else s.pairwise(i)
    return np.concatenate([s.unary(i).ravel(), edges.ravel()])


KINDS = ["none", "shared", "own"]


@pytest.mark.parametrize("a", KINDS)
@pytest.mark.parametrize("b", KINDS)
def test_arithmetic_is_that_of_the_parts(a: str, b: str) -> None:
    s, t = scores(a, 1), scores(b, 2)
    total, difference = s + t, s - 2.0 * t
    for i in range(3):
        np.testing.assert_allclose(dense(total, i), dense(s, i) + dense(t, i))
        np.testing.assert_allclose(dense(difference, i), dense(s, i) - 2 * dense(t, i))
        assert s.dot(t)[i] == pytest.approx(dense(s, i) @ dense(t, i))


def test_views_share_memory() -> None:
    s = scores("own")
    assert np.shares_memory(s.unary(0), s.nodes)
    assert np.shares_memory(s.pairwise(2), s.edges)
    shared = scores("shared")
    assert shared.pairwise(0).shape == (2, 2, 2)
    assert shared.pairwise(1).shape == (0, 2, 2)
    assert np.shares_memory(shared.pairwise(0), shared.edges)
    np.testing.assert_array_equal(s.unary(-1), s.unary(2))


def test_examples_out_of_range_and_missing_edges_are_errors() -> None:
    with pytest.raises(IndexError):
        scores().unary(3)
    with pytest.raises(IndexError):
        scores().pairwise(-4)
    with pytest.raises(ValueError, match="no edge parts"):
        scores("none").pairwise(0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ([2, 0], [2, 0]),
        (slice(1, 3), [1, 2]),
        ([], []),
        (np.array([True, False, True]), [0, 2]),
        ([1, 1, -1], [1, 1, 2]),
    ],
)
def test_select_is_a_sub_batch(kind: str, examples: Any, expected: list[int]) -> None:
    s = scores(kind)
    part = s.select(examples)
    assert len(part) == len(expected)
    for i, j in enumerate(expected):
        np.testing.assert_array_equal(part.unary(i), s.unary(j))
        if kind != "none":
            np.testing.assert_array_equal(part.pairwise(i), s.pairwise(j))


def test_select_refuses_what_is_not_a_list_of_examples() -> None:
    with pytest.raises(IndexError):
        scores().select([3])
    with pytest.raises(ValueError, match=r"select got 1; it needs a list of example indices. Try \[1\]"):
        scores().select(1)


@pytest.mark.parametrize("kind", KINDS)
def test_concatenate_undoes_select(kind: str) -> None:
    s = scores(kind)
    joined = concatenate([s.select([0]), s.select([]), s.select([1, 2])])
    for field in ("nodes", "offsets", "edges", "edge_offsets"):
        np.testing.assert_array_equal(getattr(joined, field), getattr(s, field))


def boxes(reference: Any = ((0, 0, 0, 1), (0, 0, 0, 0)), whole: Any = (1.0, 2.0)) -> Scores:
    """Two maps, [1, 2] and [1, 1], with a box each."""
    shapes, box = np.array([[1, 2], [1, 1]]), None if reference is None else np.array(reference)
    return Scores(np.ones(3), np.array([0, 2, 3]), shapes=shapes, whole=np.array(whole), reference=box)


def test_reference_boxes_travel_with_the_scores() -> None:
    s, plain = boxes(), boxes(reference=None)
    for carried in (s + plain, plain + s, s + s, s - plain, 2.0 * s, concatenate([s.select([0]), s.select([1])])):
        np.testing.assert_array_equal(carried.reference, s.reference)
    assert s.select([1]).reference.tolist() == [[0, 0, 0, 0]]
    assert (plain + plain).reference is None
    with pytest.raises(ValueError, match="refers to different boxes"):
        s + boxes(reference=[[0, 0, 0, 0]] * 2)
    with pytest.raises(ValueError, match=r"reference has shape \[1, 4\]; 2 examples need \[2, 4\]"):
        boxes(reference=[[0, 0, 0, 0]])


def test_concatenate_refuses_batches_of_different_kinds() -> None:
    with pytest.raises(ValueError, match="Batch 1 has no reference and others do"):
        concatenate([boxes(), boxes(reference=None)])
    with pytest.raises(ValueError, match="Batch 0 has no edge_offsets and others do"):
        concatenate([scores("shared"), scores("own")])


@pytest.mark.parametrize("kind", KINDS)
def test_results_would_pass_the_checks_of_the_constructor(kind: str) -> None:
    s = scores(kind)
    for made in (
        s + s,
        s - s,
        2 * s,
        s.select(slice(None, None, 2)),
        concatenate([s, s]),
        Scores.unchecked(*fields(s)),
    ):
        Scores(*fields(made))


def test_a_factor_must_be_a_number() -> None:
    with pytest.raises(TypeError):
        scores() * np.ones(3)  # type: ignore[operator]


def fields(s: Scores) -> list[Any]:
    return [getattr(s, field.name) for field in dataclasses.fields(s)]


def test_concatenate_refuses_different_shared_edges() -> None:
    with pytest.raises(ValueError, match="different shared edges"):
        concatenate([scores("shared", 1), scores("shared", 2)])


NODES = np.zeros((6, 2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (NODES.astype(np.float32), OFFSETS),
            r"nodes is float32\[6, 2\]; it needs a float64 array of 1 or 2 dimensions",
        ),
        (([[0.0]], OFFSETS), "nodes is list"),
        ((np.zeros((6, 4))[:, ::2], OFFSETS), "not C-contiguous"),
        ((NODES, OFFSETS.astype(np.int32)), r"offsets is int32\[4\]"),
        ((NODES, OFFSETS[:-1]), "must rise from 0 to 6"),
        ((NODES, np.array([0, 4, 3, 6])), "must rise from 0 to 6"),
        ((NODES, np.zeros(0, dtype=np.int64)), "must rise from 0 to 6"),
        ((NODES, OFFSETS, None, OFFSETS), "edge_offsets but no edges"),
        ((NODES, OFFSETS, np.zeros((3, 2, 2))), "need int64"),
        ((NODES, OFFSETS, np.zeros((2, 2)), OFFSETS), "need None"),
        ((NODES, OFFSETS, np.zeros((3, 2, 2)), np.array([0, 3])), "edge_offsets has 2 entries; it needs 4"),
    ],
)
def test_a_wrong_layout_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scores(*arguments)


def test_different_layouts_do_not_mix() -> None:
    with pytest.raises(ValueError, match=r"nodes \[6, 2\].*nodes \[6, 3\], differ in layout"):
        scores().dot(scores(labels=3))
    other = Scores(np.zeros((6, 2)), OFFSETS, np.zeros((3, 2, 2)), np.array([0, 1, 2, 3]))
    with pytest.raises(ValueError, match="differ in layout"):
        scores() + other


def test_one_matrix_fits_the_edges_of_any_structure() -> None:
    """Trees have a row per node; sums and products with a shared matrix are those with a copy of it per edge."""
    tree = Scores(NODES, OFFSETS, np.random.default_rng(1).normal(size=(6, 2, 2)), OFFSETS)
    shared = scores("shared")
    spread = Scores(shared.nodes, OFFSETS, np.repeat(shared.edges[None], 6, axis=0), OFFSETS)
    for a, b in ((tree + shared, tree + spread), (shared - tree, spread - tree)):
        np.testing.assert_array_equal(a.edges, b.edges)
        np.testing.assert_array_equal(a.edge_offsets, OFFSETS)
    np.testing.assert_allclose(tree.dot(shared), tree.dot(spread))


def test_segment_sums_of_empty_segments_are_zero() -> None:
    assert segment_sums(np.array([1.0, 2, 3]), np.array([0, 0, 2, 2, 3, 3])).tolist() == [0, 3, 0, 3, 0]
    assert segment_sums(np.zeros(0), np.array([0])).tolist() == []


def test_scores_can_be_pickled() -> None:
    s = scores()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(s)).edges, s.edges)


def test_the_number_of_threads_comes_from_the_environment(set_threads: Callable[[str | None], None]) -> None:
    set_threads("3")
    assert n_threads() == 3
    set_threads(None)
    assert n_threads() >= 1
    for bad in ("0", "-1", "two", "1.5"):
        set_threads(bad)
        with pytest.raises(ValueError, match=r"CASIMIR_NUM_THREADS=.* whole number"):
            n_threads()


def test_the_number_of_threads_is_looked_up_once(
    set_threads: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_threads("3")
    assert n_threads() == 3
    monkeypatch.setenv("CASIMIR_NUM_THREADS", "2")
    assert n_threads() == 3
