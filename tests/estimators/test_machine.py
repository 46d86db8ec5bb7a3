"""A tagger in any order of calls: what is saved is what is loaded, and what is refused changes nothing."""

from __future__ import annotations

import copy
import pickle
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from soak.budget import examples

import casimir as cs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WORDS = ["Ada", "Bob", "slept", "in", "Leeds", "the", "old", "house"]
LABELS = ["O", "B-PER", "B-LOC", "I-LOC"]
PROBE = [[{"w": word, "up": word[0].isupper()} for word in WORDS], [{"w": "new"}]]


def sentences(seed: int, n_labels: int) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(6):
        words = rng.choice(WORDS, int(rng.integers(1, 5)))
        X.append([{"w": str(word), "up": bool(word[0].isupper())} for word in words])
        y.append([LABELS[int(k)] for k in rng.integers(n_labels, size=len(words))])
    y[0][0], y[1][0] = LABELS[0], LABELS[n_labels - 1]  # two labels at least
    return X, y


class Tagger(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.is_fitted = False

    @initialize(
        loss=st.sampled_from(["hinge", "crf"]),
        n_features=st.sampled_from([None, 32, 2**18]),
        solver=st.sampled_from(["auto", "sgd", "lbfgs"]),
        warm_start=st.booleans(),
        kept=st.booleans(),
    )
    def begin(self, loss: str, n_features: Any, solver: str, warm_start: bool, kept: bool) -> None:
        folder = str(self.folder / "run") if kept else None
        options: dict[str, Any] = {"n_features": n_features, "warm_start": warm_start, "checkpoint": folder}
        self.tagger = cs.SequenceTagger(0.1, loss, solver if loss == "crf" or solver != "lbfgs" else "auto", **options)
        self.tagger.set_params(max_epochs=20)

    def answers(self, tagger: cs.SequenceTagger) -> list[Any]:
        return [tagger.predict(PROBE), [m.tobytes() for m in tagger.predict_marginals(PROBE)], list(tagger.classes_)]

    @rule(seed=st.integers(0, 9), n_labels=st.integers(2, 4))
    def fit(self, seed: int, n_labels: int) -> None:
        shutil.rmtree(self.folder / "run", ignore_errors=True)  # of a run on other data
        X, y = sentences(seed, n_labels)
        assert self.tagger.fit(X, y) is self.tagger
        self.is_fitted = True
        assert set(self.tagger.classes_) == {label for row in y for label in row}
        if not self.tagger.warm_start:  # then what came before does not matter
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            assert self.answers(clone(self.tagger).fit(X, y)) == self.answers(self.tagger)

    @precondition(lambda self: self.tagger.checkpoint is None)  # a batch is one step
    @rule(seed=st.integers(0, 9), n_labels=st.integers(2, 4))
    def partial_fit(self, seed: int, n_labels: int) -> None:
        X, y = sentences(seed, n_labels)
        before = list(self.tagger.classes_) if self.is_fitted else []
        self.tagger.partial_fit(X, y, classes=None if self.is_fitted else LABELS)
        assert set(self.tagger.classes_) >= {*before, *(label for row in y for label in row)}  # new ones may come
        self.is_fitted = True

    @precondition(lambda self: self.is_fitted)
    @rule(threshold=st.sampled_from([0.0, 1e-3, 0.1]))
    def sparsify(self, threshold: float) -> None:
        before = self.answers(self.tagger)
        assert self.tagger.sparsify(threshold) is self.tagger
        if threshold == 0.0:
            assert self.answers(self.tagger)[0] == before[0]

    @precondition(lambda self: self.is_fitted)
    @rule()
    def save_and_load(self) -> None:
        before = self.answers(self.tagger)
        self.tagger.save(self.folder / "model")
        loaded = cs.load(self.folder / "model")
        assert self.answers(loaded) == before
        assert self.answers(self.tagger) == before
        loaded.save(self.folder / "again")
        assert self.answers(cs.load(self.folder / "again")) == before
        shutil.rmtree(self.folder / "again")
        self.tagger = loaded

    @precondition(lambda self: self.is_fitted)
    @rule(how=st.sampled_from([copy.deepcopy, lambda tagger: pickle.loads(pickle.dumps(tagger))]))
    def be_copied(self, how: Any) -> None:
        copied = how(self.tagger)
        assert self.answers(copied) == self.answers(self.tagger)
        self.tagger = copied

    @precondition(lambda self: self.is_fitted)
    @rule(wrong=st.sampled_from(["lengths", "empty", "weights", "values", "threshold", "folder"]))
    def be_given_what_is_wrong(self, wrong: str) -> None:
        before = self.answers(self.tagger)
        X, y = sentences(0, 2)
        (self.folder / "file").write_text("mine")
        calls = {
            "lengths": lambda: self.tagger.fit(X, y[:-1]),
            "empty": lambda: self.tagger.fit([], []),
            "weights": lambda: self.tagger.fit(X, y, sample_weight=[-1.0] * len(X)),
            "values": lambda: self.tagger.predict([[{"w": float("nan")}]]),
            "threshold": lambda: self.tagger.sparsify(-1.0),
            "folder": lambda: self.tagger.save(self.folder / "file"),
        }
        with pytest.raises((ValueError, TypeError, OSError)):
            calls[wrong]()
        assert self.answers(self.tagger) == before

    @precondition(lambda self: not self.is_fitted)
    @rule()
    def be_asked_too_early(self) -> None:
        for call in (self.tagger.predict, self.tagger.predict_marginals):
            with pytest.raises(NotFittedError):
                call(PROBE)

    @precondition(lambda self: self.is_fitted)
    @invariant()
    def says_what_it_may(self) -> None:
        labels, marginals = self.tagger.predict(PROBE), self.tagger.predict_marginals(PROBE)
        for row, sentence, own in zip(labels, PROBE, marginals, strict=True):
            assert len(row) == len(sentence)
            assert set(row) <= set(self.tagger.classes_)
            assert own.shape == (len(sentence), len(self.tagger.classes_))
            np.testing.assert_allclose(own.sum(axis=1), 1.0, rtol=0, atol=1e-9)
        ranked = self.tagger.predict_topk(PROBE, 3)
        assert [list(one[0][0] if isinstance(one[0], tuple) else one[0]) for one in ranked] == labels

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


Tagger.TestCase.settings = settings(
    max_examples=examples(6),
    stateful_step_count=10,
    deadline=None,
    derandomize=examples(1) == 1,
    suppress_health_check=list(HealthCheck),
)
TestTagger = Tagger.TestCase
