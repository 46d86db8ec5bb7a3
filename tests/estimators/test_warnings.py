"""Warnings of the estimators point at the line that called them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import casimir as cs

RNG = np.random.default_rng(0)
PATH = np.array([[0, 1], [1, 2], [2, 3]])
SENTENCES = [[{"word": "a"}, {"word": "b"}], [{"word": "c"}]], [["x", "y"], ["x"]]
MAKERS: dict[str, Callable[..., Any]] = {
    "tagger": lambda **kw: cs.SequenceTagger(**kw).fit(*SENTENCES),
    "classifier": lambda **kw: cs.StructuredClassifier(**kw).fit(RNG.normal(size=(40, 3)), RNG.integers(3, size=40)),
    "multilabel": lambda **kw: cs.MultilabelClassifier(**kw).fit(
        RNG.normal(size=(40, 3)), RNG.integers(2, size=(40, 3))
    ),
    "graphs": lambda **kw: cs.GraphLabeler(**kw).fit(
        [(RNG.normal(size=(4, 3)), PATH) for _ in range(20)], [RNG.integers(3, size=4) for _ in range(20)]
    ),
    "grids": lambda **kw: cs.GridLabeler(**kw).fit(
        [RNG.normal(size=(3, 3, 2)) for _ in range(9)], [RNG.integers(2, size=(3, 3)) for _ in range(9)]
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_training_that_ends_too_early_warns_at_the_users_line(name: str) -> None:
    with pytest.warns(UserWarning, match="Training ended after 1 epochs") as found:
        MAKERS[name](max_epochs=1, tol=1e-9)
    assert {one.filename for one in found} == {__file__}


def test_labels_that_fit_has_not_seen_warn_at_the_users_line() -> None:
    tagger = cs.SequenceTagger().fit(*SENTENCES)
    for scores in (tagger.score, tagger.predictor_.score):
        with pytest.warns(UserWarning, match="not seen in fit") as found:
            scores(SENTENCES[0], [["x", "new"], ["x"]])
        assert [one.filename for one in found] == [__file__]
    with pytest.warns(UserWarning, match="All or nearly all") as found:
        tagger.calibrate(*SENTENCES)
    assert [one.filename for one in found] == [__file__]
