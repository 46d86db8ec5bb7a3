"""Handwritten words: letter images in a row, read by a chain over letters."""

from casimir.tasks.ocr.features import FEATURE_SETS, pack_words, pixel_features, stroke_features
from casimir.tasks.ocr.metrics import LetterScores, letter_scores
from casimir.tasks.ocr.reader import read_letters
from casimir.tasks.ocr.words import LETTERS, WordImages, words_of

__all__ = [
    "FEATURE_SETS",
    "LETTERS",
    "LetterScores",
    "WordImages",
    "letter_scores",
    "pack_words",
    "pixel_features",
    "read_letters",
    "stroke_features",
    "words_of",
]
