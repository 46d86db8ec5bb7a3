"""Random small instances of every structure, ties included: each oracle against a list of all outputs."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from soak.budget import tries

import casimir as cs
from casimir.testing.brute_force import Listing, flatten, list_graph

BATCH = 12
TOL: dict[str, float] = {"rtol": 1e-9, "atol": 1e-9}


@cache
def listing_of(n_labels: int, n_nodes: int, ends: tuple[tuple[int, int], ...]) -> Listing:
    return list_graph(n_labels, n_nodes, np.array(ends, dtype=np.int64).reshape(-1, 2))


@cache
def matchings(rows: int, columns: int, null: bool) -> Listing:
    """Columns of the rows, all different but for the last one where that is nothing."""
    places = range(columns + null)
    listed = [y for y in itertools.product(places, repeat=rows) if len({*y} - {columns}) == sum(z < columns for z in y)]
    outputs = np.array(listed, dtype=np.int64)
    return Listing(outputs, np.eye(columns + null)[outputs].reshape(len(outputs), -1))


@cache
def boxes_of(height: int, width: int) -> Listing:
    sides = [(a, b) for a in range(height) for b in range(a, height)]
    across = [(a, b) for a in range(width) for b in range(a, width)]
    outputs = np.array(sorted((t, left, b, r) for t, b in sides for left, r in across), dtype=np.int64)
    rows, columns = np.arange(height)[:, None], np.arange(width)[None]
    parts = [((t <= rows) & (rows <= b) & (left <= columns) & (columns <= r)).ravel() for t, left, b, r in outputs]
    return Listing(outputs, np.array(parts, dtype=float))


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Whole numbers, which tie, or normal ones, of any scale."""
    if rng.random() < 0.4:
        return rng.integers(-2, 3, shape).astype(float)
    return rng.normal(size=shape) * 10.0 ** rng.uniform(-2, 2)


def parents_of(rng: np.random.Generator, p: int) -> list[int]:
    order = rng.permutation(p).tolist()
    above = [-1] * p
    for place, v in enumerate(order[1:], start=1):
        above[v] = -1 if rng.random() < 0.2 else order[int(rng.integers(place))]
    return above


def edges_of(rng: np.random.Generator, p: int) -> np.ndarray:
    pairs = np.array(list(itertools.combinations(range(p), 2)), dtype=np.int64).reshape(-1, 2)
    return pairs[rng.random(len(pairs)) < 0.6]


