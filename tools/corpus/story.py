"""Stories: templates filled with a cast that stays the same from headline to last line.

A template is a line of words with
    {P}         a role of the cast: the full name at its first mention, a short one later
    {P.last}    a given form of it (last, init, mr, he, his, him; adj, people, capital, lang, bare, region, water,
                island; full, short, city, nick; name)
    {company}   a fresh entry of a list, {person}, {person(C)}, {person:anglo}, {city(C)}, {country.adj}, ...
    {int:2-9}   a number, {nth:2-89} an ordinal; in a table {rank} 1, 2, 3, ..., {up:44-2} or {down:85-3} by rank,
                {record} played, won, drawn, lost, points
    [ORG ...]   a literal name
    <a|b>       one of the alternatives
and begins with its kind: H headline, L lead, B body, R row of a table. With a key (`L/storm:`) it goes only with a
lead of that key; headlines and rows of the lead's key come before those without one.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from corpus.lexicon import Lexicon, Phrase, Thing, draw_index, lines, phrase, tag_name

P_SHORT = 0.5  # of a short name after the first mention

_CHOICE = re.compile(r"<([^<>]*)>")
_TOKEN = re.compile(r"\[[A-Z]+ [^\]]+\]|(?:[^\s{}\[\]]|\{[^}]*\})+")
_SLOT = re.compile(r"\{([^}]*)\}")
_PARTS = re.compile(r"(\w+)(?:\(([^)]*)\))?(?::([\w-]+))?(?:\.(\w+))?")
_CAST = re.compile(r"(\w)=(\w+(?:\([^)]*\))?(?::\w+)?)")
_ALWAYS = {("H", True), ("R", True)}  # with a key: a lead would be left without its headline or rows
_PARTICLES = {"van", "von", "de", "du", "da", "dos", "del", "di", "ter", "af", "'t"}


@dataclass(frozen=True)
class Template:
    kind: str  # H headline, L lead, B body, R row of a table
    key: str
    text: str
    reserved: bool  # only in the held-out part


@dataclass
class Topic:
    name: str
    cast: list[tuple[str, str]] = field(default_factory=list)
    dateline: str = "Y"
    keep: tuple[str, ...] = ()  # roles that stay the same in the rows of a table
    heldout: bool = False
    templates: list[Template] = field(default_factory=list)


def read_topics(folder: Path, seed: int, share: float) -> list[Topic]:
    topics: list[Topic] = []
    rng = random.Random(f"{seed}:templates")
    for path in sorted(folder.glob("*.txt")):
        for line in lines(path):
            head, text = (part.strip() for part in line.split(":", 1))
            if head == "topic":
                topics.append(Topic(text))
            elif head == "cast":
                topics[-1].cast = _CAST.findall(text)
            elif head == "dateline":
                topics[-1].dateline = text
            elif head == "keep":
                topics[-1].keep = tuple(text.split())
            elif head == "heldout":
                topics[-1].heldout = text == "yes"
            else:
                kind, _, key = head.partition("/")
                assert kind in "HLBR", line
                reserved = topics[-1].heldout or (rng.random() < share and (kind, bool(key)) not in _ALWAYS)
                topics[-1].templates.append(Template(kind, key, text, reserved))
    return topics


class Story:
    """One document: a cast, what has been mentioned, and the sentences."""

    def __init__(self, topic: Topic, lexicon: Lexicon, rng: random.Random, p_reserved: float) -> None:
        self.topic, self._lexicon, self._rng, self._p = topic, lexicon, rng, p_reserved
        self._mentioned: Counter[str] = Counter()
        self._rank = 0
        self._introduces = False
        self._roles: dict[str, Thing] = {}
        self._used: set[str] = set()
        self._recast()

    def _recast(self) -> None:
        for role, spec in self.topic.cast:
            if role in self._roles and role in self.topic.keep:
                continue
            match = _PARTS.fullmatch(spec)
            assert match, spec
            self._roles[role] = self._fresh(match[1], match[2] or "", match[3] or "")

    def row(self, text: str) -> Phrase:
        """One row of a table: the roles are cast anew."""
        self._recast()
        self._mentioned.clear()
        self._rank += 1
        return self.render(text)

    def sentence(self, text: str) -> Phrase:
        """A sentence of the text proper: people have their full names when they first appear."""
        self._introduces = True
        words = self.render(text)
        self._introduces = False
        return sentence_case(words)

    def render(self, text: str) -> Phrase:
        while _CHOICE.search(text):
            text = _CHOICE.sub(lambda m: self._pick(m[1].split("|")), text, count=1)
        words: Phrase = []
        for token in _TOKEN.findall(text):
            words += self._expand(token)
        return _tidy(words)

    def _pick(self, options: list[str]) -> str:
        return options[draw_index(self._rng, len(options))]

    def _expand(self, token: str) -> Phrase:
        if token.startswith("["):
            tag, _, text = token[1:-1].partition(" ")
            return self._fill(phrase(text, tag))
        slots = _SLOT.findall(token)
        if not slots:
            return [(token, "O")]
        if token == "{" + slots[0] + "}":
            return self._slot(slots[0])
        return self._glue(token, slots)

    def _glue(self, token: str, slots: list[str]) -> Phrase:
        """`{Y}-based`, `anti-{C.adj}`, `{K}-{L}`, `{int:2-9}.{int:1-9}`: a name joined to a word is MISC."""
        tags = set()
        for slot in slots:
            words = [pair for pair in self._slot(slot) if pair[0] not in ("~", "the")]
            token = token.replace("{" + slot + "}", " ".join(word for word, _ in words), 1)
            tags.add(words[0][1].removeprefix("B-"))
        names = tags - {"O"}
        tag = "O" if not names else names.pop() if len(slots) > 1 and len(names) == 1 else "MISC"
        return tag_name(token.split(), tag)

    def _slot(self, slot: str) -> Phrase:
        match = _PARTS.fullmatch(slot)
        assert match, f"bad slot {slot!r} in {self.topic.name}"
        base, argument, option, form = (part or "" for part in match.groups())
        if base in ("int", "nth"):
            low, high = (int(bound) for bound in option.split("-"))
            number = low + draw_index(self._rng, high - low + 1)
            return [(_nth(number) if base == "nth" else str(number), "O")]
        if base == "rank":
            return [(str(self._rank), "O")]
        if base in ("up", "down"):
            start, step = (int(part) for part in option.split("-"))
            return [(str(start + (step if base == "up" else -step) * self._rank), "O")]
        if base == "record":
            won, drawn, lost = (draw_index(self._rng, 9) for _ in range(3))
            table = (won + drawn + lost, won, drawn, lost, 3 * won + drawn)
            return [(str(number), "O") for number in table]
        if base.isupper():
            return self._role(base, form)
        return self._fill(self._fresh(base, argument, option).form(form))

    def _role(self, role: str, form: str) -> Phrase:
        thing = self._roles[role]
        if form in thing.inside:
            return self._distinct(thing.inside[form].draw).form("")
        if form == "":
            again = self._mentioned[role] > 0 and self._rng.random() < P_SHORT
            form = "later" if again else "first"
        if form in ("last", "mr") and self._introduces and not self._mentioned[role]:
            form = "first"
        if self._introduces and form not in ("he", "his", "him", "adj", "people", "city", "nick", "capital"):
            self._mentioned[role] += 1
        return self._fill(thing.form(form))

    def _fill(self, words: Phrase) -> Phrase:
        """Names may contain roles: `{Y.name} Open`."""
        filled: Phrase = []
        for word, tag in words:
            if "{" in word:
                inner = [w for w, _ in self._slot(word[1:-1]) if w not in ("~", "the")]
                filled += [(w, tag.replace("B-", "I-") if position else tag) for position, w in enumerate(inner)]
            else:
                filled.append((word, tag))
        return filled

    def _fresh(self, kind: str, argument: str, option: str) -> Thing:
        lexicon = self._lexicon
        if kind == "person":
            if option:
                names = lexicon.traditions[option]
            else:
                country = self._roles[argument] if argument else lexicon.countries.draw(self._rng, self._p)
                names = lexicon.traditions[country.forms["tradition"][0][0]]
            return self._distinct(names.draw)
        if kind == "city":
            country = self._roles[argument] if argument else self._distinct(lexicon.countries.draw)
            return self._distinct(country.inside["city"].draw)
        if kind in ("country", "coastal"):
            pool = lexicon.coastal if kind == "coastal" else lexicon.countries
            return pool.find(argument) if argument else self._distinct(pool.draw)
        return self._distinct(lexicon.lists[kind].draw)

    def _distinct(self, draw: object) -> Thing:
        assert callable(draw)
        for _ in range(20):
            thing: Thing = draw(self._rng, self._p)
            if thing.key not in self._used:
                break
        self._used.add(thing.key)
        return thing


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _tidy(words: Phrase) -> Phrase:
    """Articles (the the, the ~NATO, a/an) and possessives (`Adams '`)."""
    tidy: Phrase = []
    for word, tag in words:
        before = tidy[-1][0] if tidy else ""
        if word == "~":
            if before == "the":
                tidy.pop()
            continue
        if before == "the" and word.lower() == "the":
            tidy.pop()
        if before == "a" and tidy[-1][1] == "O" and _has_vowel_sound(word):
            tidy[-1] = ("an", "O")
        if word == "'s" and tag == "O" and before.endswith("s") and before != "'s":
            word = "'"
        tidy.append((word, tag))
    return tidy


def _has_vowel_sound(word: str) -> bool:
    if word[0].isdigit():
        return word[0] == "8" or re.match(r"1[18](?!\d)", word) is not None
    return word[0].lower() in "aeiou" and not re.match(r"(?i)eu|uni|u\.|uru|ukr|one|use", word)


def sentence_case(words: Phrase) -> Phrase:
    """A capital for the first word, unless it is a name written without one (`eBrick`)."""
    word, tag = words[0]
    if tag == "O" and word == '"' and len(words) > 1:
        return [words[0], *sentence_case(words[1:])]
    if tag == "O" or word in _PARTICLES or word.startswith("anti-"):
        return [(word[:1].upper() + word[1:], tag), *words[1:]]
    return words
