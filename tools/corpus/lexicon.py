"""Names: the lists of names.txt, countries.txt and gazetteers.txt as things that stories can cast.

A phrase is a list of (word, IOB2 tag) pairs: `[("the", "O"), ("North", "B-LOC"), ("Sea", "I-LOC")]`.
A pair with the word "~" at the head of a phrase says that the name takes no article.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Phrase = list[tuple[str, str]]

SKEW = 2.0  # some names are in the news more than others: the first tenth of a list gets a third of the draws


def draw_index(rng: random.Random, n: int, skew: float = 1.0) -> int:
    """Only `random()` is promised to give the same numbers in every version of Python."""
    return int(rng.random() ** skew * n)


def phrase(text: str, tag: str) -> Phrase:
    """`the River Severn` -> the/O River/LOC Severn/LOC; `_citizens` -> citizens/O; `~NATO` takes no article."""
    bare = text.removeprefix("~")
    head: Phrase = [("~", "O")] if bare != text else []
    if bare.startswith("the "):
        head.append(("the", "O"))
    words = bare.removeprefix("the ").split()
    name = tag_name([word for word in words if not word.startswith("_")], tag)
    return head + name + [(word[1:], "O") for word in words if word.startswith("_")]


def tag_name(words: list[str], tag: str) -> Phrase:
    """One name: B-tag on its first word, I-tag on the others."""
    if tag == "O":
        return [(word, "O") for word in words]
    return [(word, ("I-" if position else "B-") + tag) for position, word in enumerate(words)]


@dataclass(frozen=True)
class Thing:
    """Something with a name: forms["first"] at its first mention, forms["later"] afterwards."""

    key: str
    forms: dict[str, Phrase]
    inside: dict[str, Pool] = field(default_factory=dict)  # a country's cities, regions, ... and names of its people

    def form(self, name: str) -> Phrase:
        if name in ("", "name", "full"):
            name = "first"
        elif name == "short":
            name = "later"
        return self.forms[name]


@dataclass(frozen=True)
class Pool:
    """Things of one kind. The reserved ones never occur in the training part."""

    shared: list[Thing]
    reserved: list[Thing]
    skew: float = SKEW

    def draw(self, rng: random.Random, p_reserved: float) -> Thing:
        use_reserved = self.reserved and (not self.shared or rng.random() < p_reserved)
        things = self.reserved if use_reserved and p_reserved > 0 else self.shared or self.reserved
        return things[draw_index(rng, len(things), self.skew)]

    def find(self, key: str) -> Thing:
        return next(thing for thing in self.shared + self.reserved if thing.key == key)


def split(things: list[tuple[bool, Thing]], rng: random.Random, share: float) -> Pool:
    """Reserve the things marked with "+" and a `share` of the others."""
    shared = [thing for marked, thing in things if not marked]
    reserved = [thing for marked, thing in things if marked]
    for _ in range(int(len(shared) * share)):
        reserved.append(shared.pop(draw_index(rng, len(shared))))
    return Pool(shared, reserved)


def shuffled(pool: Pool, rng: random.Random) -> Pool:
    """In a list whose order means nothing, chance decides which names are frequent."""
    shared = list(pool.shared)
    return Pool([shared.pop(draw_index(rng, len(shared))) for _ in pool.shared], pool.reserved)


def lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


@dataclass(frozen=True)
class Names:
    """Given names and surnames of one tradition, each in a shared and a reserved list."""

    male: tuple[list[str], list[str]]
    female: tuple[list[str], list[str]]
    surnames: tuple[list[str], list[str]]

    def draw(self, rng: random.Random, p_reserved: float) -> Thing:
        def one(lists: tuple[list[str], list[str]]) -> str:
            shared, reserved = lists
            names = reserved if reserved and rng.random() < p_reserved else shared
            return names[draw_index(rng, len(names), SKEW)]

        is_male = rng.random() < 0.55
        given, surname = one(self.male if is_male else self.female), one(self.surnames)
        second = "ABCDEGHJKLMPRST"[draw_index(rng, 15)] + "." if rng.random() < 0.25 else ""
        initials = given[0] + "." + second
        style = rng.random()
        middle = f" {'ABCDEFGHJKLMPRSTW'[draw_index(rng, 17)]}." if style < 0.04 else ""
        full = f"{initials} {surname}" if style > 0.96 else f"{given}{middle} {surname}"
        pronouns = ("he", "his", "him", "Mr") if is_male else ("she", "her", "her", "Ms")
        forms = {
            "first": phrase(full, "PER"),
            "later": phrase(surname, "PER"),
            "last": phrase(surname, "PER"),
            "init": phrase(f"{initials} {surname}", "PER"),
            "listed": phrase(f"{surname} {given}", "PER"),
            "mr": [(pronouns[3], "O"), *phrase(surname, "PER")],
        }
        forms |= {name: [(word, "O")] for name, word in zip(("he", "his", "him"), pronouns, strict=False)}
        return Thing(surname, forms)


class Lexicon:
    """All lists, split once by `seed` into what both parts may use and what only the held-out part uses."""

    def __init__(self, folder: Path, seed: int, share: float) -> None:
        self._rng: Callable[[str], random.Random] = lambda name: random.Random(f"{seed}:{name}")
        self._share = share
        self.traditions = self._read_names(folder / "names.txt")
        self.countries = self._read_countries(folder / "countries.txt")
        shared, reserved = self.countries.shared, self.countries.reserved
        self.coastal = Pool([c for c in shared if "island" in c.inside], [c for c in reserved if "island" in c.inside])
        self.lists = self._read_lists(folder / "gazetteers.txt")

    def _read_names(self, path: Path) -> dict[str, Names]:
        columns: dict[str, dict[str, tuple[list[str], list[str]]]] = {}
        for line in lines(path):
            if line.startswith("["):
                tradition = line.strip("[]")
                columns[tradition] = {}
                continue
            column, names = line.split(":")
            things = [name.strip() for name in names.split(",")]
            pairs = [(name.startswith("+"), Thing(name.removeprefix("+"), {})) for name in things]
            rng = self._rng(f"{tradition}.{column}")
            pool = shuffled(split(pairs, rng, self._share), rng)
            columns[tradition][column] = ([t.key for t in pool.shared], [t.key for t in pool.reserved])
        return {name: Names(c["male"], c["female"], c["surnames"]) for name, c in columns.items()}

    def _read_countries(self, path: Path) -> Pool:
        things = []
        for line in lines(path):
            name, adjective, people, tradition, capital, *rest = (column.strip() for column in line.split("|"))
            bare = name.removeprefix("the ")
            forms = {
                "first": phrase(name, "LOC"),
                "later": phrase(name, "LOC"),
                "bare": phrase(bare, "LOC"),
                "adj": phrase(adjective, "LOC" if adjective == bare else "MISC"),
                "people": phrase(people, "MISC"),
                "capital": phrase(capital, "LOC"),
                "lang": phrase(rest[1], "MISC"),
                "tradition": [(tradition, "O")],
            }
            kinds = {"city": rest[0], "region": rest[2], "water": rest[3], "island": rest[4]}
            inside = {kind: self._places(f"{name}.{kind}", text) for kind, text in kinds.items() if text}
            things.append((False, Thing(name, forms, inside)))
        return split(things, self._rng("countries"), self._share)

    def _places(self, name: str, text: str) -> Pool:
        places = [place.strip() for place in text.split(";")]
        things = [(False, Thing(p, {"first": phrase(p, "LOC"), "later": phrase(p, "LOC")})) for p in places]
        return split(things, self._rng(name), self._share)

    def _read_lists(self, path: Path) -> dict[str, Pool]:
        entries: dict[str, list[tuple[bool, Thing]]] = {}
        plain = set()  # lists of ordinary words: nothing to reserve
        for line in lines(path):
            if line.startswith("["):
                name, tag = (part.strip() for part in line[1:].split("]"))
                if tag == "O":
                    plain.add(name)
                entries[name] = []
                continue
            full, *others = (column.strip() for column in line.removeprefix("+").split("|"))
            forms = {"first": phrase(full, tag), "later": phrase(others[0] if others else full, tag)}
            if len(others) == 3:
                forms |= {"city": phrase(others[1], "LOC"), "nick": phrase(others[2], tag)}
            entries[name].append((line.startswith("+"), Thing(full, forms)))
        pools = {name: Pool([thing for _, thing in entries[name]], [], skew=1.0) for name in plain}
        for name in entries.keys() - plain:
            rng = self._rng(name)
            pools[name] = shuffled(split(entries[name], rng, self._share), rng)
        return pools
