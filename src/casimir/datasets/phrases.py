"""Made-up sentence pairs of two invented languages, with links between their words.

The second language puts adjectives behind nouns and verbs behind objects, marks objects with a particle of its own, has
determiners of two genders, says "not" with two words around the verb, and joins auxiliary and verb. It may begin with
the place, leave adjectives out and use one of two words for the same thing. A third of its words look like those of the
first. The same seed gives the same text.

    make_phrases(n, seed)    n pairs: text with `|||` between the sentences, and a line of links for each
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Phrases", "make_phrases"]

_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
_SIZES = {"noun": 250, "adjective": 80, "verb": 120, "name": 60, "preposition": 8}


@dataclass(frozen=True)
class Phrases:
    """text  one pair per line, `|||` between the two sentences
    gold  one line of links per pair: `i-j` is sure, `ipj` possible, words counted from 1
    """

    text: str
    gold: str


def make_phrases(n: int = 300, seed: int = 0) -> Phrases:
    """n sentence pairs in the words of one invented dictionary, which depends on the seed."""
    rng = np.random.default_rng(seed)
    words = _Words(rng)
    pairs = [_sentence(words, rng) for _ in range(n)]
    return Phrases("".join(pair.line() for pair in pairs), "".join(pair.links() for pair in pairs))


class _Words:
    """The dictionary: for each kind of word a list of (source, one or two targets, gender)."""

    def __init__(self, rng: np.random.Generator) -> None:
        taken: set[str] = set()
        self.entries = {kind: [_entry(rng, kind, taken) for _ in range(size)] for kind, size in _SIZES.items()}
        self.determiners = [(_new(rng, 1, taken), _new(rng, 1, taken), _new(rng, 1, taken)) for _ in range(3)]
        self.will, self.no = _new(rng, 1, taken), _new(rng, 1, taken)
        self.no_before, self.no_behind, self.marker = (_new(rng, 1, taken) for _ in range(3))

    def pick(self, kind: str, rng: np.random.Generator) -> tuple[str, str, int]:
        """Frequent words come first in the list, as in real text."""
        entries = self.entries[kind]
        chance = 1.0 / np.arange(2, len(entries) + 2)
        source, targets, gender = entries[int(rng.choice(len(entries), p=chance / chance.sum()))]
        return source, targets[int(rng.integers(len(targets)))], gender


def _entry(rng: np.random.Generator, kind: str, taken: set[str]) -> tuple[str, list[str], int]:
    source = _new(rng, int(rng.integers(2, 4)), taken)
    similar = kind == "name" or rng.random() < 0.35
    target = (
        source[:-1] + str(rng.choice(list("aeiou"))) + "n" if similar else _new(rng, int(rng.integers(2, 4)), taken)
    )
    if kind == "name":
        return source.capitalize(), [(source if rng.random() < 0.7 else target).capitalize()], 0
    targets = [target, _new(rng, 2, taken)] if rng.random() < 0.3 else [target]
    return source, targets, int(rng.integers(2))


def _new(rng: np.random.Generator, syllables: int, taken: set[str]) -> str:
    while True:
        word = "".join(rng.choice(_SYLLABLES, size=syllables))
        if word not in taken:
            taken.add(word)
            return word


@dataclass
class _Pair:
    """source and target words; links from source to target positions, counted from 0; True is sure."""

    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    linked: dict[tuple[int, int], bool] = field(default_factory=dict)

    def add(self, source: list[str], target: list[str], linked: dict[tuple[int, int], bool]) -> None:
        """One phrase behind the others, with links counted within the phrase."""
        i, j = len(self.source), len(self.target)
        self.linked |= {(i + a, j + b): sure for (a, b), sure in linked.items()}
        self.source += source
        self.target += target

    def line(self) -> str:
        return f"{' '.join(self.source)} ||| {' '.join(self.target)}\n"

    def links(self) -> str:
        return " ".join(f"{i + 1}{'-' if sure else 'p'}{j + 1}" for (i, j), sure in sorted(self.linked.items())) + "\n"


def _noun_phrase(words: _Words, rng: np.random.Generator) -> _Pair:
    phrase, kind = _Pair(), rng.random()
    if kind < 0.2:
        source, target, _ = words.pick("name", rng)
        phrase.add([source], [target], {(0, 0): True})
    elif kind < 0.28:
        number = str(rng.integers(2, 2000))
        noun, other, _ = words.pick("noun", rng)
        phrase.add([number, noun], [number, other], {(0, 0): True, (1, 1): True})
    else:
        noun, other, gender = words.pick("noun", rng)
        source, *forms = words.determiners[int(rng.integers(len(words.determiners)))]
        adjective, behind, _ = words.pick("adjective", rng)
        more = rng.random()
        if more < 0.4:
            linked = {(0, 0): True, (1, 2): True, (2, 1): True}
            phrase.add([source, adjective, noun], [forms[gender], other, behind], linked)
        elif more < 0.5:
            phrase.add([source, adjective, noun], [forms[gender], other], {(0, 0): True, (1, 1): False, (2, 1): True})
        else:
            phrase.add([source, noun], [forms[gender], other], {(0, 0): True, (1, 1): True})
    return phrase


def _verb_phrase(words: _Words, rng: np.random.Generator) -> _Pair:
    verb, other, _ = words.pick("verb", rng)
    phrase, kind = _Pair(), rng.random()
    if kind < 0.2:  # an auxiliary becomes an ending
        phrase.add([words.will, verb], [other + "ra"], {(0, 0): False, (1, 0): True})
    elif kind < 0.4:  # "not" becomes two words around the verb
        target = [words.no_before, other, words.no_behind]
        phrase.add([words.no, verb], target, {(0, 0): False, (0, 2): True, (1, 1): True})
    else:
        phrase.add([verb], [other], {(0, 0): True})
    return phrase


def _place(words: _Words, rng: np.random.Generator) -> _Pair:
    preposition, other, _ = words.pick("preposition", rng)
    noun, phrase = _noun_phrase(words, rng), _Pair()
    phrase.add([preposition], [other], {(0, 0): True})
    phrase.add(noun.source, noun.target, noun.linked)
    return phrase


def _sentence(words: _Words, rng: np.random.Generator) -> _Pair:
    """Subject verb object place; in the second language subject, marked object, verb, and the place at either end."""
    marker = _Pair(target=[words.marker])
    source = [_noun_phrase(words, rng), _verb_phrase(words, rng), marker, _noun_phrase(words, rng)]
    target = [source[0], marker, source[3], source[1]]
    if rng.random() < 0.6:
        source.append(_place(words, rng))
        target.insert(0 if rng.random() < 0.4 else 4, source[-1])
    stop = _Pair(["."], ["."], {(0, 0): True})
    return _joined([*source, stop], [*target, stop])


def _joined(source: list[_Pair], target: list[_Pair]) -> _Pair:
    """The same phrases in the order of each language."""
    pair, starts = _Pair(), {}
    for phrase in target:
        starts[id(phrase)] = len(pair.target)
        pair.target += phrase.target
    for phrase in source:
        i, j = len(pair.source), starts[id(phrase)]
        pair.linked |= {(i + a, j + b): sure for (a, b), sure in phrase.linked.items()}
        pair.source += phrase.source
    return pair
