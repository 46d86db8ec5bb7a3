"""Plain text -> sentences and words, by rules, with the characters that each word covers.

A word is a run of letters and digits with the hyphens, dots and commas inside it ("Boeing-747", "3.5", "U.S."), an
address, a run of one punctuation mark ("..."), or any other character; "'s", "n't" and the like are words of their own.
A sentence ends at ".", "!", "?" or "..." that does not belong to an abbreviation and is followed by a blank and
something that may begin a sentence, and at an empty line.
"""

from __future__ import annotations

import re

from casimir.tasks.tag.corpus import Corpus, Sentence

Place = tuple[int, int]  # first character of a word, and the one behind its last

_ADDRESS = r"https?://[^\s<>\"]*[^\s<>\".,;:!?)'\]]|www\.[^\s<>\"]*[^\s<>\".,;:!?)'\]]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_ABBREVIATION = r"(?:[^\W\d_]\.){2,}"
_NUMBER = r"\d+(?:[.,:/]\d+)*(?:-\w+)*"
_NAME = r"[^\W\d_][\w\u0300-\u036f]*(?:[-\u2010\u2011.][\w\u0300-\u036f]+)*"
_CLITIC = r"['\u2019](?:s|S|m|M|d|D|ll|LL|re|RE|ve|VE)\b"
_TOKEN = re.compile(
    rf"{_ADDRESS}|{_ABBREVIATION}|{_CLITIC}|{_NUMBER}|{_NAME}(?=n['\u2019]t\b)|n['\u2019]t\b|{_NAME}|[@#]\w+|([^\w\s])\1*|\S"
)
_NOT = re.compile(r"(.+?)(n['\u2019]t)", re.IGNORECASE)
_ABBREVIATIONS = """mr mrs ms dr prof st sr jr gen col lt sgt capt gov sen rep rev hon pres vs etc inc ltd co corp dept
no nos vol fig ed eds al cf e.g i.e jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun"""
_SHORT = frozenset(_ABBREVIATIONS.split())
_ENDS = frozenset(".!?") | {"...", "\u2026", "!!", "??", "?!", "!!!", "???"}
_CLOSERS = frozenset("\"'\u2019\u201d\u00bb)]")


def words_of(text: str) -> list[Place]:
    """The words of a text, from left to right."""
    places: list[Place] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        split = _NOT.fullmatch(match[0])
        if split:
            places += [(start, start + len(split[1])), (start + len(split[1]), end)]
        else:
            places.append((start, end))
    return _with_dots(text, places)


def _with_dots(text: str, places: list[Place]) -> list[Place]:
    """Dots join the abbreviations and initials before them."""
    found: list[Place] = []
    for start, end in places:
        if text[start:end] == "." and found and found[-1][1] == start and _is_short(text[slice(*found[-1])]):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _is_short(word: str) -> bool:
    return word.lower() in _SHORT or (len(word) == 1 and word.isupper() and word != "I")


def sentences_of(text: str) -> list[list[Place]]:
    """The words of every sentence."""
    places, found, current = words_of(text), [], []
    for k, place in enumerate(places):
        current.append(place)
        following = places[k + 1] if k + 1 < len(places) else None
        if following is None or _ends(text, current, following):
            found.append(current)
            current = []
    return found


def _ends(text: str, sentence: list[Place], following: Place) -> bool:
    """Whether a sentence ends before the following word."""
    gap = text[sentence[-1][1] : following[0]]
    if gap.count("\n") > 1:
        return True
    marks = [text[a:b] for a, b in sentence]
    while marks and marks[-1] in _CLOSERS:
        marks.pop()
    if not gap or not marks or marks[-1] not in _ENDS:
        return False
    first = text[following[0]]
    return first.isupper() or first.isdigit() or not (first.isalnum() or first in ",;:)")


def parse_plain(text: str, *, name: str = "input") -> Corpus:
    """The sentences of a plain text, which is one document, without labels."""
    places = sentences_of(text.removeprefix("\ufeff"))
    if not places:
        raise ValueError(f"{name} holds no words.")
    clean = text.removeprefix("\ufeff")
    sentences = [Sentence(tuple(clean[a:b] for a, b in sentence), document=0) for sentence in places]
    return Corpus(sentences, name=name, places=places, text=clean)


def format_inline(corpus: Corpus, entities: list[list[tuple[int, int, str]]]) -> str:
    """Every sentence on a line, spans in brackets: [Paris LOC] sleeps."""
    return "".join(_inline(corpus, i, spans) + "\n" for i, spans in enumerate(entities))


def _inline(corpus: Corpus, i: int, entities: list[tuple[int, int, str]]) -> str:
    words, parts, end = corpus.sentences[i].words, [], 0
    for start, stop, kind in entities:
        parts += [*words[end:start], "[" + " ".join((*words[start:stop], kind)) + "]"]
        end = stop
    return " ".join([*parts, *words[end:]])
