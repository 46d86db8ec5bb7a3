"""Pictures of results: the worst to the best, names that files can have, and what is drawn in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casimir.datasets.handwriting import make_words
from casimir.datasets.objects import make_objects
from casimir.tasks.boxes import images_of
from casimir.tasks.boxes.overlays import overlay
from casimir.tasks.ocr.pictures import read_word, write_words
from casimir.tasks.ocr.words import words_of
from casimir.tasks.panels import PREDICTED, TRUTH, Drawing, Image, write_pictures

cv2 = pytest.importorskip("cv2")


def plain(name: str, rank: float) -> Drawing:
    return Drawing(name, rank, lambda: np.zeros((4, 4, 3), dtype=np.uint8))


def has(image: Image, colour: tuple[int, int, int]) -> bool:
    return bool((image == np.array(colour)).all(axis=2).any())


def test_results_come_from_the_worst_to_the_best(tmp_path: Path) -> None:
    results = [plain("b", 0.5), plain("a/c", 0.9), plain("B", 0.1), plain("overview", 0.7)]
    files = write_pictures(tmp_path, results)
    assert [file.name for file in files] == ["B.png", "b-2.png", "overview-2.png", "a_c.png", "overview.png"]
    assert all(file.exists() for file in files)


def test_at_most_so_many_results_are_drawn(tmp_path: Path) -> None:
    results = [plain(f"r{k:02d}", float(k)) for k in range(30)]
    files = write_pictures(tmp_path, results, count=3)
    assert [file.stem for file in files] == ["r00", "r14", "r29", "overview"]


def test_wrong_letters_stand_out(tmp_path: Path) -> None:
    words = words_of(make_words()[:2])
    truth = words.texts()
    wrong = ("z" if truth[0][0] != "z" else "y") + truth[0][1:]
    drawn = [read_word(words.pixels[: len(wrong)], truth[0], read).draw() for read in (wrong, truth[0])]
    assert [has(image, PREDICTED) for image in drawn] == [True, False]
    assert [has(image, TRUTH) for image in drawn] == [True, False]
    files = write_words(tmp_path, words, [wrong, truth[1]])
    assert files[0].stem == truth[0]
    assert len(files) == 3


def test_both_boxes_are_drawn() -> None:
    image = images_of(make_objects(1))[0]
    drawing = overlay(image, np.array([0, 0, 20, 20]))
    assert 0.0 <= drawing.rank < 1.0
    assert all(has(drawing.draw(), colour) for colour in (PREDICTED, TRUTH))
