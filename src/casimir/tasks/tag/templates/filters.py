"""What templates make of a text: filters, each from a text to none, one or several texts.

digits            decimal digits as 0                   "Boeing-747" -> "Boeing-000"
lower             small letters                         "Boeing-747" -> "boeing-747"
shape             runs of character classes             "Boeing-747" -> "Xx-d"
case              one letter, see `case_of`             "Boeing-747" -> "T"
first N, last N   characters                            first 2: "Bo"
marked            between ^ and $                       "it" -> "^it$"
ngrams N MOST     the first distinct runs of N letters  ngrams 2 3: "Bo", "oe", "ei"
split C           distinct parts between characters C   split -: "Boeing", "747"
inside C          the text, if it has C inside          inside -: "Boeing-747"
chars ABC         which of these characters it has      chars -./: "-"
has-digit         the text, if it has a digit           "Boeing-747"
length MOST       number of characters, at most MOST    length 5: "5"
match REGEX       the first part that matches, or ""    match ^[A-Z]+: "B"
test REGEX        whether a part matches                test [0-9]: "true"
cluster           "=" and the word's cluster, or ""     needs clusters
clusters          the same, and beginnings of its path  needs clusters
known             what a frequent word was in training  "LOC|ORG", "NOUN|VERB"; "?" for others

The core has the same filters, but for those of lexicons and regular expressions: these are computed here, once for
every distinct text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.words import case_of, shape_of

_DIGIT = re.compile(r"\d")
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "digits": (),
    "lower": (),
    "shape": (),
    "case": (),
    "first": ("number",),
    "last": ("number",),
    "marked": (),
    "ngrams": ("number", "most"),
    "split": ("characters",),
    "inside": ("characters",),
    "chars": ("characters",),
    "has-digit": (),
    "length": ("most",),
    "match": ("characters",),
    "test": ("characters",),
    "cluster": (),
    "clusters": (),
    "known": (),
    "with-case": (),
}
NOT_IN_CORE = frozenset(("match", "test", "cluster", "clusters", "known"))


@dataclass(frozen=True)
class Filter:
    name: str
    number: int = 0
    most: int = 0
    characters: str = ""


def filtered(filters: tuple[Filter, ...], text: str, lexicons: Lexicons) -> list[str]:
    """What a chain of filters makes of a text."""
    values = [text]
    for one in filters:
        apply = _FUNCTIONS[one.name]
        values = [made for value in values for made in apply(one, value, lexicons)]
    return values


def _ngrams(f: Filter, text: str, _: Lexicons) -> list[str]:
    count = min(len(text) - f.number + 1, f.most)
    return list(dict.fromkeys(text[i : i + f.number] for i in range(count)))


def _split(f: Filter, text: str, _: Lexicons) -> list[str]:
    return list(dict.fromkeys(part for part in text.split(f.characters) if part))


def _match(f: Filter, text: str, _: Lexicons) -> list[str]:
    found = re.search(f.characters, text)
    return ["" if found is None else found[0]]


def _cluster(_: Filter, text: str, lexicons: Lexicons) -> list[str]:
    assert lexicons.clusters is not None
    name = lexicons.clusters.of(text)
    return ["" if name is None else f"={name}"]


def _clusters(_: Filter, text: str, lexicons: Lexicons) -> list[str]:
    assert lexicons.clusters is not None
    return list(lexicons.clusters.levels(text))


def _known(_: Filter, text: str, lexicons: Lexicons) -> list[str]:
    assert lexicons.known is not None
    return [lexicons.known.types_of(text)]


_FUNCTIONS: Mapping[str, Callable[[Filter, str, Lexicons], list[str]]] = {
    "digits": lambda f, text, _: [_DIGIT.sub("0", text)],
    "lower": lambda f, text, _: [text.lower()],
    "shape": lambda f, text, _: [shape_of(text)],
    "case": lambda f, text, _: [case_of(text)],
    "first": lambda f, text, _: [text[: f.number]],
    "last": lambda f, text, _: [text[-f.number :] if f.number else ""],
    "marked": lambda f, text, _: [f"^{text}$"],
    "ngrams": _ngrams,
    "split": _split,
    "inside": lambda f, text, _: [text] if f.characters in text[1:-1] else [],
    "chars": lambda f, text, _: [c for c in f.characters if c in text],
    "has-digit": lambda f, text, _: [text] if any(map(str.isdigit, text)) else [],
    "length": lambda f, text, _: [str(min(len(text), f.most))],
    "match": _match,
    "test": lambda f, text, _: ["false" if re.search(f.characters, text) is None else "true"],
    "cluster": _cluster,
    "clusters": _clusters,
    "known": _known,
}
