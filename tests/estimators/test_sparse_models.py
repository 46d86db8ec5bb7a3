"""Few weights: l1_ratio, min_frequency, sparsify, and the model files that they make."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.compact import UsedFeatures

RNG = np.random.default_rng(0)
WORDS = {"D": ["the", "a"], "N": [f"noun{j}" for j in range(30)], "V": [f"verb{j}" for j in range(30)]}
Y: list[list[str]] = [["D", "N", "V", "D", "N"][: int(RNG.integers(2, 6))] for _ in range(60)]
X = [
    [{"word": str(RNG.choice(WORDS[label])), "kind": label, "noise": float(RNG.normal())} for label in labels]
    for labels in Y
]


def size(folder: Path) -> int:
    [arrays] = folder.glob("model-*.safetensors")
    return arrays.stat().st_size


# --- penalty


@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_the_objective_is_that_of_the_elastic_net_and_most_weights_are_0(loss: str, l1_ratio: float) -> None:
    tagger = cs.SequenceTagger(n_features=None, loss=loss, l1_ratio=l1_ratio, lam=0.02, tol=0.05).fit(X, Y)
    plain = cs.SequenceTagger(n_features=None, loss=loss, lam=0.02).fit(X, Y)
    assert tagger.lam_ == 0.02
    assert np.count_nonzero(tagger.coef_) < 0.5 * np.count_nonzero(plain.coef_)
    model = cs.LinearChainModel(cs.pack(X, None), 3)
    y = [np.array(["DNV".index(label) for label in labels]) for labels in Y]
    made = cs.Objective(
        model, cs.Chain(3), cs.Log() if loss == "crf" else cs.Hamming(), y, cs.ElasticNet(0.02, l1_ratio)
    )
    assert tagger.objective_ == pytest.approx(made.value(tagger.predictor_.w), rel=1e-9)
    assert tagger.status_ == "converged"
    assert tagger.score(X, Y) > 0.95


def test_a_share_outside_of_0_and_1_is_refused() -> None:
    with pytest.raises(ValueError, match="l1_ratio=2"):
        cs.SequenceTagger(l1_ratio=2).fit(X, Y)


# --- frequency


@pytest.mark.parametrize("n_features", [None, 64, 2**12])
@pytest.mark.parametrize("min_frequency", [2, 5])
def test_rare_features_are_as_if_they_had_not_been_there(n_features: int | None, min_frequency: int) -> None:
    packed = cs.pack(X, n_features)
    counts = Counter(packed.indices.tolist())
    rare = [j for j in range(packed.n_features) if counts[j] < min_frequency]
    tagger = cs.SequenceTagger(min_frequency=min_frequency).fit(packed, Y)
    assert not tagger.coef_[rare].any()
    features, small = UsedFeatures.of(packed, min_frequency)
    assert small.n_features == packed.n_features - len(rare)
    w = np.random.default_rng(1).normal(size=(small.n_features + 5) * 4)
    wide, known = features.known(w, 3)
    assert known is None
    np.testing.assert_allclose(
        cs.LinearChainModel(small, 3).scores(w).nodes, cs.LinearChainModel(packed, 3).scores(wide).nodes, atol=1e-12
    )


def test_names_that_are_left_out_by_hand_give_the_same_tagger() -> None:
    counts = Counter(str(token["word"]) for sentence in X for token in sentence)
    kept = [
        [
            {name: value for name, value in token.items() if name != "word" or counts[str(value)] >= 3}
            for token in sentence
        ]
        for sentence in X
    ]
    ours = cs.SequenceTagger(1 / len(X), n_features=None, min_frequency=3, tol=1e-6, max_epochs=2000).fit(X, Y)
    theirs = cs.SequenceTagger(1 / len(X), n_features=None, tol=1e-6, max_epochs=2000).fit(kept, Y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-5)


def test_a_frequency_that_nothing_has_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves no features: the most frequent one occurs"):
        cs.SequenceTagger(min_frequency=10**6).fit(X, Y)


# --- sparsify


@pytest.mark.parametrize("n_features", [None, 2**12])
def test_sparsify_changes_no_prediction(n_features: int | None) -> None:
    tagger = cs.SequenceTagger(n_features=n_features, l1_ratio=0.5, lam=0.02, min_frequency=2).fit(X, Y)
    before, names = tagger.predict(X), tagger.predictor_.n_features
    scores = [score for top in tagger.predict_topk(X, 2) for _, score in top]
    assert tagger.sparsify() is tagger
    assert tagger.predict(X) == before
    np.testing.assert_allclose([score for top in tagger.predict_topk(X, 2) for _, score in top], scores, atol=1e-12)
    if n_features is None:
        assert tagger.predictor_.n_features < names / 2
        assert tagger.coef_.any(axis=1).all()


def test_a_threshold_makes_small_weights_0() -> None:
    tagger = cs.SequenceTagger(n_features=None).fit(X, Y)
    small = np.abs(tagger.coef_) <= 0.05
    kept = int(np.count_nonzero(~small))
    assert small.any()
    assert np.count_nonzero(tagger.sparsify(0.05).coef_) == kept
    with pytest.raises(ValueError, match="threshold=-1"):
        tagger.sparsify(-1)


def test_a_model_without_any_feature_is_left_with_its_transitions() -> None:
    tagger = cs.SequenceTagger(n_features=None).fit(X, Y).sparsify(1e6)
    assert tagger.predict([[{"word": "zebra"}, {"word": "zebra"}]])
    assert len(tagger.predictor_.vocabulary) == 0


# --- files


@pytest.mark.parametrize(("n_features", "share"), [(None, 0.5), (2**12, 0.7)])
def test_files_of_sparse_weights_are_small_and_read_the_same(n_features: Any, share: float, tmp_path: Path) -> None:
    dense = cs.SequenceTagger(n_features=n_features, lam=0.02).fit(X, Y)
    sparse = cs.SequenceTagger(n_features=n_features, lam=0.02, l1_ratio=0.5).fit(X, Y).sparsify()
    dense.save(tmp_path / "dense")
    sparse.save(tmp_path / "sparse")
    assert size(tmp_path / "sparse") < share * size(tmp_path / "dense")
    again = cs.load(tmp_path / "sparse")
    np.testing.assert_array_equal(again.predictor_.w, sparse.predictor_.w)
    assert again.predict(X) == sparse.predict(X)
