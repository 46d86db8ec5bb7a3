"""Handwritten words as files, in both formats that the library reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casimir.tasks.ocr import LETTERS, WordImages


def text_lines(words: WordImages) -> list[str]:
    """The words in the format of letter.data."""
    assert words.letters is not None
    lines = []
    for i in range(len(words)):
        first, last = words.offsets[i], words.offsets[i + 1] - 1
        for t in range(first, last + 1):
            bits = words.pixels[t].astype(int).ravel().tolist()
            after = -1 if t == last else t + 2
            head = [t + 1, LETTERS[words.letters[t]], after, i + 1, t - first + 1, words.folds[i]]
            lines.append("\t".join(map(str, head + bits)) + "\t\n")
    return lines


def write_npz(file: Path, words: WordImages, *without: str) -> Path:
    arrays = {
        "pixels": np.packbits(words.pixels.reshape(len(words.pixels), -1), axis=1),
        "lengths": words.lengths,
        "folds": words.folds,
        "labels": words.letters,
    }
    np.savez(file, **{name: array for name, array in arrays.items() if name not in without})
    return file
