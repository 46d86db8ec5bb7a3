"""How many letters, and how many whole words, were read right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LetterScores:
    """letter_accuracy, word_accuracy    shares of letters and of words that are right
    letters, words                    how many there were
    """

    letter_accuracy: float
    word_accuracy: float
    letters: int
    words: int


def letter_scores(truth: Sequence[str], predicted: Sequence[str]) -> LetterScores:
    """truth, predicted: words of the same lengths."""
    if [len(word) for word in truth] != [len(word) for word in predicted] or not truth:
        raise ValueError("letter_scores needs at least one word, and predictions of the same lengths.")
    letters = sum(map(len, truth))
    right = sum(a == b for word, guess in zip(truth, predicted, strict=True) for a, b in zip(word, guess, strict=True))
    whole = sum(word == guess for word, guess in zip(truth, predicted, strict=True))
    return LetterScores(right / letters, whole / len(truth), letters, len(truth))