def chain(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    labels, sizes = int(rng.integers(1, 5)), rng.integers(1, 5, BATCH).tolist()
    structure = cs.Chain(n_labels=labels)
    shared = rng.random() < 0.5
    pairs = numbers(rng, labels, labels) if shared else [numbers(rng, p - 1, labels, labels) for p in sizes]
    ends = [tuple((t, t + 1) for t in range(p - 1)) for p in sizes]
    return _scored(structure, rng, sizes, labels, pairs, ends)


def tree(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    labels, sizes = int(rng.integers(1, 4)), rng.integers(1, 6, BATCH).tolist()
    above = [parents_of(rng, p) for p in sizes]
    pairs = [numbers(rng, p, labels, labels) for p in sizes]
    ends = [tuple(enumerate(own)) for own in above]
    return _scored(cs.Tree(above, labels), rng, sizes, labels, pairs, ends)


def junction(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    labels, sizes = int(rng.integers(1, 4)), rng.integers(1, 6, BATCH).tolist()
    edges = [edges_of(rng, p) for p in sizes]
    pairs = [numbers(rng, len(own), labels, labels) for own in edges]
    ends = [tuple(map(tuple, own.tolist())) for own in edges]
    return _scored(cs.JunctionTree(edges, labels), rng, sizes, labels, pairs, ends)


def cut(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    sizes = rng.integers(1, 6, BATCH).tolist()
    edges = [edges_of(rng, p) for p in sizes]
    pairs = []
    for own in edges:
        made = numbers(rng, len(own), 2, 2)
        lacking = made[:, 0, 1] + made[:, 1, 0] - made[:, 0, 0] - made[:, 1, 1]
        made[:, 0, 0] += np.ceil(np.maximum(lacking, 0.0))  # so that -score is submodular
        pairs.append(made)
    ends = [tuple(map(tuple, own.tolist())) for own in edges]
    return _scored(cs.GraphCut(edges), rng, sizes, 2, pairs, ends)


def matching(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    null = bool(rng.integers(2))
    rows = rng.integers(1, 4, BATCH).tolist()
    columns = [int(rng.integers(1, 4)) if null else p + int(rng.integers(2)) for p in rows]
    structure = cs.Matching(null=null)
    s = structure.scores([numbers(rng, p, q + null) for p, q in zip(rows, columns, strict=True)])
    return structure, s, [matchings(p, q, null) for p, q in zip(rows, columns, strict=True)]


def boxes(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    shapes = rng.integers(1, 5, (BATCH, 2)).tolist()
    structure = cs.BoxSearch(("columns", "corners")[int(rng.integers(2))])
    s = structure.scores([numbers(rng, *shape) for shape in shapes])
    return structure, s, [boxes_of(*shape) for shape in shapes]


def candidates(rng: np.random.Generator) -> tuple[Any, cs.Scores, list[Listing]]:
    sizes = rng.integers(1, 30, BATCH).tolist()
    structure = cs.Candidates()
    lists = [Listing(np.arange(m)[:, None], np.eye(m)) for m in sizes]
    return structure, structure.scores([numbers(rng, m) for m in sizes]), lists


def _scored(
    structure: Any, rng: np.random.Generator, sizes: list[int], labels: int, pairs: Any, ends: list[Any]
) -> tuple[Any, cs.Scores, list[Listing]]:
    s = structure.scores([numbers(rng, p, labels) for p in sizes], pairs)
    return structure, s, [listing_of(labels, p, own) for p, own in zip(sizes, ends, strict=True)]


MAKERS = [chain, tree, junction, cut, matching, boxes, candidates]


def test_every_oracle_is_that_of_a_list_of_all_outputs() -> None:
    done = 0
    for seed in tries(120, share=0.3):
        rng = np.random.default_rng(seed)
        make = MAKERS[seed % len(MAKERS)]
        structure, s, lists = make(rng)
        try:
            _check(structure, s, lists, rng)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {make.__name__}") from error
        done += BATCH
    assert done >= 1400
    print(f"{done:,} instances")


def _check(structure: Any, s: cs.Scores, lists: list[Listing], rng: np.random.Generator) -> None:
    k, mu = int(rng.integers(1, 8)), float(10.0 ** rng.uniform(-2, 1))
    best, top = structure.max(s), structure.topk(s, k)
    soft = _answer(structure.expect, s, mu)
    best_with = _answer(structure.max_marginals, s)
    for i, listing in enumerate(lists):
        parts = _parts(listing, s, i)
        z = parts @ flatten(s, i)
        magnitude = 1.0 + np.abs(z).max()
        ranked = np.sort(z)[::-1]
        np.testing.assert_allclose(best.value[i], ranked[0], rtol=0, atol=1e-9 * magnitude)
        assert abs(_score(listing, z, best.outputs[i]) - ranked[0]) <= 1e-9 * magnitude
        count = min(k, len(z))
        np.testing.assert_allclose(top.value[i, :count], ranked[:count], rtol=0, atol=1e-9 * magnitude)
        assert np.isneginf(top.value[i, count:]).all()
        assert len({tuple(y.tolist()) for y in top.outputs[i]}) == count
        if best_with is not None:
            _check_max_marginals(best_with[i], listing, z, 1e-9 * magnitude)
        if soft is None:
            continue
        np.testing.assert_allclose(soft.value[i], mu * logsumexp(z / mu), rtol=0, atol=1e-8 * magnitude)
        wanted = softmax(z / mu) @ parts
        np.testing.assert_allclose(flatten(soft.marginals, i), wanted, rtol=0, atol=1e-6)


def _answer(oracle: Any, *given: Any) -> Any:
    """None where the structure has no such oracle."""
    try:
        return oracle(*given)
    except cs.Intractable:
        return None


def _check_max_marginals(found: np.ndarray, listing: Listing, z: np.ndarray, tolerance: float) -> None:
    """Of every label of every part the best score of an output that has it."""
    if listing.outputs.shape[1] == 1 and found.ndim == 1:
        return np.testing.assert_allclose(found, z, rtol=0, atol=tolerance)
    best = np.full(found.shape, -np.inf)
    for part in range(listing.outputs.shape[1]):
        np.maximum.at(best[part], listing.outputs[:, part], z)
    np.testing.assert_allclose(found, best, rtol=0, atol=tolerance)


def _parts(listing: Listing, s: cs.Scores, i: int) -> np.ndarray:
    """Without those of edges where the scores have none."""
    return listing.parts[:, : len(flatten(s, i))]


def _score(listing: Listing, z: np.ndarray, output: np.ndarray) -> float:
    [place] = np.flatnonzero((listing.outputs == np.atleast_1d(output)).all(axis=1))
    return float(z[place])


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_instances_are_as_they_are_listed(make: Any) -> None:
    structure, s, lists = make(np.random.default_rng(3))
    assert len(s) == len(lists) == BATCH
    outputs = [listing.outputs[-1] for listing in lists]
    expected = [_parts(listing, s, i)[-1] @ flatten(s, i) for i, listing in enumerate(lists)]
    np.testing.assert_allclose(structure.score_of(s, outputs), expected, **TOL)
