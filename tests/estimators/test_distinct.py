"""Equal examples become one, whatever their order."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from casimir.estimators.distinct import distinct_examples


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_equal_examples_are_added_up(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3)).astype(np.float64)
    X[:5] = -0.0
    y, weights = rng.integers(0, 2, 200), rng.integers(0, 3, 200).astype(np.float64)
    rows, totals = distinct_examples(sp.csr_array(X) if sparse else X, y, weights)
    expected: Counter[tuple[float, ...]] = Counter()
    for x, label, weight in zip(X + 0.0, y, weights, strict=True):
        expected[(*x, float(label))] += weight
    found = {(*(X[r] + 0.0), float(y[r])): t for r, t in zip(rows, totals, strict=True)}
    assert found == {key: total for key, total in expected.items() if total > 0}
    assert len(found) == len(rows)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_order_of_the_examples_does_not_matter(sparse: bool) -> None:
    rng = np.random.default_rng(1)
    X = np.where(rng.random((100, 4)) < 0.5, rng.integers(-3, 3, (100, 4)), 0).astype(np.float64)
    Y, weights = rng.integers(0, 2, (100, 3)), np.ones(100)
    order = rng.permutation(100)
    kind = sp.csr_array if sparse else np.asarray
    a, of_a = distinct_examples(kind(X), Y, weights)
    b, of_b = distinct_examples(kind(X[order]), Y[order], weights)
    np.testing.assert_array_equal(X[a], X[order][b])
    np.testing.assert_array_equal(Y[a], Y[order][b])
    np.testing.assert_array_equal(of_a, of_b)


def test_dense_and_sparse_rows_come_in_the_same_order() -> None:
    X = np.random.default_rng(2).integers(0, 2, (50, 6)).astype(np.float64)
    y = np.zeros(50, dtype=np.int64)
    for a, b in zip(distinct_examples(X, y, y + 1.0), distinct_examples(sp.csr_array(X), y, y + 1.0), strict=True):
        np.testing.assert_array_equal(a, b)
