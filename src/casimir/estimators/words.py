"""The words of a sentence, as far as its features tell them: for people, never for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casimir.features import PackedSequences

_NAMES = ("word", "form", "token", "text", "w", "w[0]", "word.lower()", "word.lower", "lower")  # the first one counts


def words_of(x: Any) -> list[str]:
    """A word per token of a sentence of dicts or of strings NAME=WORD; its place, from 1, where no feature is a word.

    Of a packed sentence, or one that is a matrix, there are the places alone.

    >>> words_of([{"word": "Ada", "title": True}, ["bias", "w[0]=slept"], ["bias"]])
    ['Ada', 'slept', '3']
    """
    if isinstance(x, PackedSequences) or hasattr(x, "shape"):
        n = x.n_tokens if isinstance(x, PackedSequences) else x.shape[0]
        return [str(t + 1) for t in range(n)]
    return [_word(token) or str(t + 1) for t, token in enumerate(x)]


def _word(token: Any) -> str | None:
    if isinstance(token, Mapping):
        return next((token[name] for name in _NAMES if isinstance(token.get(name), str)), None)
    if isinstance(token, str):
        return None
    given = dict(part.split("=", 1) for part in token if isinstance(part, str) and "=" in part[1:])
    return next((given[name] for name in _NAMES if name in given), None)
