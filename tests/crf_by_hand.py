"""A CRF's objective and predictions by going through all label sequences, from feature dicts alone."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

Tokens = list[dict[str, float]]
Weights = dict[tuple[str, str], float]


def score(tokens: Tokens, labels: tuple[str, ...], states: Weights, transitions: Weights) -> float:
    total = sum(
        value * states.get((name, label), 0.0)
        for token, label in zip(tokens, labels, strict=True)
        for name, value in token.items()
    )
    return total + sum(transitions.get(pair, 0.0) for pair in itertools.pairwise(labels))


def distribution(
    tokens: Tokens, classes: list[str], states: Weights, transitions: Weights
) -> tuple[list[tuple[str, ...]], np.ndarray, float]:
    """(all label sequences, their probabilities, log Z)"""
    outputs = list(itertools.product(classes, repeat=len(tokens)))
    scores = np.array([score(tokens, y, states, transitions) for y in outputs])
    log_z = float(np.logaddexp.reduce(scores))
    return outputs, np.exp(scores - log_z), log_z


def marginals(tokens: Tokens, classes: list[str], states: Weights, transitions: Weights) -> list[dict[str, float]]:
    outputs, probabilities, _ = distribution(tokens, classes, states, transitions)
    found: list[dict[str, float]] = [defaultdict(float) for _ in tokens]
    for labels, p in zip(outputs, probabilities, strict=True):
        for t, label in enumerate(labels):
            found[t][label] += p
    return [dict(one) for one in found]


def objective(
    X: list[Tokens], y: list[list[str]], classes: list[str], states: Weights, transitions: Weights, c1: float, c2: float
) -> float:
    """sum_i -log p(y_i | x_i) + c1 |w|_1 + c2 |w|^2"""
    losses = [
        distribution(tokens, classes, states, transitions)[2] - score(tokens, tuple(labels), states, transitions)
        for tokens, labels in zip(X, y, strict=True)
    ]
    w = np.array([*states.values(), *transitions.values()])
    return float(sum(losses) + c1 * np.abs(w).sum() + c2 * (w * w).sum())
