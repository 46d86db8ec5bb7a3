"""partial_fit and warm_start: new sentences, new features, new labels; and threads as scikit-learn counts them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir._threads import n_threads
from casimir.estimators.growing import carried
from casimir.penalties import Proximal, Ridge

RNG = np.random.default_rng(0)
WORDS = {"D": ["the", "a"], "N": ["cat", "dog", "bird"], "V": ["sees", "likes"]}
Y: list[list[str]] = [["D", "N", "V", "D", "N"][: int(RNG.integers(2, 6))] for _ in range(40)]
X = [[{"word": str(RNG.choice(WORDS[label]))} for label in labels] for labels in Y]
X_NEW, Y_NEW = [[{"word": "Ada"}, {"word": "sees"}, {"word": "Bob"}]] * 5, [["P", "V", "P"]] * 5
KINDS = pytest.mark.parametrize("n_features", [None, 64], ids=["exact", "hashed"])


# --- warm start


@KINDS
@pytest.mark.parametrize(("solver", "loss"), [("auto", "hinge"), ("auto", "crf"), ("lbfgs", "crf"), ("casimir", "crf")])
def test_a_warm_start_ends_at_the_same_optimum(n_features: int | None, solver: str, loss: str) -> None:
    tol = 1e-3
    tagger = cs.SequenceTagger(n_features=n_features, solver=solver, loss=loss, tol=tol, warm_start=True).fit(X, Y)
    cold = cs.SequenceTagger(n_features=n_features, loss=loss, tol=1e-3).fit([*X, *X_NEW], [*Y, *Y_NEW])
    tagger.fit([*X, *X_NEW], [*Y, *Y_NEW])
    assert list(tagger.classes_) == ["D", "N", "P", "V"]
    assert tagger.objective_ >= cold.dual_
    assert tagger.objective_ <= cold.objective_ * (1 + 2 * tol)


def test_a_warm_start_at_the_optimum_is_done_soon() -> None:
    parameters: dict[str, Any] = {"n_features": 64, "solver": "lbfgs", "loss": "crf", "tol": 1e-6}
    tagger = cs.SequenceTagger(**parameters, warm_start=True).fit(X, Y)
    first = tagger.trace_[-1].epoch
    assert tagger.fit(X, Y).trace_[-1].epoch < first / 2
    assert cs.SequenceTagger(**parameters).fit(X, Y).fit(X, Y).trace_[-1].epoch == first


def test_solvers_that_start_at_0_say_so() -> None:
    tagger = cs.SequenceTagger(solver="bcfw", n_features=64, tol=0.1, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="BCFW starts at w = 0"):
        tagger.fit(X, Y)


@KINDS
def test_weights_are_carried_to_the_same_names_and_labels(n_features: int | None) -> None:
    tagger = cs.SequenceTagger(n_features=n_features).fit(X, Y)
    packed = cs.pack([*X_NEW, *X[:3]], n_features)
    w = carried(tagger.predictor_, packed, ("P", "V", "N", "D"))
    unary, transitions, start, stop = cs.LinearChainModel(packed, 4).unpack(w)
    old = {label: j for j, label in enumerate(tagger.classes_)}
    for name in ("word=sees", "word=Ada", "word=the"):
        here = cs.pack([[[name]]], 64).indices[0] if n_features else packed.vocabulary.find(name)
        there = here if n_features else tagger.predictor_.vocabulary.find(name)
        expected = [0.0] + [0.0 if there is None else tagger.coef_[there, old[label]] for label in "VND"]
        np.testing.assert_array_equal(unary[here], expected)
    order = [old[label] for label in "VND"]
    np.testing.assert_array_equal(transitions[1:, 1:], tagger.transitions_[np.ix_(order, order)])
    assert not transitions[0].any()
    assert not transitions[:, 0].any()
    np.testing.assert_array_equal(start[1:], tagger.start_[order])
    np.testing.assert_array_equal(stop[1:], tagger.stop_[order])


def test_other_kinds_of_features_are_refused() -> None:
    tagger = cs.SequenceTagger(n_features=64, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="an exact vocabulary, and the model was trained with 64 hash buckets"):
        tagger.set_params(n_features=None).fit(X, Y)


# --- partial_fit


@KINDS
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_a_step_minimises_the_loss_of_the_batch_around_the_weights_so_far(n_features: int | None, loss: str) -> None:
    tagger = cs.SequenceTagger(n_features=n_features, loss=loss, tol=1e-4).partial_fit(X[:20], Y[:20])
    first = cs.SequenceTagger(n_features=n_features, loss=loss, tol=1e-4).fit(X[:20], Y[:20])
    np.testing.assert_array_equal(tagger.predictor_.w, first.predictor_.w)
    before = tagger.predictor_
    tagger.partial_fit(X_NEW, Y_NEW)
    assert list(tagger.classes_) == ["D", "N", "P", "V"]
    packed = tagger.predictor_.pack(X_NEW)
    y = [np.array(["DNPV".index(label) for label in labels]) for labels in Y_NEW]
    center = carried(before, packed, ("D", "N", "P", "V"))
    penalty = Proximal(Ridge(0.0), 1 / len(X_NEW), center)
    made = cs.Objective(
        cs.LinearChainModel(packed, 4), cs.Chain(4), cs.Log() if loss == "crf" else cs.Hamming(), y, penalty
    )
    assert tagger.objective_ == pytest.approx(made.value(tagger.predictor_.w), rel=1e-9)
    found = cs.minimize(made, cs.LBFGS(mu=1e-3) if loss == "hinge" else cs.LBFGS(), 500, 1e-4, w0=center)
    assert found.dual * (1 - 1e-9) <= tagger.objective_ <= found.objective * (1 + 1e-3)


@KINDS
def test_what_was_learnt_before_is_kept_and_what_is_new_is_learnt(n_features: int | None) -> None:
    tagger = cs.SequenceTagger(n_features=n_features)
    for k in range(0, 40, 10):
        tagger.partial_fit(X[k : k + 10], Y[k : k + 10])
    tagger.partial_fit(X_NEW, Y_NEW)
    assert tagger.predict(X_NEW) == Y_NEW
    assert tagger.score(X, Y) > 0.95


def test_a_step_goes_on_from_a_fit_and_leaves_kept_predictors_alone() -> None:
    tagger = cs.SequenceTagger(n_features=None).fit(X, Y)
    kept = tagger.predictor_
    w, names = kept.w.copy(), list(kept.vocabulary)
    tagger.partial_fit(X_NEW, Y_NEW, sample_weight=[1, 2, 1, 1, 0])
    np.testing.assert_array_equal(kept.w, w)
    assert list(kept.vocabulary) == names
    assert list(tagger.predictor_.vocabulary)[: len(names)] == names


def test_labels_may_be_announced() -> None:
    tagger = cs.SequenceTagger(n_features=64, constraints="IOB2")
    tagger.partial_fit([[["a"], ["b"]]], [["O", "O"]], classes=["O", "B-x", "I-x"])
    assert list(tagger.classes_) == ["B-x", "I-x", "O"]
    tagger.partial_fit([[["c"], ["d"]]], [["B-x", "I-x"]])
    assert tagger.predict([[["c"], ["d"]]]) == [["B-x", "I-x"]]


def test_labels_that_are_not_known_are_fine() -> None:
    tagger = cs.SequenceTagger(n_features=64).partial_fit(X[:20], Y[:20])
    tagger.partial_fit(X[20:], [[None, *labels[1:]] for labels in Y[20:]])
    assert tagger.score(X, Y) > 0.95


def test_matrices_grow_too() -> None:
    data = [RNG.normal(size=(4, 3)) for _ in range(20)]
    labels = [np.argmax(x, axis=1).tolist() for x in data]
    tagger = cs.SequenceTagger().partial_fit(data[:10], labels[:10]).partial_fit(data[10:], labels[10:])
    assert tagger.score(data, labels) > 0.9


@pytest.mark.parametrize(("solver", "loss"), [("auto", "hinge"), ("bcfw", "hinge"), ("lbfgs", "crf"), ("sdca", "crf")])
def test_steps_with_any_solver(solver: str, loss: str) -> None:
    tagger = cs.SequenceTagger(n_features=64, solver=solver, loss=loss, tol=0.5, max_epochs=200)
    for k in (0, 20):
        tagger.partial_fit(X[k : k + 20], Y[k : k + 20])
    assert tagger.score(X, Y) > 0.95


def test_a_grown_tagger_is_saved_and_pickled_as_any_other(tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(n_features=None).partial_fit(X, Y).partial_fit(X_NEW, Y_NEW)
    tagger.save(tmp_path / "model")
    for again in (cs.load(tmp_path / "model"), pickle.loads(pickle.dumps(tagger))):
        assert again.predict(X) == tagger.predict(X)
        again.partial_fit(X_NEW, Y_NEW)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"l1_ratio": 0.5}, "partial_fit has no l1_ratio=0.5"),
        ({"min_frequency": 2}, "partial_fit has no min_frequency=2"),
        ({"class_weight": "balanced"}, "partial_fit has no class_weight='balanced'"),
        ({"constraints": "auto"}, "partial_fit has no constraints='auto'"),
    ],
)
def test_what_one_batch_cannot_tell_is_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cs.SequenceTagger(**parameters).partial_fit(X, Y)


# --- threads


@pytest.mark.parametrize(
    ("n_jobs", "threads"),
    [(None, None), (-1, None), (3, 3), (-2, max(1, n_threads() - 1)), (-1000, 1)],
)
def test_threads_are_counted_as_scikit_learn_does(n_jobs: int | None, threads: int | None) -> None:
    tagger = cs.SequenceTagger(n_features=64, n_jobs=n_jobs).fit(X, Y)
    assert tagger.predictor_.threads == threads


def test_no_threads_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="n_jobs"):
        cs.SequenceTagger(n_jobs=0).fit(X, Y)
