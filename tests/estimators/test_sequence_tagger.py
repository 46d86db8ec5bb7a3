"""SequenceTagger: a certified fit, predictions of every kind, scikit-learn's tools, model folders, clear errors."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import casimir as cs
from casimir.estimators.compact import UsedFeatures
from casimir.persistence import load_folder, save_folder

Token = dict[str, str | bool | float]


def toy(n: int = 40, seed: int = 0) -> tuple[list[list[Token]], list[list[str]]]:
    """Determiners, nouns and verbs; the label of "flies" depends on the word before it."""
    rng = np.random.default_rng(seed)
    words = {"D": ["the", "a"], "N": ["cat", "dog", "flies"], "V": ["sees", "likes", "flies"]}
    X, y = [], []
    for _ in range(n):
        labels = ["D", "N", "V", "D", "N"][: int(rng.integers(2, 6))]
        sentence = [str(rng.choice(words[label])) for label in labels]
        X.append([features(sentence, i) for i in range(len(sentence))])
        y.append(labels)
    return X, y


def features(sentence: list[str], i: int) -> Token:
    return {"word": sentence[i], "first": i == 0, "length": len(sentence[i]) / 5}


X, Y = toy()
X_NEW, Y_NEW = toy(20, seed=1)


@pytest.fixture(scope="module")
def tagger() -> cs.SequenceTagger:
    return cs.SequenceTagger(n_features=2**12).fit(X, Y)


# --- fitting


def test_fit_ends_at_the_certified_gap(tagger: cs.SequenceTagger) -> None:
    assert tagger.status_ == "converged"
    assert tagger.gap_ <= tagger.tol
    assert tagger.dual_ <= tagger.objective_
    assert tagger.gap_ == pytest.approx((tagger.objective_ - tagger.dual_) / tagger.objective_)
    assert tagger.lam_ == 5 / len(X)
    assert tagger.trace_[-1].gap == tagger.gap_
    assert list(tagger.classes_) == ["D", "N", "V"]


def test_objective_is_that_of_the_weights(tagger: cs.SequenceTagger) -> None:
    packed = cs.pack(X, 2**12)
    y = [np.array(["DNV".index(label) for label in labels]) for labels in Y]
    objective = cs.Objective(cs.LinearChainModel(packed, 3), cs.Chain(3), cs.Hamming(), y, 5 / len(X))
    assert objective.value(tagger.predictor_.w) == pytest.approx(tagger.objective_, rel=1e-12)


def test_it_learns_the_task_and_unseen_features_are_fine(tagger: cs.SequenceTagger) -> None:
    assert tagger.score(X_NEW, Y_NEW) > 0.95
    assert tagger.predict([[{"word": "the"}, {"word": "zebra"}]])[0][0] == "D"


@pytest.mark.parametrize("solver", ["auto", "bcfw", "casimir", "dual", "lbfgs", "sgd", "svrg", cs.BCFW(pairwise=True)])
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_every_solver_trains(solver: Any, loss: str) -> None:
    if loss == "crf" and solver not in ("auto", "casimir", "dual", "lbfgs", "sgd", "svrg"):
        with pytest.raises(TypeError, match="LBFGS"):
            cs.SequenceTagger(loss=loss, solver=solver).fit(X, Y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tagger = cs.SequenceTagger(loss=loss, solver=solver, max_epochs=20, n_features=None).fit(X, Y)
    assert tagger.dual_ <= tagger.objective_ < 2.0
    assert tagger.score(X, Y) > 0.9


def test_the_same_random_state_gives_the_same_weights() -> None:
    def weights(state: Any) -> np.ndarray:
        return np.array(cs.SequenceTagger(random_state=state, n_features=64).fit(X, Y).coef_)

    np.testing.assert_array_equal(weights(3), weights(3))
    np.testing.assert_array_equal(weights(np.random.default_rng(3)), weights(np.random.default_rng(3)))
    np.testing.assert_array_equal(weights(np.random.RandomState(3)), weights(np.random.RandomState(3)))
    weights(None)


@pytest.mark.parametrize("n_features", [None, 50, 2**12])
def test_packed_and_plain_features_give_the_same_tagger(n_features: int | None) -> None:
    plain = cs.SequenceTagger(n_features=n_features).fit(X, Y)
    packed = cs.SequenceTagger().fit(cs.pack(X, n_features), Y)
    np.testing.assert_array_equal(plain.coef_, packed.coef_)
    assert plain.predict(X_NEW) == packed.predict(X_NEW)


def test_leaving_out_unused_features_changes_nothing() -> None:
    packed = cs.pack(X, 2**12)
    features, small = UsedFeatures.of(packed)
    assert small.n_features < 20
    w = np.random.default_rng(0).normal(size=(small.n_features + 5) * 4)
    a, b = cs.LinearChainModel(small, 3), cs.LinearChainModel(packed, 3)
    wide, known = features.known(w, 3)
    assert known is None
    np.testing.assert_allclose(a.scores(w).nodes, b.scores(wide).nodes, atol=1e-12)
    np.testing.assert_array_equal(a.scores(w).edges, b.scores(wide).edges)


@pytest.mark.parametrize("labels", [{"D": 0, "N": 1, "V": 2}, {"D": (0,), "N": ("n", 1), "V": True}])
def test_labels_may_be_anything_hashable(labels: dict[str, Any]) -> None:
    y = [[labels[label] for label in sentence] for sentence in Y]
    predicted = cs.SequenceTagger(n_features=64).fit(X, y).predict(X)
    assert {label for sentence in predicted for label in sentence} <= set(labels.values())
    assert predicted == y


def test_numpy_labels_become_plain_ones() -> None:
    y = [np.array(["DNV".index(label) for label in sentence]) for sentence in Y]
    predicted = cs.SequenceTagger(n_features=64).fit(X, y).predict(X)
    assert type(predicted[0][0]) is int


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_one_label_just_works(loss: str) -> None:
    tagger = cs.SequenceTagger(loss=loss).fit([[{"w": "a"}], [{"w": "b"}, {"w": "c"}]], [["O"], ["O", "O"]])
    assert tagger.predict([[{"w": "z"}, {"w": "a"}]]) == [["O", "O"]]
    assert tagger.gap_ == 0.0
    np.testing.assert_allclose(tagger.predict_marginals([[{"w": "z"}]])[0], [[1.0]])


def test_label_costs_change_the_objective() -> None:
    plain = cs.SequenceTagger(n_features=64).fit(X, Y)
    dear = cs.SequenceTagger(n_features=64, label_costs={("N", "V"): 10.0}).fit(X, Y)
    assert dear.objective_ > plain.objective_
    with pytest.raises(ValueError, match="'X'; y has only"):
        cs.SequenceTagger(label_costs={("N", "X"): 1.0}).fit(X, Y)
    with pytest.raises(ValueError, match="no cost"):
        cs.SequenceTagger(loss="crf", label_costs={("N", "V"): 1.0}).fit(X, Y)


def test_a_gap_not_reached_warns() -> None:
    with pytest.warns(ConvergenceWarning, match="Allow more epochs, or a larger lam") as caught:
        tagger = cs.SequenceTagger(tol=1e-9, max_epochs=2, n_features=64).fit(X, Y)
    assert len(caught) == 1
    assert tagger.trace_[-1].epoch == 2
    assert tagger.status_ == "epochs"


# --- callbacks and Ctrl-C


def test_callbacks_see_rows_and_a_predictor_and_may_stop() -> None:
    seen: list[tuple[int, float]] = []

    def callback(row: cs.TraceRow, predictor: Any) -> bool:
        seen.append((row.epoch, predictor.score(X_NEW, Y_NEW)))
        return len(seen) == 2

    tagger = cs.SequenceTagger(n_features=2**12, tol=0.0).fit(X, Y, callbacks=[callback])
    assert tagger.status_ == "callback"
    assert [epoch for epoch, _ in seen] == [row.epoch for row in tagger.trace_]
    assert seen[-1][1] > 0.8


@pytest.mark.parametrize("n_features", [None, 2**12], ids=["exact", "hashed"])
@pytest.mark.parametrize("solver", ["auto", "sgd", cs.BCFW(pairwise=True)])
def test_a_predictor_that_a_callback_keeps_stays_as_it_was(n_features: int | None, solver: Any) -> None:
    kept: list[tuple[Any, np.ndarray]] = []

    def keep(row: cs.TraceRow, predictor: Any) -> bool:
        kept.append((predictor, predictor.w.copy()))
        return len(kept) == 3

    cs.SequenceTagger(n_features=n_features, solver=solver, tol=0.0).fit(X, Y, callbacks=[keep])
    for predictor, w in kept:
        np.testing.assert_array_equal(predictor.w, w)
    assert not np.array_equal(kept[0][1], kept[2][1])


def test_interrupt_keeps_the_best_weights() -> None:
    def interrupt(row: cs.TraceRow, predictor: Any) -> None:
        if row.epoch >= 2:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted after 2 epochs"):
        tagger = cs.SequenceTagger(n_features=64, tol=0.0).fit(X, Y, callbacks=[interrupt])
    assert tagger.status_ == "interrupted"
    assert tagger.objective_ == min(tagger.trace_["objective"])
    assert tagger.score(X, Y) > 0.8


def test_verbose_writes_a_line_per_evaluation_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    tagger = cs.SequenceTagger(n_features=64, verbose=True).fit(X, Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("certified gap") == len(tagger.trace_)


# --- predictions


def test_topk_is_sorted_begins_with_the_prediction_and_scores_are_those_of_the_model(tagger: cs.SequenceTagger) -> None:
    for best, top in zip(tagger.predict(X_NEW), tagger.predict_topk(X_NEW, 4), strict=True):
        assert top[0][0] == best
        values = [score for _, score in top]
        assert values == sorted(values, reverse=True)
        assert len({tuple(labels) for labels, _ in top}) == len(top) == 4
    sentence, (labels, score) = X_NEW[0], tagger.predict_topk(X_NEW[:1], 1)[0][0]
    assert score == pytest.approx(score_by_hand(tagger, sentence, labels))


def score_by_hand(tagger: cs.SequenceTagger, sentence: list[Any], labels: list[Any]) -> float:
    y = [list(tagger.classes_).index(label) for label in labels]
    packed = cs.pack([sentence], 2**12)
    total = tagger.start_[y[0]] + tagger.stop_[y[-1]] + sum(tagger.transitions_[a, b] for a, b in zip(y, y[1:]))  # noqa: B905, RUF007
    values = np.ones(len(packed.indices)) if packed.values is None else packed.values
    for t, label in enumerate(y):
        for f in range(packed.indptr[t], packed.indptr[t + 1]):
            total += values[f] * tagger.coef_[packed.indices[f], label]
    return float(total)


def test_topk_gives_what_exists() -> None:
    tagger = cs.SequenceTagger(n_features=64).fit(X, Y)
    assert [len(top) for top in tagger.predict_topk([[{"word": "cat"}], [{"word": "a"}, {"word": "cat"}]], 5)] == [3, 5]


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_marginals_are_those_of_the_gibbs_distribution(loss: str) -> None:
    tagger = cs.SequenceTagger(loss=loss, n_features=2**12).fit(X, Y)
    sentence = X_NEW[0][:3]
    all_outputs = tagger.predict_topk([sentence], 3 ** len(sentence))[0]
    weights = np.exp([score for _, score in all_outputs])
    expected = np.zeros((len(sentence), 3))
    for (labels, _), weight in zip(all_outputs, weights / weights.sum(), strict=True):
        expected[np.arange(len(sentence)), [list(tagger.classes_).index(label) for label in labels]] += weight
    np.testing.assert_allclose(tagger.predict_marginals([sentence])[0], expected, atol=1e-10)


def test_score_is_token_accuracy_and_warns_of_unknown_labels(tagger: cs.SequenceTagger) -> None:
    right = tagger.predict(X[:2])
    wrong = [["?" for _ in labels] for labels in right[:1]]
    assert tagger.score(X[:2], right) == 1.0
    with pytest.warns(UserWarning, match="'\\?' was not seen"):
        assert tagger.score(X[:1], wrong) == 0.0


# --- scikit-learn's tools


def test_clone_and_parameters() -> None:
    tagger = cs.SequenceTagger(0.5, "crf", cs.BCFW(), 1e-3, 7, max_epochs=9, n_features=None, label_costs={})
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params()
    assert copy.set_params(lam=0.1).lam == 0.1
    assert cs.SequenceTagger().get_params()["lam"] is None


@pytest.mark.parametrize("packed", [False, True])
def test_grid_search_and_cross_validation(packed: bool) -> None:
    data = cs.pack(X, None) if packed else X
    assert cross_val_score(cs.SequenceTagger(tol=0.1, n_features=64), data, Y, cv=3).mean() > 0.9
    search = GridSearchCV(cs.SequenceTagger(tol=0.1, n_features=64), {"lam": [1e-2, 1e3]}, cv=2).fit(data, Y)
    assert search.best_params_ == {"lam": 1e-2}


def test_pickle_keeps_predictions(tagger: cs.SequenceTagger) -> None:
    copy = pickle.loads(pickle.dumps(tagger))
    assert copy.predict(X_NEW) == tagger.predict(X_NEW)
    assert copy.trace_.as_dicts() == tagger.trace_.as_dicts()
    pickle.loads(pickle.dumps(cs.SequenceTagger()))


# --- model folders


@pytest.mark.parametrize("n_features", [None, 2**12])
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_save_and_load_give_the_same_tagger(tmp_path: Path, n_features: int | None, loss: str) -> None:
    costs = {("N", "V"): 2.0} if loss == "hinge" else None
    tagger = cs.SequenceTagger(n_features=n_features, loss=loss, label_costs=costs).fit(X, Y)
    tagger.save(tmp_path / "model")
    loaded = cs.load(tmp_path / "model")
    assert loaded.get_params() == tagger.get_params()
    np.testing.assert_array_equal(loaded.predictor_.w, tagger.predictor_.w)
    assert list(loaded.classes_) == list(tagger.classes_)
    assert loaded.predict_topk(X_NEW, 2) == tagger.predict_topk(X_NEW, 2)
    assert (loaded.objective_, loaded.gap_, loaded.status_) == (tagger.objective_, tagger.gap_, tagger.status_)
    assert loaded.trace_.as_dicts() == tagger.trace_.as_dicts()
    assert clone(loaded).fit(X, Y).predict(X_NEW) == tagger.predict(X_NEW)


def test_labels_that_json_cannot_hold_are_refused(tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(n_features=64).fit([[{"w": "a"}]], [[("A", 1)]])
    with pytest.raises(TypeError, match="strings and numbers"):
        tagger.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_loading_names_damage_foreign_kinds_and_other_hashes(tmp_path: Path, tagger: cs.SequenceTagger) -> None:
    save_folder(tmp_path / "other", "quantum", {}, {})
    with pytest.raises(ValueError, match=r"kind 'quantum'.*Upgrade"):
        cs.load(tmp_path / "other")
    tagger.save(tmp_path / "m")
    kind, meta, arrays = load_folder(tmp_path / "m")
    for change, message in [
        ({"classes": ["D", "N"]}, "do not fit 2 labels"),
        ({"hash_version": 99}, "hashes features by version 99"),
        ({"trace": [{"epoch": 1}]}, "damaged"),
        ({"parameters": {}}, "damaged"),
    ]:
        save_folder(tmp_path / "m", kind, {**meta, **change}, arrays)
        with pytest.raises(ValueError, match=message):
            cs.load(tmp_path / "m")


# --- bad input


def test_length_mismatch_names_sentence_and_place() -> None:
    with pytest.raises(ValueError, match=r"Sentence 1 has 2 tokens and 1 label: token 1 has no label"):
        cs.SequenceTagger().fit([[["a"]], [["b"], ["c"]]], [["O"], ["O"]])
    with pytest.raises(ValueError, match=r"Sentence 0 has 1 token and 2 labels: label 1 has no token"):
        cs.SequenceTagger().fit([[["a"]], [["b"], ["c"]]], [["O", "O"], ["O", "O"]])
    with pytest.raises(ValueError, match="labels for 1 sentences, X has 2"):
        cs.SequenceTagger().fit([[["a"]], [["b"], ["c"]]], [["O"]])


@pytest.mark.parametrize(
    ("data", "labels", "error", "message"),
    [
        ([], [], ValueError, "no sequences"),
        ([[["a"]], []], [["O"], []], ValueError, "empty|at least one token|no tokens"),
        ([[["a"]]], ["O"], TypeError, r"y\[0\] is 'O'"),
        ([[["a"]]], "O", TypeError, "y is a str"),
        ([[["a"]]], [[["O"]]], TypeError, r"y\[0\]\[0\] is \['O'\], a list"),
        ([[["a"]]], [[None]], ValueError, "y has no labels: all of them are None"),
        ([[["a"]]], [[float("nan")]], ValueError, r"y\[0\]\[0\] is nan"),
        ([[{"a": float("inf")}]], [["O"]], ValueError, "inf"),
        ({"a": 1}, [["O"]], TypeError, "list of sequences"),
    ],
)
def test_bad_data_gives_one_clear_sentence(data: Any, labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cs.SequenceTagger().fit(data, labels)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"lam": -1.0}, ValueError, "lam=-1.0"),
        ({"lam": "much"}, ValueError, "lam='much'"),
        ({"loss": "log"}, ValueError, "'hinge' or 'crf'"),
        ({"solver": "magic"}, ValueError, "solver='magic'"),
        ({"solver": 3}, TypeError, "solver=3"),
        ({"tol": -1.0}, ValueError, "tol=-1.0"),
        ({"tol": float("nan")}, ValueError, "tol=nan"),
        ({"max_epochs": 0}, ValueError, "max_epochs=0"),
        ({"n_features": 0}, ValueError, "n_features"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"solver": cs.BCFW}, TypeError, r"solver=BCFW is a class; .* write BCFW\(\)"),
        ({"label_costs": 3}, TypeError, "label_costs is a int; it must be a dict"),
        ({"label_costs": {"D": 1.0}}, TypeError, "label_costs has the key 'D'; its keys are pairs"),
        ({"random_state": "x"}, ValueError, "random_state='x'"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cs.SequenceTagger(**parameters).fit(X, Y)


def test_predicting_needs_a_fit_and_matching_features(tagger: cs.SequenceTagger) -> None:
    with pytest.raises(NotFittedError):
        cs.SequenceTagger().predict(X)
    with pytest.raises(NotFittedError):
        cs.SequenceTagger().save("nowhere")
    with pytest.raises(ValueError, match="n_features=4096 is asked for"):
        tagger.predict(cs.pack(X, 2**10))
    with pytest.raises(ValueError, match="exact vocabulary"):
        tagger.predict(cs.pack(X, None))
    with pytest.raises(ValueError, match="another vocabulary"):
        cs.SequenceTagger(n_features=None).fit(X, Y).predict(cs.pack(X[:2], None))
    with pytest.raises(ValueError, match="no sequences"):
        tagger.predict(cs.pack(X, 2**12)[:0])
    with pytest.raises(ValueError, match="k=0"):
        tagger.predict_topk(X, 0)


def test_minus_one_job_means_all_cpus() -> None:
    tagger = cs.SequenceTagger(n_jobs=-1, n_features=64).fit(X, Y)
    assert tagger.predict(X) == cs.SequenceTagger(n_features=64).fit(X, Y).predict(X)


def test_enormous_regularisation_leaves_no_weights() -> None:
    tagger = cs.SequenceTagger(lam=1e300, n_features=64).fit(X, Y)
    assert tagger.gap_ <= tagger.tol
    assert np.abs(tagger.coef_).max() < 1e-200


def test_no_regularisation_is_possible() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tagger = cs.SequenceTagger(lam=0.0, max_epochs=10, n_features=64).fit(X, Y)
    assert tagger.score(X, Y) > 0.9
