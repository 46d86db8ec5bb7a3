"""Sentences with labels, and packs of them in several shards."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.packs import writer

LABELS = ("N", "V", "D", "A")


def sentences(n: int = 60, seed: int = 0, valued: bool = False) -> tuple[list[Any], list[list[str]]]:
    """n sentences of token features and their labels, which follow from the features more often than not."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        kinds = rng.integers(len(LABELS), size=rng.integers(1, 9))
        seen = np.where(rng.random(len(kinds)) < 0.8, kinds, rng.integers(len(LABELS), size=len(kinds)))
        tokens = [{f"w{kind}": True, f"x{rng.integers(30)}": True, "bias": True} for kind in seen]
        if valued:
            tokens = [token | {"size": float(rng.normal())} for token in tokens]
        X.append(tokens)
        y.append([LABELS[kind] for kind in kinds])
    return X, y


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of about 20 of these sentences."""
    monkeypatch.setattr(writer, "SHARD_TOKENS", 90)
    monkeypatch.setattr("casimir.packs.build._AT_ONCE", 7)


def packed(folder: Path, X: Any, y: Any, n_features: int | None = 512, **options: Any) -> cs.Pack:
    made: cs.Pack = cs.pack(X, n_features, y=y, out=folder, **options)
    return made


def in_memory(pack: cs.Pack) -> tuple[cs.PackedSequences, list[list[Any]], np.ndarray | None]:
    """The sentences of a pack in the order of its shards, as copies, with their labels and weights."""
    parts = [shard.X for shard in pack.shards]
    offsets = np.concatenate([[0], *(np.diff(X.offsets) for X in parts)]).cumsum()
    indptr = np.concatenate([[0], *(np.diff(X.indptr) for X in parts)]).cumsum()
    indices = np.concatenate([X.indices for X in parts])
    values = None
    if any(X.values is not None for X in parts):
        values = np.concatenate([np.ones(len(X.indices)) if X.values is None else X.values for X in parts])
    X = cs.PackedSequences(offsets, indptr, indices, values, pack.n_features)
    names = [pack.labels[k] for shard in pack.shards for k in shard.labels.tolist()]
    y = [names[a:b] for a, b in pairwise(offsets)]
    weights = np.concatenate([shard.weights for shard in pack.shards]) if pack.manifest.weighted else None
    return X, y, weights
