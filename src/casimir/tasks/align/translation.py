"""IBM model 1 with a prior for the diagonal, by expectation maximisation over all cells of all pairs at once."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from casimir.scores import FloatArray, IntArray

_TENSION = 8.0
_NULL = 0.1  # prior probability that a word comes from no word
_CONCENTRATION = 0.01  # of the Dirichlet prior: a word has few translations
_ROUNDS = 8


def diagonal(m: int, n: int) -> FloatArray:
    """float64[m, n]: prior of source word i for target word j, ~ exp(-tension |i/m - j/n|); columns add up to 1."""
    i, j = (np.arange(m) + 0.5) / m, (np.arange(n) + 0.5) / n
    near = np.exp(-_TENSION * np.abs(i[:, None] - j))
    prior: FloatArray = near / near.sum(axis=0)
    return prior


def posterior(translation: FloatArray, null: FloatArray) -> FloatArray:
    """float64[m, n]: p(i | j), from t(f_j | e_i) float64[m, n] and t(f_j | no word) float64[n]."""
    joint = (1.0 - _NULL) * translation * diagonal(*translation.shape)
    result: FloatArray = joint / (joint.sum(axis=0) + _NULL * null)
    return result


def translations(
    given: list[IntArray], made: list[IntArray], n_given: int, n_made: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Keys given * n_made + made of the word pairs that occur, sorted; t(made | given) of each; t(made | no word).

    given, made  list of int64[m], int64[n]: the words of every sentence pair as numbers
    """
    pairs = list(zip(given, made, strict=True))
    keys, pair = np.unique(np.concatenate([(g[:, None] * n_made + w).ravel() for g, w in pairs]), return_inverse=True)
    pair = pair.reshape(-1)
    prior = np.concatenate([diagonal(len(g), len(w)).ravel() for g, w in pairs])
    starts = np.cumsum([0, *(len(w) for _, w in pairs)])
    token = np.concatenate([np.tile(np.arange(len(w)) + a, len(g)) for (g, w), a in zip(pairs, starts, strict=False)])
    word = np.concatenate(made)
    table, null = np.full(len(keys), 1.0 / n_made), np.full(n_made, 1.0 / n_made)
    for _ in range(_ROUNDS):
        joint = (1.0 - _NULL) * table[pair] * prior
        nothing = _NULL * null[word]
        total = _sums(token, joint, len(word)) + nothing
        table = _normalised(_sums(pair, joint / total[token], len(keys)), keys // n_made, n_given, n_made)
        null = _normalised(_sums(word, nothing / total, n_made), np.zeros(n_made, dtype=np.int64), 1, n_made)
    return keys, table, null


def _normalised(expected: FloatArray, group: IntArray, n_groups: int, n_made: int) -> FloatArray:
    """exp E[log t] of each group under a Dirichlet prior, so that small counts count for less."""
    total = _sums(group, expected, n_groups) + _CONCENTRATION * n_made
    probability: FloatArray = np.exp(digamma(expected + _CONCENTRATION) - digamma(total)[group])
    return probability


def _sums(index: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """float64[size]: the sum of the weights that fall on each index."""
    return np.bincount(index, weights, size).astype(np.float64, copy=False)
