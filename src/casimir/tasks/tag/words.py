"""What the letters of a word tell.

shape       runs of character classes       "Boeing-747" -> "Xx-d"
case        one letter, see `case_of`       "Boeing-747" -> "T"
"""

from __future__ import annotations

import re

_RUN = re.compile(r"(.)\1+", re.DOTALL)


def case_of(word: str) -> str:
    """U all capitals, I one capital (an initial), T capital then lower case, M capital then mixed,
    l lower case, m other mixed case, d no letters but digits, p neither."""
    letters = [c for c in word if c.isalpha()]
    if not letters:
        return "d" if any(map(str.isdigit, word)) else "p"
    if all(map(str.isupper, letters)):
        return "I" if len(letters) == 1 else "U"
    if word[0].isupper():
        return "T" if all(map(str.islower, letters[1:])) else "M"
    return "l" if all(map(str.islower, letters)) else "m"


def shape_of(word: str) -> str:
    """Every run of capitals as X, of small letters as x, of digits as d; of any other character as itself."""
    classes = "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return _RUN.sub(r"\1", classes)
