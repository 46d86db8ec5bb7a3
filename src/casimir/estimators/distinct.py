"""A training set as a multiset: equal examples are one of larger weight, and their order is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from casimir.scores import FloatArray, IntArray

_BLOCK = 1 << 16  # entries that are hashed at a time: they stay in the cache
Hashes = npt.NDArray[np.uint64]


def distinct_examples(X: Any, y: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """(rows int64[m], weights float64[m]): one row of each group of equal examples, and the group's total weight.

    X dense or CSR [n, d]; y int64[n] or [n, q]. Examples without weight are left out. The order is that of hashes of
    the examples: a training set gives the same problem, to the bit, however it is shuffled, and repeating an example
    is the same as giving it a larger weight.
    """
    labels = y.reshape(len(y), -1)
    kept = np.flatnonzero(weights > 0.0)
    hashes = (_hashes(X) + _hashes(labels.astype(np.float64)) * np.uint64(0x9E3779B97F4A7C15))[kept]
    order = kept[np.argsort(hashes, kind="stable")]
    is_first = np.ones(len(order), dtype=np.bool_)
    hashes = np.sort(hashes)
    same = np.flatnonzero(hashes[1:] == hashes[:-1])
    if len(same):
        is_first[same + 1] = ~_are_equal(X, labels, order[same], order[same + 1])
    starts = np.flatnonzero(is_first)
    totals = np.add.reduceat(weights[order], starts) if len(starts) else np.zeros(0)
    return order[starts], totals


def _hashes(X: Any) -> Hashes:
    """uint64[n]: equal rows have equal hashes."""
    rng = np.random.default_rng(0)
    factors = rng.integers(1 << 63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        products = np.append(_bits(X.data) * factors[X.indices], np.uint64(0))
        hashes: Hashes = np.add.reduceat(products, X.indptr[:-1])
        hashes[X.indptr[1:] == X.indptr[:-1]] = 0  # of an empty row, reduceat gives the next entry
        return hashes
    hashes = np.empty(len(X), dtype=np.uint64)
    step = max(1, _BLOCK // X.shape[1])
    for first in range(0, len(X), step):
        hashes[first : first + step] = (_bits(X[first : first + step]) * factors).sum(axis=1)
    return hashes


def _bits(values: Any) -> Hashes:
    """uint64 of the same shape, with entropy in the low bits too; -0 is 0."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.asarray(bits ^ (bits >> np.uint64(29)), dtype=np.uint64)


def _are_equal(X: Any, labels: IntArray, a: IntArray, b: IntArray) -> npt.NDArray[np.bool_]:
    """bool[k]: whether the examples a[j] and b[j] are equal."""
    if sp.issparse(X):
        equal = np.asarray(abs(X[a] - X[b]).sum(axis=1)).ravel() == 0.0
    else:
        equal = (X[a] == X[b]).all(axis=1)
    return np.asarray(equal & (labels[a] == labels[b]).all(axis=1))
