"""Features of letter images: shapes, meaning, and packed as chains read them."""

from __future__ import annotations

import numpy as np

from casimir.tasks.ocr import FEATURE_SETS, WordImages, pack_words, pixel_features, stroke_features


def test_pixels_are_themselves_and_a_constant(words: WordImages) -> None:
    features = pixel_features(words.pixels)
    np.testing.assert_array_equal(features[:, :-1].reshape(words.pixels.shape), words.pixels)
    assert np.all(features[:, -1] == 1.0)


def test_strokes_know_directions() -> None:
    images = np.zeros((3, 16, 8), dtype=bool)
    images[0, 4:12, 4] = True  # down
    images[1, 8, 0:8] = True  # to the right
    totals = stroke_features(images)[:, :-1].reshape(3, 9, 32).sum(axis=2)
    ink, right, down, *_ = totals.T
    assert right[0] == down[1] == 0.0
    assert min(right[1], down[0]) > 0.0
    assert ink[2] == 0.0


def test_strokes_change_little_when_a_letter_moves(words: WordImages) -> None:
    image = np.zeros((2, 16, 8), dtype=bool)
    image[0, 4:12, 2:6] = words.pixels[0, 4:12, 2:6]
    image[1] = np.roll(image[0], 1, axis=1)

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    plain, blurred = pixel_features(image)[:, :-1], stroke_features(image)[:, :-1]
    assert cosine(*blurred) > 0.8 > cosine(*plain)


def test_packed_features_are_the_matrix(words: WordImages) -> None:
    few = words.select(np.arange(3))
    for name, chosen in FEATURE_SETS.items():
        matrix, packed = chosen.matrix(few.pixels), pack_words(few, name)
        dense = np.zeros_like(matrix)
        rows = np.repeat(np.arange(len(matrix)), np.diff(packed.indptr))
        dense[rows, packed.indices] = 1.0 if packed.values is None else packed.values
        np.testing.assert_array_equal(dense, matrix)
        np.testing.assert_array_equal(packed.offsets, few.offsets)
        assert (packed.values is None) == (name == "pixels")
