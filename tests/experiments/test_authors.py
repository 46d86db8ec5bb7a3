"""The released code's setting: rare words are one token, and features and tags are hashed together."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from casimir.datasets import load_news
from casimir.experiments.base import Places
from casimir.experiments.catalog.authors import EXPERIMENT, adapt_by_rate, svrg_by_rate
from casimir.experiments.sources.authors import N_WEIGHTS, SMALL, authors_data
from casimir.experiments.sources.released_features import Numbering, hashed, tag_numbers, templates, word_numbers
from casimir.experiments.sources.tagging import read_corpora
from casimir.models import LinearTreeModel, SharedWeights
from casimir.smoothing import Hard
from casimir.structures import Tree
from casimir.tasks.tag.corpus import Sentence

SENTENCES = [
    Sentence(("to", "Rome", "to", "and"), {"pos": ("T", "N", "T", "C"), "chunk": ("a", "a", "b", "b")}),
    Sentence(("to", "Rome"), {"pos": ("T", "N"), "chunk": ("b", "a")}),
    Sentence(("Rome",), {"pos": ("N",), "chunk": ("a",)}),
]


def test_words_seen_twice_are_unknown() -> None:
    assert word_numbers(SENTENCES) == {"to": 1, "Rome": 2}
    assert word_numbers(SENTENCES, rare=3) == {}
    assert tag_numbers([("O", "B", "O"), ("I", "B")]) == {"O": 0, "B": 1, "I": 2}


def test_templates_have_the_numbers_of_the_release() -> None:
    found = templates(2)
    assert [t.number for t in found] == [*range(10), *range(15, 27)]
    assert [t.place for t in found if t.column == 0 and not t.of_before] == [0, -2, 2, -1, 1]
    assert [(t.column, t.place) for t in found if t.number in (15, 16, 17, 20)] == [(1, 0), (1, 1), (1, -1), (2, -1)]
    assert [t.of_before for t in found if t.number in (0, 1, 20, 21)] == [False, True, False, True]


def test_the_hash_is_a_polynomial_in_31() -> None:
    assert int(hashed(2, 5, 3, 10**9)) == 17 * 31**3 + 2 * 31**2 + 5 * 31 + 3
    assert int(hashed(2, 5, 3, 1000)) == (17 * 31**3 + 2 * 31**2 + 5 * 31 + 3) % 1000
    assert int(hashed(0, 31, 0, N_WEIGHTS)) == int(hashed(1, 0, 0, N_WEIGHTS))  # templates meet 31 words apart


def plain_score(sentence: Sentence, tags: list[int], numbering: Numbering, w: np.ndarray) -> float:
    """Token by token, as the formula says it; tags are numbers of the training file."""
    words = [numbering.words.get(word, 0) for word in sentence.words]
    columns = [[known.get(tag, -3) for tag in sentence.columns[name]] for name, known in numbering.columns.items()]
    total = 0.0

    def at(values: list[int], t: int) -> int:
        return -1 if t < 0 else -2 if t >= len(values) else values[t]

    def add(template: int, a: int, b: int) -> None:
        nonlocal total
        total += float(w[(((17 * 31 + template) * 31 + a) * 31 + b) % len(w)])

    for t, tag in enumerate(tags):
        before = tags[t - 1] if t else -1
        for j, o in enumerate((0, -2, 2, -1, 1)):
            if abs(o) == 2 and not 0 <= t + o < len(words):
                continue
            add(2 * j, at(words, t + o), tag)
            if t:
                add(2 * j + 1, at(words, t + o), before)
        add(10, before, tag)
        for j, (values, o) in enumerate(product(columns, (0, 1, -1))):
            if at(values, t + o) == -3:
                continue
            add(15 + j, tag, at(values, t + o))
            if t:
                add(15 + 3 * len(columns) + j, before, at(values, t + o))
    return total


def corpus(name: str) -> tuple[list[Sentence], int]:
    """Sentences, and how many labels they have."""
    if name == "made up":
        return SENTENCES, 4
    corpora = read_corpora(load_news().train, load_news().heldout, 60)
    return corpora.sentences, len(corpora.classes)


@pytest.mark.parametrize("name", ["made up", "news"])
def test_scores_are_sums_of_hashed_weights(name: str) -> None:
    sentences, n_labels = corpus(name)
    numbering, n_weights, rng = Numbering.of(sentences), 997, np.random.default_rng(0)
    numbers = rng.permutation(n_labels)  # of the labels
    wide = LinearTreeModel(numbering.pack(sentences), n_labels)
    model = SharedWeights(wide, numbering.cells(numbers, n_weights), n_weights)
    w = rng.normal(size=n_weights)
    for i in range(3):
        length, s = len(sentences[i].words), model.scores(w, [i])
        outputs = [rng.integers(n_labels, size=length) for _ in range(5)]
        first = plain_score(sentences[i], numbers[outputs[0]].tolist(), numbering, w)
        chain = Tree([np.arange(-1, length - 1)], n_labels)
        for y in outputs:
            expected = plain_score(sentences[i], numbers[y].tolist(), numbering, w)
            found = chain.score_of(s, [y])[0] - chain.score_of(s, outputs[:1])[0]
            assert found == pytest.approx(expected - first, abs=1e-9)


def test_the_objective_is_native_and_has_as_many_weights_as_asked_for(tmp_path: Path) -> None:
    data = SMALL.load(Places(None, tmp_path))
    assert data.objective.n_params == 2**13 - 1
    assert data.objective.problem(Hard()).core is not None
    assert 0.0 <= data.metrics["f1"](data.objective.model.zeros()) <= 1.0


def test_held_out_words_of_the_training_file_alone_are_known(tmp_path: Path) -> None:
    train, dev = tmp_path / "train", tmp_path / "dev"
    train.write_text("a O\na O\na O\nb O\nParis B-LOC\n\n")
    dev.write_text("zebra O\nzebra O\nzebra O\n\nb O\nb O\nb O\n\n")
    data = authors_data(train, dev, 2**12)
    first, second = data.metrics["f1"].shared.model.X  # type: ignore[attr-defined]
    assert first.indices.tolist() == second.indices.tolist()


def test_tags_that_the_training_file_does_not_have_make_no_feature() -> None:
    numbering = Numbering.of(SENTENCES)
    known, other = (numbering.pack([Sentence(("to",), {"pos": (pos,), "chunk": ("a",)})]) for pos in ("T", "never"))
    assert len(known.indices) == len(other.indices) + 1


def test_rates_are_those_of_the_release() -> None:
    case = EXPERIMENT.cases[1]
    size = case.size(1000)
    assert 1.0 / (svrg_by_rate(size, 0.02, 1.0, 5).lipschitz + size.lam) == pytest.approx(0.02)
    inner = adapt_by_rate(size, 0.02, 2.0, 5).inner
    assert 1.0 / (inner.lipschitz + 2.0 * size.lam) == pytest.approx(0.02)
    assert [method.params(case).get("gamma0") for method in EXPERIMENT.methods if method.name == "sgd"] == [0.02]


def test_all_methods_draw_with_replacement() -> None:
    case = EXPERIMENT.cases[0]
    for method in EXPERIMENT.methods:
        solver = method.make(case.size(1000), **method.params(case))
        assert getattr(solver, "inner", solver).sampling == "replacement", method.name  # type: ignore[union-attr]
