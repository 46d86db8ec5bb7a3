"""What a word alone tells: its form, affixes, shape and case, computed once per distinct word.

word        lower-cased, digits as 0        "Boeing-747" -> "boeing-000"
shape       runs of character classes       "Boeing-747" -> "Xx-d"
case        one letter, see `case_of`       "Boeing-747" -> "T"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MAX_TRIGRAMS = 10
OFFSETS = (-2, -1, 1, 2)
_DIGIT = re.compile(r"\d")
_RUN = re.compile(r"(.)\1+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A distinct word and the feature strings that depend on nothing else.

    lower       normalised form
    case        see `case_of`
    capitalised may be (part of) a name
    own         features of the token that is this word
    around      offset -> features of a token that has this word at that offset
    """

    lower: str
    case: str
    capitalised: bool
    own: tuple[str, ...]
    around: Mapping[int, tuple[str, ...]]


class WordTable(dict[str, Word]):
    """The distinct words seen so far: `words["Paris"]` computes on first use."""

    def __missing__(self, word: str) -> Word:
        self[word] = made = _word(word)
        return made


def boundary(mark: str) -> Word:
    """A pseudo-word beyond the start or the end of a sentence."""
    return Word(mark, mark, False, (), {o: (f"w[{o}]={mark}",) for o in OFFSETS})


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


def _word(word: str) -> Word:
    plain = _DIGIT.sub("0", word)
    lower = plain.lower()
    shape = shape_of(word)
    case = case_of(word)
    own = [
        "bias",
        f"w[0]={lower}",
        f"form={plain}",
        f"shape={shape}",
        f"case={case}",
    ]
    for k in range(1, 5):
        own += [f"prefix{k}={plain[:k]}", f"suffix{k}={lower[-k:]}"]
    marked = f"^{lower}$"
    own += [f"tri={marked[i : i + 3]}" for i in range(min(len(marked) - 2, _MAX_TRIGRAMS))]
    if "-" in word[1:-1]:
        own += ["hyphen", *(f"part={part}" for part in lower.split("-") if part)]
    own += [f"has={c}" for c in ".'&/" if c in word]
    if any(map(str.isdigit, word)):
        own.append(f"digits={min(len(word), 5)}")
    around = {o: (f"w[{o}]={lower}", f"shape[{o}]={shape}") for o in OFFSETS}
    return Word(lower, case, case in "UITM", tuple(dict.fromkeys(own)), around)
