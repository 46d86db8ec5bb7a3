"""Made-up words and a model of them, shared by the tests of this task; and Taskar's words if CASIMIR_DATA has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from casimir.datasets.handwriting import make_words
from casimir.tasks.ocr import WordImages, read_letters, words_of
from casimir.tasks.ocr.model import OCRModel, train


@pytest.fixture(scope="session")
def words() -> WordImages:
    return words_of(make_words(250))


@pytest.fixture(scope="session")
def learned(words: WordImages) -> WordImages:
    return words.select(words.in_folds([0]))


@pytest.fixture(scope="session")
def held_out(words: WordImages) -> WordImages:
    return words.select(~words.in_folds([0]))


@pytest.fixture(scope="session")
def model(learned: WordImages) -> OCRModel:
    return train(learned)


@pytest.fixture(scope="session")
def taskar() -> WordImages:
    file = Path(os.environ.get("CASIMIR_DATA", "")) / "ocr" / "letters.npz"
    if not os.environ.get("CASIMIR_DATA") or not file.is_file():
        pytest.skip("CASIMIR_DATA does not point at a folder with ocr/letters.npz")
    return read_letters(file)
