"""sklearn-crfsuite's class: CRFsuite's objective, weights and online learners by brute force, and the class around."""

from __future__ import annotations

import inspect
import itertools
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from crf_by_hand import distribution, marginals, objective
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from casimir.compat import CRF, metrics, scorers

ALGORITHMS = ["lbfgs", "l2sgd", "pa", "ap", "arow"]
X = [
    [{"a": 1.0, "b": 0.5}, {"b": 1.0}, {"a": 1.0}],
    [{"c": 1.0, "a": 0.0}, {"a": 2.0, "c": 0.5}],
    [{"b": 1.0}, {"c": 1.0}],
]
Y = [["x", "y", "z"], ["y", "x"], ["z", "y"]]


def fitted(**parameters: Any) -> CRF:
    return CRF(**({"delta": 1e-9} | parameters)).fit(X, Y)


def seen_pairs() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(attribute, label) pairs that occur, values of 0 included, and pairs of neighbouring labels."""
    states = {(a, label) for x, y in zip(X, Y, strict=True) for t, label in zip(x, y, strict=True) for a in t}
    return sorted(states), sorted({(p, q) for y in Y for p, q in itertools.pairwise(y)})


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.0, 0.1), (0.1, 0.3), (0.4, 0.1)])
def test_the_optimum_is_that_of_the_sum_over_pairs_that_were_seen(c1: float, c2: float) -> None:
    """An independent solver on the objective by brute force; absolute values as differences of two weights >= 0."""
    crf = fitted(c1=c1, c2=c2)
    states, transitions = seen_pairs()
    n = len(states) + len(transitions)

    def value(both: np.ndarray) -> float:
        w = both[:n] - both[n:]
        tables = dict(zip(states, w, strict=False)), dict(zip(transitions, w[len(states) :], strict=True))
        smooth = objective(X, Y, ["x", "y", "z"], *tables, 0.0, c2)
        return smooth + c1 * float(both.sum())

    best = minimize(value, np.full(2 * n, 0.01), method="L-BFGS-B", bounds=[(0.0, None)] * (2 * n))
    found = crf.state_features_, crf.transition_features_
    assert crf.objective_ == pytest.approx(objective(X, Y, ["x", "y", "z"], *found, c1, c2), rel=1e-9)
    assert crf.objective_ == pytest.approx(best.fun, rel=1e-5)
    assert crf.dual_ <= best.fun
    w = best.x[:n] - best.x[n:]
    expected = dict(zip([*states, *transitions], w, strict=True))
    weights = crf.state_features_ | crf.transition_features_
    assert set(weights) <= set(expected)
    assert max(abs(weights.get(pair, 0.0) - expected[pair]) for pair in expected) < 0.01


@pytest.mark.parametrize(("c1", "c2"), [(0.5, 0.0), (0.5, 0.001)])
def test_absolute_values_alone_are_minimised_too(c1: float, c2: float) -> None:
    crf = fitted(c1=c1, c2=c2)
    near = fitted(c1=c1, c2=0.02 * c1)  # certified, and not far away
    at_near = objective(X, Y, ["x", "y", "z"], near.state_features_, near.transition_features_, c1, c2)
    assert crf.objective_ <= at_near + 1e-9
    assert crf.dual_ <= crf.objective_
    for step in (-0.01, 0.01):  # no single weight can be improved
        for pair in crf.state_features_:
            moved = crf.state_features_ | {pair: crf.state_features_[pair] + step}
            assert objective(X, Y, ["x", "y", "z"], moved, crf.transition_features_, c1, c2) > crf.objective_ - 1e-6


def test_weights_without_any_penalty_come_to_an_end() -> None:
    both_ways = [[{"a": 1.0}, {"a": 1.0}]] * 2
    crf = CRF(c2=0.0).fit(both_ways, [["x", "y"], ["y", "x"]])
    assert crf.objective_ == pytest.approx(2 * np.log(2), rel=1e-3)  # x y and y x with probability 1/2 each


@pytest.mark.parametrize(("states", "transitions"), [(False, False), (True, False), (False, True), (True, True)])
def test_pairs_that_were_never_seen_have_weights_only_if_asked_for(states: bool, transitions: bool) -> None:
    crf = fitted(all_possible_states=states, all_possible_transitions=transitions, c2=0.1)
    seen_states, seen_transitions = seen_pairs()
    assert len(crf.state_features_) == (3 * 3 if states else len(seen_states))
    assert len(crf.transition_features_) == (3 * 3 if transitions else len(seen_transitions))
    assert crf.training_log_.featgen_num_features == len(crf.state_features_) + len(crf.transition_features_)


def test_a_minimum_frequency_is_that_of_the_sum_of_values() -> None:
    """(a, x) 1 + 2; (b, x) 0.5; (b, y) 1; (a, z) 1; (c, y) 1 + 1; (a, y) 0; (c, x) 0.5; (b, z) 1."""
    crf = fitted(min_freq=1, c2=0.1)
    assert sorted(crf.state_features_) == [("a", "x"), ("a", "z"), ("b", "y"), ("b", "z"), ("c", "y")]
    assert sorted(fitted(min_freq=2, c2=0.1).transition_features_) == []
    assert sorted(fitted(min_freq=1.5, all_possible_states=True).state_features_) == [("a", "x"), ("c", "y")]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_predictions_and_marginals_are_those_of_the_weights(algorithm: str) -> None:
    crf = CRF(algorithm).fit(X, Y)
    tables = crf.state_features_, crf.transition_features_
    assert crf.classes_ == ["x", "y", "z"]
    for tokens, rows in zip(X, crf.predict_marginals(X), strict=True):
        expected = marginals(tokens, crf.classes_, *tables)
        for row, probabilities in zip(rows, expected, strict=True):
            assert row == pytest.approx(probabilities, abs=1e-9)
        outputs, probabilities, _ = distribution(tokens, crf.classes_, *tables)
        best = outputs[int(np.argmax(probabilities))]
        assert crf.predict_single(tokens) == list(best)
        assert crf.predict_marginals_single(tokens) == rows
        crf.tagger_.set(tokens)
        assert crf.tagger_.tag() == list(best)
        assert crf.tagger_.probability(list(best)) == pytest.approx(probabilities.max())
        assert crf.tagger_.marginal("y", 1) == rows[1]["y"]


def seen_again(rule: str, tau: Any, iterations: int, *, averaging: bool) -> dict[tuple[str, str], float]:
    """An online learner on one sentence, X[0], by brute force over its outputs; `tau` is the length of a step."""
    tokens, truth = X[0], tuple(Y[0])
    names = {(a, label) for t, label in zip(tokens, truth, strict=True) for a in t}
    names |= set(itertools.pairwise(truth))
    mean, total, variance = (dict.fromkeys(names, start) for start in (0.0, 0.0, 1.0))
    for visit in range(1, iterations + 1):
        outputs, probabilities, _ = distribution(tokens, list(truth), mean, mean)
        guess = outputs[int(np.argmax(probabilities))]
        x = {name: parts(tokens, truth).get(name, 0.0) - parts(tokens, guess).get(name, 0.0) for name in names}
        wrong = sum(a != b for a, b in zip(truth, guess, strict=True))
        if not wrong:
            continue
        excess = -sum(mean[name] * x[name] for name in names)
        scale = variance if rule == "arow" else dict.fromkeys(names, 1.0)
        alpha = tau(excess, wrong, sum(scale[name] * x[name] ** 2 for name in names))
        for name in names:
            mean[name] += alpha * scale[name] * x[name]
            total[name] += visit * alpha * scale[name] * x[name]
            variance[name] = 1.0 / (1.0 / variance[name] + x[name] ** 2)
    return {name: mean[name] - (total[name] / (iterations + 1) if averaging else 0.0) for name in names}


def parts(tokens: list[dict[str, float]], labels: tuple[str, ...]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for token, label in zip(tokens, labels, strict=True):
        for name, value in token.items():
            found[name, label] = found.get((name, label), 0.0) + value
    for pair in itertools.pairwise(labels):
        found[pair] = found.get(pair, 0.0) + 1.0
    return found


@pytest.mark.parametrize(
    ("parameters", "tau"),
    [
        ({"algorithm": "ap"}, lambda e, d, q: 1.0),
        ({"algorithm": "pa", "c": 0.1}, lambda e, d, q: min(0.1, (e + d**0.5) / q)),
        ({"algorithm": "pa", "pa_type": 0, "error_sensitive": False}, lambda e, d, q: (e + 1) / q),
        ({"algorithm": "pa", "pa_type": 2, "averaging": False}, lambda e, d, q: (e + d**0.5) / (q + 0.5)),
        ({"algorithm": "arow"}, lambda e, d, q: (e + d) / (1 + q)),
    ],
)
@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_online_learners_take_the_steps_of_their_definitions(
    parameters: dict[str, Any], tau: Any, iterations: int
) -> None:
    crf = CRF(**parameters, max_iterations=iterations).fit(X[:1], Y[:1])
    averaging = parameters["algorithm"] == "ap" or parameters.get("averaging", parameters["algorithm"] == "pa")
    expected = seen_again(parameters["algorithm"], tau, iterations, averaging=averaging)
    weights = crf.state_features_ | crf.transition_features_
    for name, value in expected.items():
        assert weights.get(name, 0.0) == pytest.approx(value, abs=1e-12)
    assert crf.gap_ is None


def test_online_learners_end_below_epsilon() -> None:
    assert len(CRF("ap", epsilon=1.1).fit(X, Y).training_log_.iterations) == 1
    assert len(CRF("pa", max_iterations=5).fit(X, Y).training_log_.iterations) <= 5


SUNNY = [{"walk": 1, "shop": 0.5}, {"walk": 1}, {"walk": 1, "tidy": 0.5}, {"shop": 0.5, "tidy": 0.5}, {"tidy": 1}, {}]
WEATHER = ["dry", "dry", "dry", "wet", "wet", "wet"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_survives_pickling_and_scores(algorithm: str) -> None:
    crf = CRF(algorithm).fit([SUNNY] * 2, [WEATHER] * 2)
    again = pickle.loads(pickle.dumps(crf))
    assert again.score([SUNNY], [WEATHER]) == crf.score([SUNNY], [WEATHER]) >= 5 / 6
    assert again.algorithm == algorithm
    assert again.state_features_ == crf.state_features_
    assert crf.size_ > len(pickle.dumps(CRF(algorithm)))
    assert metrics.flat_accuracy_score([WEATHER], again.predict([SUNNY])) == crf.score([SUNNY], [WEATHER])


@pytest.mark.parametrize("name", ["tagger_", "size_", "classes_", "num_attributes_", "attributes_", "state_features_"])
def test_attributes_are_none_before_fit(name: str) -> None:
    assert getattr(CRF(), name) is None
    assert CRF().transition_features_ is None
    assert CRF().training_log_ is None
    assert getattr(CRF().fit(X, Y), name)


def test_predictions_before_fit_are_refused() -> None:
    for method in ("predict", "predict_marginals"):
        with pytest.raises(NotFittedError):
            getattr(CRF(), method)(X)


def test_attributes_without_weight_are_left_out() -> None:
    crf = fitted(c1=0.9, c2=0.1)
    assert crf.num_attributes_ == len(crf.attributes_) == len({name for name, _ in crf.state_features_})
    assert set(fitted().attributes_) == {"a", "b", "c"}
    assert crf.predict(X).shape == (3,)
    none = fitted(c1=100.0)
    assert (none.attributes_, none.state_features_) == ([], {})
    assert none.predict_single(X[0]) == ["x", "x", "x"]


def test_features_are_named_as_python_crfsuite_names_them() -> None:
    token: dict[str, Any] = {
        "word": "Ada",
        "flag": True,
        "off": False,
        "raw": "ü".encode(),
        "n": {"a": ["p", "q"], "b": 2},
    }
    crf = CRF().fit([[token, ["plain", "word:Ada"]]], [["x", "y"]])
    assert crf.attributes_ == ["word:Ada", "flag", "raw:ü", "n:a:p", "n:a:q", "n:b", "plain"]


def test_sentences_without_tokens_have_no_labels() -> None:
    crf = CRF(delta=1e-9).fit([*X, []], [*Y, []])
    assert crf.objective_ == pytest.approx(fitted().objective_)
    assert crf.predict([[], X[0]])[0] == []
    assert crf.predict_marginals_single([]) == []
    with pytest.raises(ValueError, match="no tokens"):
        CRF().fit([[]], [[]])


def test_held_out_sentences_are_scored_at_every_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    for algorithm in ("lbfgs", "ap"):
        crf = CRF(algorithm, verbose=True, max_iterations=4).fit(X, Y, X, Y)
        last = crf.training_log_.last_iteration
        assert last["item_accuracy_float"] == crf.score(X, Y)
        assert last["scores"]["x"].ref == 2
        assert "Acc(item/seq)" in capsys.readouterr().err
        assert crf.state_features_ == CRF(algorithm, max_iterations=4).fit(X, Y).state_features_
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        CRF().fit(X, Y, X)


def test_the_log_ends_at_the_objective() -> None:
    crf = fitted(c2=0.2)
    assert crf.training_log_.last_iteration["loss"] == pytest.approx(crf.objective_, rel=1e-6)
    assert crf.training_log_.last_iteration["gap"] == crf.gap_ <= 1e-9


def test_a_grid_over_c1_and_c2_is_searched() -> None:
    sentences, labels = [SUNNY] * 6, [WEATHER] * 6
    search = GridSearchCV(
        CRF(max_iterations=50), {"c1": [0.0, 100.0], "c2": [0.1]}, scoring=scorers.flat_accuracy, cv=2
    )
    assert search.fit(sentences, labels).best_params_ == {"c1": 0.0, "c2": 0.1}
    assert cross_val_score(CRF(), sentences, labels, cv=3).mean() >= 5 / 6
    assert clone(CRF(c1=0.3)).c1 == 0.3


def test_parameters_stand_in_the_order_of_sklearn_crfsuite() -> None:
    expected = (
        "algorithm min_freq all_possible_states all_possible_transitions c1 c2 max_iterations num_memories epsilon "
        "period delta linesearch max_linesearch calibration_eta calibration_rate calibration_samples "
        "calibration_candidates calibration_max_trials pa_type c error_sensitive averaging variance gamma verbose "
        "model_filename keep_tempfiles trainer_cls"
    )
    assert list(inspect.signature(CRF).parameters) == expected.split()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": "newton"}, "must be one of lbfgs"),
        ({"algorithm": "ap", "c1": 0.1}, "does not belong to algorithm='ap', but to lbfgs"),
        ({"c": 1.0}, "but to pa"),
        ({"num_memories": 3}, "leave it out, and say with delta"),
        ({"epsilon": 1e-3}, "steers the way of CRFsuite's lbfgs"),
        ({"linesearch": "Backtracking"}, "dual steps"),
        ({"algorithm": "l2sgd", "calibration_eta": 0.5}, "steers the way of CRFsuite's l2sgd"),
        ({"model_filename": "m.crfsuite"}, "Pickle the fitted CRF"),
        ({"keep_tempfiles": True}, "no temporary files"),
        ({"trainer_cls": object}, "Leave it out"),
        ({"c2": -1.0}, "0 or larger"),
        ({"algorithm": "pa", "c": 0.0}, "above 0"),
        ({"algorithm": "pa", "pa_type": 3}, "0 \\(without slack\\)"),
        ({"max_iterations": 0}, "1 or larger"),
        ({"algorithm": ""}, "must be one of lbfgs"),
        ({"algorithm": ["lbfgs"]}, "must be one of lbfgs"),
        ({"c1": 10**400}, "c1 is inf; it must be finite"),
        ({"c2": 1e308}, "c2=1e\\+308; it must be 0, or 1e-100 or larger, and 1e\\+100 at the most"),
        ({"c1": 1e-320}, "c1=1e-320; it must be 0, or 1e-100 or larger"),
        ({"min_freq": float("nan")}, "min_freq is nan; it must be finite"),
        ({"algorithm": "arow", "variance": float("inf")}, "variance is inf; it must be finite"),
        ({"algorithm": "pa", "averaging": 0.5}, "averaging=0.5; it must be True or False"),
        ({"all_possible_states": float("nan")}, "it must be True or False"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CRF(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"c2": True},
        {"max_iterations": True, "algorithm": "ap"},
        {"max_iterations": 2.5},
        {"pa_type": np.array([1, 2]), "algorithm": "pa"},
        {"pa_type": True, "algorithm": "pa"},
        {"averaging": "no", "algorithm": "pa"},
        {"num_memories": np.array([6, 6])},
    ],
)
def test_parameters_of_another_type_are_refused_by_their_name(parameters: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(parameters))}="):
        CRF(**parameters).fit(X, Y)


@pytest.mark.parametrize("algorithm", ["lbfgs", "pa", "arow"])
def test_numbers_of_numpy_are_numbers(algorithm: str) -> None:
    ours: dict[str, Any] = {"max_iterations": 4, "min_freq": 1.0, "all_possible_states": True}
    theirs = {"max_iterations": np.int64(4), "min_freq": np.float32(1.0), "all_possible_states": np.True_}
    ours |= {"lbfgs": {"c1": 0.25, "c2": 0.5}, "pa": {"c": 2.0, "pa_type": 2}, "arow": {"gamma": 2.0}}[algorithm]
    theirs |= {
        "lbfgs": {"c1": np.float32(0.25), "c2": np.float64(0.5)},
        "pa": {"c": np.float32(2.0), "pa_type": np.int8(2)},
        "arow": {"gamma": np.int64(2)},
    }[algorithm]
    one, other = (CRF(algorithm, **given).fit(X, Y) for given in (ours, theirs))
    assert one.state_features_ == other.state_features_


@pytest.mark.parametrize("wrong", [[None, "y", "z"], [{"x", "y"}, "y", "z"]])
def test_labels_that_are_not_known_are_no_labels(wrong: list[Any]) -> None:
    for algorithm in ("lbfgs", "pa"):
        with pytest.raises(ValueError, match="Some labels are None or sets"):
            CRF(algorithm).fit(X, [wrong, *Y[1:]])


def test_data_of_another_shape_is_refused_by_its_name() -> None:
    crf = CRF().fit(X, Y)
    for call in (crf.predict, crf.predict_marginals, lambda given: crf.fit(given, Y)):
        for given, message in (
            (None, "X is a NoneType"),
            (3, "X is a int"),
            ("ab", "X is a str"),
            ([3], r"X\[0\] is a int"),
        ):
            with pytest.raises(TypeError, match=message):
                call(given)
    for given, message in ((None, "y is a NoneType"), ([3] * 3, r"y\[0\] is a int")):
        for judge in (crf.fit, crf.score):
            with pytest.raises(TypeError, match=message):
                judge(X, given)
    for X_dev, y_dev in ((X[:1], [["x"]]), (X[:1], Y[:2])):
        with pytest.raises(ValueError, match="X_dev and y_dev do not fit"):
            crf.fit(X, Y, X_dev=X_dev, y_dev=y_dev)
    assert crf.predict(one for one in X).tolist() == crf.predict(X).tolist()


def test_labels_and_places_that_are_not_there_are_refused() -> None:
    tagger = CRF().fit(X, Y).tagger_
    assert tagger is not None
    tagger.set(X[1])
    with pytest.raises(ValueError, match=r"'w' is no label of the model; it has \['x', 'y', 'z'\]"):
        tagger.marginal("w", 0)
    with pytest.raises(ValueError, match="'w' is no label"):
        tagger.probability(["x", "w"])
    for position in (2, -1):
        with pytest.raises(IndexError, match=f"position={position}; the sequence has 2 tokens"):
            tagger.marginal("x", position)


def test_defaults_of_crfsuite_may_be_spelled_out() -> None:
    spelled = CRF(num_memories=6, epsilon=1e-5, period=10, linesearch="MoreThuente", max_linesearch=20)
    assert spelled.fit(X, Y).state_features_ == CRF().fit(X, Y).state_features_
    with pytest.raises(TypeError, match="c1='many'; it must be a number"):
        CRF(c1="many").fit(X, Y)


def test_things_of_the_native_file_are_named_in_errors() -> None:
    crf = CRF().fit(X, Y)
    with pytest.raises(AttributeError, match="Pickle the fitted CRF"):
        _ = crf.modelfile
    with pytest.raises(AttributeError, match="from_crfsuite"):
        crf.tagger_.dump("model.txt")
    with pytest.raises(ValueError, match="set\\(xseq\\)"):
        CRF().fit(X, Y).tagger_.tag()
    info = crf.tagger_.info()
    assert (info.header["num_labels"], info.labels["y"], info.transitions) == ("3", "1", crf.transition_features_)


def test_importing_casimir_does_not_load_compat() -> None:
    code = "import sys, casimir; assert 'casimir.compat' not in sys.modules and 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
