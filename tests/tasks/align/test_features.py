"""Lexicon, link rates, spelling and the features made of them."""

from __future__ import annotations

import numpy as np
import pytest

from casimir.datasets.phrases import make_phrases
from casimir.tasks.align.bitext import Bitext, parse_bitext
from casimir.tasks.align.features import CellFeatures, shapes_of
from casimir.tasks.align.lexicon import Lexicon
from casimir.tasks.align.rates import LinkRates
from casimir.tasks.align.strings import common_prefix, common_subsequence


@pytest.fixture(scope="module")
def bitext() -> Bitext:
    phrases = make_phrases(60)
    return parse_bitext(phrases.text, phrases.gold)


def test_made_up_pairs_depend_on_the_seed_alone() -> None:
    assert make_phrases(5) == make_phrases(5)
    assert make_phrases(5).text != make_phrases(5, seed=1).text
    assert make_phrases(20).text.startswith(make_phrases(5).text)


def test_dice_counts_sentence_pairs() -> None:
    lexicon = Lexicon.of([["a", "b"], ["A", "a"], ["b"]], [["x"], ["x", "x"], ["y"]])
    tables = lexicon.tables(lexicon.look_up(["a", "b", "?"], ["x", "y"]))
    np.testing.assert_allclose(tables.dice, [[1.0, 0.0], [2 / 4, 2 / 3], [0.0, 0.0]])
    assert tables.source_count.tolist() == [2, 2, 0]
    assert tables.target_count.tolist() == [2, 1]


def test_translations_are_found_without_links() -> None:
    """Word k translates to word k; the first two words, or the last three, change places."""
    rng = np.random.default_rng(0)
    pairs = [rng.choice(12, size=8, replace=False) for _ in range(80)]
    orders = [np.array([[1, 0, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 6, 7, 5]][k % 2]) for k in range(80)]
    source = [[f"s{k}" for k in words] for words in pairs]
    target = [[f"t{k}" for k in words[order]] for words, order in zip(pairs, orders, strict=True)]
    lexicon = Lexicon.of(source, target)
    right = []
    for s, t, order in zip(source, target, orders, strict=True):
        tables = lexicon.tables(lexicon.look_up(s, t))
        right += [np.argmax(tables.forward, axis=0) == order, np.argmax(tables.backward, axis=0) == order]
        assert np.all(tables.forward.sum(axis=0) <= 1.0)
        assert np.all(tables.backward.sum(axis=1) <= 1.0)
    assert np.mean(right) > 0.8


def test_stems_join_the_forms_of_a_word() -> None:
    lexicon = Lexicon.of([["houses"], ["house"]], [["maison"], ["maisons"]], letters=4)
    assert list(lexicon.source) == ["hous"]
    assert lexicon.tables(lexicon.look_up(["housing"], ["maisonette"])).dice.tolist() == [[1.0]]


def test_rates_leave_a_pairs_own_links_out(bitext: Bitext) -> None:
    """Counted without a pair, or counted with all and its own left out: the same."""
    lexicon = Lexicon.of(bitext.source, bitext.target)
    rates = LinkRates.of(bitext, lexicon)
    for i in (0, 7, 31):
        words = lexicon.look_up(bitext.source[i], bitext.target[i])
        others = LinkRates.of(bitext.select(np.arange(len(bitext)) != i), lexicon)
        ours, expected = rates.tables(words, bitext.gold[i]), others.tables(words)
        for name in ("seen", "sure", "possible", "source", "target"):
            np.testing.assert_allclose(getattr(ours, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize(
    ("a", "b", "prefix", "subsequence"),
    [
        ("nation", "nation", 1, 1),
        ("government", "gouvernement", 2 / 12, 10 / 12),
        ("a", "bcd", 0, 0),
        ("abc", "cab", 0, 2 / 3),
        ("été", "et", 0, 1 / 3),
    ],
)
def test_spelling(a: str, b: str, prefix: float, subsequence: float) -> None:
    assert common_prefix([a, "x"], ["yy", b])[0, 1] == pytest.approx(prefix)
    assert common_subsequence([a, "x"], ["yy", b])[0, 1] == pytest.approx(subsequence)


def test_features_have_one_row_per_cell(bitext: Bitext) -> None:
    features = CellFeatures.learned(bitext)
    names = features.names()
    assert len(set(names)) == len(names)
    matrices = features.of_all(bitext, labelled=True)
    for matrix, (m, columns) in zip(matrices, shapes_of(bitext), strict=True):
        assert matrix.shape == (m * columns, len(names))
        assert np.isfinite(matrix).all()
        alone = np.array([name.startswith("alone") for name in names])
        cells = matrix.reshape(m, columns, -1)
        assert not cells[:, -1, ~alone].any()
        assert not cells[:, :-1, alone].any()


def test_one_word_and_unknown_words_have_features(bitext: Bitext) -> None:
    features = CellFeatures.learned(bitext)
    assert np.isfinite(features.of(["?"], ["unheard-of"])).all()
    assert np.isfinite(features.of(["?", "."], ["."])).all()


def test_other_pairs_do_not_change_the_features_of_one(bitext: Bitext) -> None:
    features = CellFeatures.learned(bitext)
    np.testing.assert_array_equal(features.of_all(bitext)[3], features.of_all(bitext.select([3]))[0])
