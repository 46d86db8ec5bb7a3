"""Handwritten words: a row of letter images each, with or without the letters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray, offsets_of, ragged_rows

HEIGHT, WIDTH = 16, 8
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, eq=False)
class WordImages:
    """n words of T letters in all.

    pixels   bool[T, 16, 8], True where there is ink
    offsets  int64[n + 1]: word i has the letters offsets[i]:offsets[i + 1]
    folds    int64[n]: the part of the data that a word belongs to
    letters  int64[T] into LETTERS, or None when they are not known
    name     of the file, for messages
    """

    pixels: npt.NDArray[np.bool_]
    offsets: IntArray
    folds: IntArray
    letters: IntArray | None
    name: str = "the data"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """int64[n]: letters per word."""
        return np.diff(self.offsets)

    def texts(self) -> list[str]:
        """The words as strings."""
        if self.letters is None:
            raise ValueError(f"{self.name} has no letters, only images; training and evaluation need both.")
        text = "".join(LETTERS[j] for j in self.letters.tolist())
        return [text[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def select(self, words: Any) -> WordImages:
        """Some of the words: a mask or an array of numbers."""
        chosen = np.arange(len(self))[words]
        rows, offsets = ragged_rows(self.offsets, chosen)
        letters = None if self.letters is None else self.letters[rows]
        return WordImages(self.pixels[rows], offsets, self.folds[chosen], letters, self.name)

    def in_folds(self, folds: Iterable[int]) -> npt.NDArray[np.bool_]:
        """bool[n]: the words of the given folds."""
        return np.isin(self.folds, list(folds))

    def cut(self) -> WordImages:
        """Every letter as a word of its own."""
        offsets = offsets_of(np.ones(len(self.pixels), dtype=np.int64))
        return WordImages(self.pixels, offsets, np.repeat(self.folds, self.lengths), self.letters, self.name)


def words_of(images: Iterable[Any], name: str = "the made-up words") -> WordImages:
    """From records with text, pixels bool[len(text), 16, 8] and fold, such as `casimir.datasets.handwriting` makes."""
    given = list(images)
    letters = np.array([LETTERS.index(letter) for word in given for letter in word.text], dtype=np.int64)
    pixels = np.concatenate([np.zeros((0, HEIGHT, WIDTH), dtype=np.bool_), *(word.pixels for word in given)])
    folds = np.array([word.fold for word in given], dtype=np.int64)
    return WordImages(pixels, offsets_of([len(word.text) for word in given]), folds, letters, name)
