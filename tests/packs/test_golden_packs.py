"""Packs that an earlier version wrote are read, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from soak.pack_folders import LABELS, SENTENCES

import casimir as cs

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "packs-1"


@pytest.mark.parametrize(("kind", "n_features"), [("hashed", 16), ("exact", None)])
def test_a_pack_of_format_1_holds_what_was_packed(kind: str, n_features: int | None) -> None:
    """Hashes, numbers of names and labels, and the order of a shard's sentences are what they were."""
    pack = cs.open_pack(GOLDEN / kind)
    pack.check_content()
    [shard] = pack.shards
    order = [2, 0, 1]
    fresh = cs.pack(SENTENCES, n_features).select(np.array(order))
    for name in ("offsets", "indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(shard.X, name), getattr(fresh, name))
    assert pack.labels == ("PER", "O", "LOC")
    assert shard.labels is not None
    assert [pack.labels[k] for k in shard.labels] == [label for i in order for label in LABELS[i]]
    assert shard.weights is not None
    assert shard.weights.tolist() == [[1.0, 2.0, 0.5][i] for i in order]
    if n_features is None:
        assert pack.vocabulary == cs.pack(SENTENCES, None).vocabulary
    assert cs.SequenceTagger(tol=0.1).fit(pack).gap_ <= 0.1
