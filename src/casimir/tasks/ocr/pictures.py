"""Pictures of results: a word as it was written, what was read below each letter, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from casimir.tasks.ocr.words import WordImages
from casimir.tasks.opencv import opencv
from casimir.tasks.panels import PREDICTED, TRUTH, Colour, Drawing, Image, captioned, write_pictures

_SCALE, _GAP, _LINE = 6, 6, 34  # of a pixel; pixels between letters; of a line of text
_INK = (40, 40, 40)
_LEGEND = "below each letter what was read;  orange: wrong, and the truth below it in blue;  from the worst to the best"


def read_word(pixels: npt.NDArray[np.bool_], truth: str, read: str) -> Drawing:
    """pixels bool[n, 16, 8] of a word of n letters; what it says and what was read."""
    right = sum(a == b for a, b in zip(truth, read, strict=True)) / len(truth)

    def draw() -> Image:
        letters = [_letter(*one) for one in zip(pixels, truth, read, strict=True)]
        return captioned(np.concatenate(letters, axis=1), f"{truth}: {right:.0%} of the letters")

    return Drawing(truth, right, draw)


def write_words(folder: Path, words: WordImages, read: Sequence[str]) -> list[Path]:
    parts = np.split(words.pixels, words.offsets[1:-1])
    drawings = [read_word(*one) for one in zip(parts, words.texts(), read, strict=True)]
    return write_pictures(folder, drawings, columns=3, legend=_LEGEND)


def _letter(pixels: npt.NDArray[np.bool_], truth: str, read: str) -> Image:
    """The image of a letter, what was read below it and, where that is wrong, the truth below."""
    ink = np.kron(~pixels, np.ones((_SCALE, _SCALE), dtype=bool))
    image = np.where(ink[..., None], 255, 30).astype(np.uint8).repeat(3, axis=2)
    padded = np.pad(image, ((0, 2 * _LINE), (_GAP, _GAP), (0, 0)), constant_values=255)
    _write(padded, read, len(image) + _LINE - 8, _INK if read == truth else PREDICTED)
    if read != truth:
        _write(padded, truth, len(image) + 2 * _LINE - 10, TRUTH)
    return padded


def _write(image: Image, letter: str, bottom: int, colour: Colour) -> None:
    cv2 = opencv()
    font = (cv2.FONT_HERSHEY_SIMPLEX, 0.9)
    width = cv2.getTextSize(letter, *font, 2)[0][0]
    cv2.putText(image, letter, ((image.shape[1] - width) // 2, bottom), *font, colour, 2, cv2.LINE_AA)
