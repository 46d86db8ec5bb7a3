"""A `fit` that is interrupted goes on from its checkpoint, with all that the estimator keeps besides the weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from checkpoints import CLOCKS
from sklearn.exceptions import ConvergenceWarning

import casimir as cs
from casimir.datasets import load_news
from casimir.tasks.ner import extract, read_conll


@pytest.fixture(scope="module")
def data() -> tuple[list, list, list, list]:
    news = load_news()
    train, dev = read_conll(news.train), read_conll(news.heldout)
    return extract(train.sentences[:80]), train.labels[:80], extract(dev.sentences[:40]), dev.labels[:40]


class InterruptAt:
    """A callback of `fit`: Ctrl-C in this epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def __call__(self, row: Any, predictor: Any) -> None:
        if row.epoch >= self.epoch:
            raise KeyboardInterrupt


def told(tagger: cs.SequenceTagger) -> dict[str, Any]:
    """All but the clocks, the weights as bytes."""
    rows = [{name: x for name, x in row.items() if name not in CLOCKS} for row in tagger.trace_.as_dicts()]
    names = ("objective_", "dual_", "gap_", "status_", "lam_", "dev_scores_", "best_epoch_")
    found = {name: getattr(tagger, name) for name in names if hasattr(tagger, name)}
    return found | {"rows": rows, "w": tagger.predictor_.w.tobytes()}


def interrupted(tagger: cs.SequenceTagger, data: tuple, at: int, **given: Any) -> cs.SequenceTagger:
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        return tagger.fit(data[0], data[1], callbacks=[InterruptAt(at)], **given)


@pytest.mark.parametrize("options", [{}, {"loss": "crf"}, {"solver": "sgd"}, {"solver": "bcfw", "l1_ratio": 0.2}])
def test_a_fit_goes_on_bit_for_bit(options: dict[str, Any], data: tuple, tmp_path: Path) -> None:
    options = {"tol": 0.0, "max_epochs": 8, "random_state": 3, **options}
    with pytest.warns(ConvergenceWarning):
        straight = cs.SequenceTagger(**options).fit(*data[:2])
    kept = cs.SequenceTagger(checkpoint=tmp_path, **options)
    for epoch in (1, 2):  # which all of these solvers evaluate
        assert interrupted(kept, data, epoch).status_ == "interrupted"
    with pytest.warns(ConvergenceWarning, match="ended after 8 epochs"):
        assert told(kept.fit(*data[:2])) == told(straight)


def test_the_best_on_a_dev_set_goes_on_whoever_else_listens(
    data: tuple, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The weights that did best were those of an epoch before the interruption."""
    X, y, X_dev, y_dev = data
    given = {"X_dev": X_dev, "y_dev": y_dev}
    scores = iter(range(100, 0, -1))  # the first are the best

    def scorer(tagger: Any, X: Any, y: Any) -> float:
        return float(next(scores))

    straight = cs.SequenceTagger(tol=1e-2, scoring=scorer).fit(X, y, **given)
    scores = iter(range(100, 0, -1))
    kept = cs.SequenceTagger(tol=1e-2, scoring=scorer, checkpoint=cs.Checkpoint(tmp_path))
    interrupted(kept.set_params(verbose=True), data, 4, **given)
    assert told(kept.set_params(verbose=False).fit(X, y, **given)) == told(straight)
    assert straight.best_epoch_ == 1
    assert capsys.readouterr().err


def test_states_of_other_callbacks_are_refused(data: tuple, tmp_path: Path) -> None:
    kept = cs.SequenceTagger(tol=0.0, checkpoint=tmp_path)
    interrupted(kept, data, 2, X_dev=data[2], y_dev=data[3])
    with pytest.raises(ValueError, match="has the states of 1 callbacks, and this run has 0"):
        kept.fit(*data[:2])


def test_a_path_of_lam_keeps_every_model_apart(data: tuple, tmp_path: Path) -> None:
    X, y, X_dev, y_dev = data
    options = {"lam": "auto", "tol": 0.1}
    straight = cs.SequenceTagger(**options).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    kept = cs.SequenceTagger(checkpoint=tmp_path, **options)
    interrupted(kept, data, 2, X_dev=X_dev, y_dev=y_dev)
    again = kept.fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert told(again) == told(straight)
    assert [point.lam for point in again.path_] == [point.lam for point in straight.path_]
    assert sorted(os.listdir(tmp_path)) == ["dev", "run.checkpoint"]


def test_other_data_and_other_parameters_are_refused(data: tuple, tmp_path: Path) -> None:
    interrupted(cs.SequenceTagger(checkpoint=tmp_path), data, 2)
    with pytest.raises(ValueError, match="another training data, labels or weights of examples: 80 examples"):
        cs.SequenceTagger(checkpoint=tmp_path).fit(data[0][1:], data[1][1:])
    with pytest.raises(ValueError, match="of a run with another loss"):
        cs.SequenceTagger(checkpoint=tmp_path, loss="crf", lam=5 / 80).fit(*data[:2])
    with pytest.raises(ValueError, match="of a run with another penalty"):
        cs.SequenceTagger(checkpoint=tmp_path, lam=1e-3).fit(*data[:2])


def test_batches_have_no_checkpoints(data: tuple, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="partial_fit has no checkpoint="):
        cs.SequenceTagger(checkpoint=tmp_path).partial_fit(*data[:2])


def test_a_model_folder_does_not_name_the_checkpoint(data: tuple, tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(tol=0.5, checkpoint=tmp_path / "here").fit(*data[:2])
    tagger.save(tmp_path / "model")
    assert cs.load(tmp_path / "model").checkpoint is None
    assert str(tmp_path) not in (tmp_path / "model" / "model.json").read_text()
