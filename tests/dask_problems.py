"""Small problems of labelled sentences, whole and in pieces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import casimir as cs


def sentences(n: int, seed: int = 0) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Words whose labels depend on two features, with some noise."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        numbers = rng.integers(30, size=(rng.integers(2, 8), 3))
        labels = (numbers[:, 0] + numbers[:, 1] + (rng.random(len(numbers)) < 0.1)) % 4
        X.append([[f"f{a}" for a in token] for token in numbers])
        y.append(["ABCD"[k] for k in labels])
    return X, y


def chain_pieces(n: int, count: int, weights: bool = False) -> tuple[cs.Objective, list[Any]]:
    """An objective of all examples with Ridge(1 / n) and Hinge, and its pieces."""
    from casimir.dask import Piece

    X, y = sentences(n)
    packed, labels = cs.pack(X, n_features=97), [np.array(["ABCD".index(one) for one in own]) for own in y]
    shares = np.random.default_rng(1).uniform(0.2, 3.0, size=n) if weights else None

    def part(a: int, b: int) -> tuple[Any, ...]:
        own = None if shares is None else shares[a:b]
        return cs.LinearChainModel(packed[a:b], 4), cs.Chain(4), labels[a:b], own

    model, structure, y_all, own = part(0, n)
    cuts = np.linspace(0, n, count + 1).astype(int).tolist()
    pieces = [Piece(*part(a, b)) for a, b in pairwise(cuts)]
    return cs.Objective(model, structure, cs.Hinge(cs.Hamming()), y_all, 1.0 / n, own), pieces
