"""The released code's setting: rare words are one token, and all weights together are 65,535 at the most."""

from __future__ import annotations

from pathlib import Path

import pytest

from casimir.experiments.base import Places
from casimir.experiments.catalog.authors import EXPERIMENT, adapt_by_rate, svrg_by_rate
from casimir.experiments.sources.authors import (
    N_WEIGHTS,
    SMALL,
    UNKNOWN,
    authors_data,
    authors_features,
    known_words,
    n_rows,
)
from casimir.tasks.tag.corpus import Sentence

SENTENCES = [Sentence(("to", "Rome", "to"), {"pos": ("T", "N", "T")}), Sentence(("to", "Rome"), {"pos": ("T", "N")})]


def test_words_seen_twice_are_unknown() -> None:
    assert known_words(SENTENCES) == {"to"}
    assert known_words(SENTENCES, rare=1) == {"to", "Rome"}


def test_features_are_those_of_a_token_and_of_the_next_one() -> None:
    first, last = authors_features(SENTENCES[1], frozenset({"to"}))
    own = {"w[-1]=<end>", "w[0]=to", f"w[1]={UNKNOWN}", "pos[-1]=<end>", "pos[0]=T", "pos[1]=N"}
    of_next = {"w[-1]=to", f"w[0]={UNKNOWN}", "w[1]=<end>", "pos[-1]=T", "pos[0]=N", "pos[1]=<end>"}
    assert set(first) == own | {f"next:{name}" for name in of_next}
    assert set(last) == of_next


def test_two_words_away_there_is_no_end() -> None:
    middle = authors_features(SENTENCES[0], frozenset())[1]
    assert not [name for name in middle if name.startswith(("w[-2]", "w[2]"))]


@pytest.mark.parametrize("n_labels", [8, 9])
def test_all_weights_together_are_the_number_asked_for(n_labels: int) -> None:
    rows = n_rows(N_WEIGHTS, n_labels) + n_labels + 2
    stride = 8 if n_labels == 8 else 12
    assert N_WEIGHTS - stride < rows * stride <= N_WEIGHTS


def test_the_small_source_keeps_to_its_number_of_weights(tmp_path: Path) -> None:
    data = SMALL.load(Places(None, tmp_path))
    assert 2**13 - 12 < data.objective.n_params <= 2**13
    assert 0.0 <= data.metrics["f1"](data.objective.model.zeros()) <= 1.0


def test_held_out_words_of_the_training_file_alone_are_known(tmp_path: Path) -> None:
    train, dev = tmp_path / "train", tmp_path / "dev"
    train.write_text("a O\na O\na O\nb O\nParis B-LOC\n\n")
    dev.write_text("zebra O\nzebra O\nzebra O\n\nb O\nb O\nb O\n\n")
    data = authors_data(train, dev, 2**12)
    first, second = data.metrics["f1"].packed  # type: ignore[attr-defined]
    assert first.indices.tolist() == second.indices.tolist()


def test_rates_are_those_of_the_release() -> None:
    case = EXPERIMENT.cases[1]
    size = case.size(1000)
    assert 1.0 / (svrg_by_rate(size, 0.02, 1.0, 5).lipschitz + size.lam) == pytest.approx(0.02)
    inner = adapt_by_rate(size, 0.02, 2.0, 5).inner
    assert 1.0 / (inner.lipschitz + 2.0 * size.lam) == pytest.approx(0.02)
    assert [method.params(case).get("gamma0") for method in EXPERIMENT.methods if method.name == "sgd"] == [0.02]
