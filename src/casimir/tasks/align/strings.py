"""How alike words look: cognates, names, numbers and punctuation are often spelled alike in both languages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from casimir.scores import FloatArray, IntArray


def common_prefix(source: Sequence[str], target: Sequence[str]) -> FloatArray:
    """float64[m, n]: length of the common prefix over the length of the longer word."""
    a, b = _characters(source, -1), _characters(target, -2)
    width = min(a.shape[1], b.shape[1])
    same = a[:, None, :width] == b[None, :, :width]
    prefix: FloatArray = np.cumprod(same, axis=2).sum(axis=2) / _longer(source, target)
    return prefix


def common_subsequence(source: Sequence[str], target: Sequence[str]) -> FloatArray:
    """float64[m, n]: length of the longest common subsequence over the length of the longer word.

    One table of dynamic programming whose entries are matrices: all pairs of words at once.
    """
    a, b = _characters(source, -1), _characters(target, -2)
    previous = np.zeros((b.shape[1] + 1, len(source), len(target)))
    for x in a.T:
        row = np.zeros_like(previous)
        for k, y in enumerate(b.T):
            same = x[:, None] == y
            row[k + 1] = np.where(same, previous[k] + 1.0, np.maximum(previous[k + 1], row[k]))
        previous = row
    ratio: FloatArray = previous[-1] / _longer(source, target)
    return ratio


def _characters(words: Sequence[str], padding: int) -> IntArray:
    """int64[words, longest]: character codes; different paddings on both sides never match."""
    codes = np.full((len(words), max(map(len, words))), padding, dtype=np.int64)
    for row, word in zip(codes, words, strict=True):
        row[: len(word)] = [ord(c) for c in word]
    return codes


def _longer(source: Sequence[str], target: Sequence[str]) -> IntArray:
    longer: IntArray = np.maximum.outer([len(w) for w in source], [len(w) for w in target])
    return longer
