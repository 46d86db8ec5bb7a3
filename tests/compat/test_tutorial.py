"""A program in the manner of sklearn-crfsuite's tutorial runs with its imports changed, and says nearly the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

PROGRAM = """
from collections import Counter

import scipy.stats
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

{imports}

NAMES = {{"Ada": "B-PER", "Alan": "B-PER", "Grace": "B-PER", "Leeds": "B-LOC", "Paris": "B-LOC", "Rome": "B-LOC"}}


def word2features(sentence, i):
    word, tag = sentence[i]
    features = {{
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "postag": tag,
    }}
    if i > 0:
        features.update({{"-1:word.lower()": sentence[i - 1][0].lower(), "-1:postag": sentence[i - 1][1]}})
    else:
        features["BOS"] = True
    if i < len(sentence) - 1:
        features.update({{"+1:word.lower()": sentence[i + 1][0].lower()}})
    else:
        features["EOS"] = True
    return features


def sentence_of(text):
    return [(word, "NNP" if word.istitle() else "VB") for word in text.split()]


texts = ["Ada lives in Leeds", "Alan left Paris", "Grace saw Rome", "rain in Leeds", "Ada met Alan", "it rains"] * 4
train = [sentence_of(text) for text in texts]
test = [sentence_of(text) for text in ("Grace lives in Paris", "Alan met Ada", "rain in Rome")]
X_train, X_test = ([[word2features(s, i) for i in range(len(s))] for s in part] for part in (train, test))
y_train, y_test = ([[NAMES.get(word, "O") for word, _ in s] for s in part] for part in (train, test))

crf = sklearn_crfsuite.CRF(
    algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
)
crf.fit(X_train, y_train)

labels = list(crf.classes_)
labels.remove("O")
y_pred = crf.predict(X_test)
f1 = metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels)
sorted_labels = sorted(labels, key=lambda name: (name[1:], name[0]))
report = metrics.flat_classification_report(y_test, y_pred, labels=sorted_labels, digits=3)

crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=100, all_possible_transitions=True)
params_space = {{"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}}
f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels)
rs = RandomizedSearchCV(crf, params_space, cv=3, verbose=0, n_jobs=1, n_iter=3, scoring=f1_scorer, random_state=0)
rs.fit(X_train, y_train)
size = rs.best_estimator_.size_ / 1000000

crf = rs.best_estimator_
transitions = [(one, other, weight) for (one, other), weight in Counter(crf.transition_features_).most_common(20)]
states = [(weight, label, name) for (name, label), weight in Counter(crf.state_features_).most_common(30)]
sequence_score = scorers.sequence_accuracy(crf, X_test, y_test)
"""
OURS = "from casimir import compat as sklearn_crfsuite\nfrom casimir.compat import metrics, scorers"
THEIRS = "import sklearn_crfsuite\nfrom sklearn_crfsuite import metrics, scorers"


def run(imports: str) -> Any:
    names: dict[str, Any] = {}
    exec(PROGRAM.format(imports=imports), names)
    return SimpleNamespace(**names)


def test_the_program_runs_with_other_imports() -> None:
    found = run(OURS)
    assert found.f1 > 0.8
    assert "B-LOC" in found.report
    assert set(found.rs.best_params_) == {"c1", "c2"}
    assert found.size > 0.0
    assert {type(weight) for _, _, weight in found.transitions} == {float}
    assert ("B-PER", "word.lower():ada") in {(label, name) for _, label, name in found.states}
    assert 0.0 <= found.sequence_score <= 1.0


def test_both_libraries_say_nearly_the_same() -> None:
    pytest.importorskip("sklearn_crfsuite")
    ours, theirs = run(OURS), run(THEIRS)
    assert ours.f1 == pytest.approx(theirs.f1, abs=0.05)
    assert ours.labels == theirs.labels
    assert ours.rs.best_score_ == pytest.approx(theirs.rs.best_score_, abs=0.05)
    assert ours.states[0][1:] in {state[1:] for state in theirs.states[:5]}
