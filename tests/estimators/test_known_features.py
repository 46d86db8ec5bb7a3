"""A predictor that has rows for the features with weights alone does what one with rows for all does."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.known_features import KnownFeatures
from casimir.estimators.predictor import ChainPredictor
from casimir.models.weight_rows import CHAIN_ENDS, WeightRows
from casimir.persistence.arrays import decode_rows, decode_used_rows, encode_rows

L, N_FEATURES = 3, 2**18


def _weights(n_used: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    layout = WeightRows(N_FEATURES, L, CHAIN_ENDS)
    rows = np.zeros((layout.n_rows, L))
    rows[rng.choice(N_FEATURES, n_used, replace=False)] = rng.normal(size=(n_used, L))
    rows[N_FEATURES:] = rng.normal(size=(L + CHAIN_ENDS, L))
    return layout.weights(rows)


def _sentences(n: int, with_values: bool, seed: int = 1) -> cs.PackedSequences:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=n))])
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 30, size=offsets[-1]))])
    rows = [np.sort(rng.choice(N_FEATURES, b - a, replace=False)) for a, b in pairwise(indptr.tolist())]
    indices = np.concatenate(rows).astype(np.uint32)
    return cs.PackedSequences(
        offsets, indptr, indices, rng.normal(size=len(indices)) if with_values else None, N_FEATURES
    )


def _both(n_used: int) -> tuple[ChainPredictor, ChainPredictor]:
    wide = ChainPredictor(_weights(n_used), ("D", "N", "V"), N_FEATURES, None)
    return wide, wide.compact()


@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("n_used", [0, 1, 40_000])
def test_predictions_are_the_same_bit_by_bit(n_used: int, with_values: bool) -> None:
    (wide, compact), X = _both(n_used), _sentences(200, with_values)
    assert compact.known is not None
    assert len(compact.known.used) == max(n_used, 1)
    assert compact.predict(X) == wide.predict(X)
    np.testing.assert_array_equal(compact.log_partition(X), wide.log_partition(X))
    for ours, theirs in zip(compact.predict_marginals(X), wide.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("n_used", [0, 1, 1000, int(0.5 * N_FEATURES), int(0.8 * N_FEATURES)])
def test_rows_of_a_model_file_become_the_compact_predictor_of_the_whole_matrix(n_used: int, density: float) -> None:
    rows = _both(n_used)[0].rows.copy()
    rows[np.random.default_rng(2).random(rows.shape) > density] = 0.0
    rows[-1] = 0.0
    for arrays in (encode_rows("w", rows), {"w": rows}):
        found = ChainPredictor.of_used_rows(decode_used_rows("w", arrays), ("D", "N", "V"), None)
        whole = ChainPredictor.of_rows(decode_rows("w", arrays), ("D", "N", "V"), None).compact()
        np.testing.assert_array_equal(found.w, whole.w)
        assert (found.known is None) == (whole.known is None)
        if found.known is not None and whole.known is not None:
            np.testing.assert_array_equal(found.known.used, whole.known.used)


def test_all_weights_are_still_to_be_had() -> None:
    wide, compact = _both(1000)
    assert compact.w.nbytes < wide.w.nbytes / 50
    np.testing.assert_array_equal(compact.rows, wide.rows)
    np.testing.assert_array_equal(compact.unary, wide.unary)
    np.testing.assert_array_equal(compact.transitions, wide.transitions)
    np.testing.assert_array_equal(compact.ends, wide.ends)
    assert compact.compact() is compact


@pytest.mark.parametrize("n_used", [N_FEATURES, int(0.8 * N_FEATURES)])
def test_many_features_keep_rows_for_all(n_used: int) -> None:
    wide, compact = _both(n_used)
    assert compact.known is None
    np.testing.assert_array_equal(compact.w, wide.w)
    assert not np.shares_memory(compact.w, wide.w)


def test_selected_features_are_those_that_a_dictionary_finds() -> None:
    used = np.array([0, 63, 64, 65, 4095, 100_000, N_FEATURES - 1])
    X, known = _sentences(50, with_values=True), KnownFeatures(N_FEATURES, used)
    row = {int(feature): j for j, feature in enumerate(used)}
    found = known.select(X)
    for t in range(X.n_tokens):
        own = slice(X.indptr[t], X.indptr[t + 1])
        pairs = [(row[j], v) for j, v in zip(X.indices[own].tolist(), X.values[own].tolist(), strict=True) if j in row]
        place = slice(found.indptr[t], found.indptr[t + 1])
        assert list(zip(found.indices[place].tolist(), found.values[place].tolist(), strict=True)) == pairs


def test_a_feature_beyond_the_last_is_refused() -> None:
    X = cs.pack([[["a"]]], N_FEATURES)
    with pytest.raises(ValueError, match="out of range"):
        KnownFeatures(64, np.array([3])).select(
            cs.PackedSequences(X.offsets, X.indptr, np.array([64], np.uint32), None, 65)
        )


def test_a_fitted_and_a_loaded_tagger_hold_used_rows_alone(tmp_path: Path) -> None:
    sentences, tags = [["the", "cat"], ["the", "dog", "ran"]], [["D", "N"], ["D", "N", "V"]]
    X = [[{"w": word} for word in sentence] for sentence in sentences]
    tagger = cs.SequenceTagger().fit(X, tags)
    known = tagger.predictor_.known
    assert known is not None
    assert len(known.used) <= 4
    assert tagger.coef_.shape == (N_FEATURES, 3)
    assert sorted(np.flatnonzero(tagger.coef_.any(axis=1))) == known.used.tolist()
    tagger.save(tmp_path / "out")
    loaded = cs.load(tmp_path / "out")
    np.testing.assert_array_equal(loaded.predictor_.known.used, known.used)
    np.testing.assert_array_equal(loaded.predictor_.w, tagger.predictor_.w)
    assert loaded.predict(X) == tagger.predict(X) == tags
