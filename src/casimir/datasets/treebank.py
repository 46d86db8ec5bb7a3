"""A made-up treebank in the CoNLL-U format, for demos and tests.

The language has verbs, nouns with articles and adjectives, adjuncts and coordination. One thing is hard on purpose: the
particle of an adjunct is `case` when the adjunct is an `obl` (before the verb) and `mark` when it is an `advcl` (after
the verb). The particle itself looks the same in both, so its label follows only from the label of its head.
"""

from __future__ import annotations

import random

_SYLLABLES = ("ba", "do", "ki", "lu", "me", "ni", "po", "ra", "su", "ta", "ve", "zo")
_PARTICLES = ("an", "el", "is", "ur")
_ARTICLES = ("la", "len")
_SPLITS = {"train": (300, 1), "dev": (100, 2)}

Row = list[str | int]  # form, UPOS, head (counted from 0, -1 at the root), label


def treebank_text(split: str = "train") -> str:
    """The CoNLL-U text of one part, always the same: "train" (300 sentences) or "dev" (100)."""
    if split not in _SPLITS:
        raise ValueError(f'the made-up treebank has no part {split!r}; use "train" or "dev".')
    size, seed = _SPLITS[split]
    words = _vocabulary(random.Random(0))
    rng = random.Random(seed)
    return "".join(_format(_sentence(words, rng), f"made-up-{split}-{i + 1}") for i in range(size))


def _vocabulary(rng: random.Random) -> dict[str, list[str]]:
    """Words of one, two or three syllables per part of speech, distinct."""
    made: list[str] = []
    while len(made) < 140:
        word = "".join(rng.choices(_SYLLABLES, k=rng.choice((2, 2, 3))))
        if word not in made:
            made.append(word)
    return {"NOUN": made[:60], "VERB": made[60:90], "ADJ": made[90:110], "X": made[110:140]}


def _sentence(words: dict[str, list[str]], rng: random.Random) -> list[Row]:
    """Subject and adjuncts in any order, verb, object and adjuncts in any order, full stop."""
    rows: list[Row] = []
    before = ["nsubj", *["obl"] * rng.choice((0, 1, 1, 2))]
    after = [*["obj"] * rng.choice((0, 1, 1)), *["advcl"] * rng.choice((0, 1, 1, 2))]
    rng.shuffle(before)
    rng.shuffle(after)
    to_verb = [_dependent(rows, label, words, rng) for label in before]
    verb = len(rows)
    rows.append([rng.choice(words["VERB"]), "VERB", -1, "root"])
    to_verb += [_dependent(rows, label, words, rng) for label in after]
    to_verb.append(len(rows))
    rows.append([".", "PUNCT", verb, "punct"])
    for v in to_verb:
        rows[v][2] = verb
    return rows


def _dependent(rows: list[Row], label: str, words: dict[str, list[str]], rng: random.Random) -> int:
    return (_noun if label in ("nsubj", "obj") else _adjunct)(rows, label, words, rng)


def _noun(rows: list[Row], label: str, words: dict[str, list[str]], rng: random.Random) -> int:
    """(article) (adjective) noun, sometimes with a second one joined to it. Returns the position of the first noun."""
    first = len(rows)
    if rng.random() < 0.6:
        rows.append([rng.choice(_ARTICLES), "DET", -1, "det"])
    if rng.random() < 0.4:
        rows.append([rng.choice(words["ADJ"]), "ADJ", -1, "amod"])
    noun = len(rows)
    rows.append([rng.choice(words["NOUN"]), "NOUN", -1, label])
    for v in range(first, noun):
        rows[v][2] = noun
    if rng.random() < 0.15:
        rows.append(["ki", "CCONJ", noun + 2, "cc"])
        rows.append([rng.choice(words["NOUN"]), "NOUN", noun, "conj"])
    return noun


def _adjunct(rows: list[Row], label: str, words: dict[str, list[str]], rng: random.Random) -> int:
    """particle + word; what the particle is depends on the label of the adjunct."""
    head = len(rows) + 1
    rows.append([rng.choice(_PARTICLES), "PART", head, "case" if label == "obl" else "mark"])
    rows.append([rng.choice(words["X"]), "X", -1, label])
    return head


def _format(rows: list[Row], name: str) -> str:
    text = " ".join(str(row[0]) for row in rows)
    lines = [f"# sent_id = {name}", f"# text = {text}"]
    for v, (form, pos, head, label) in enumerate(rows):
        assert isinstance(head, int)
        columns = [v + 1, form, form, pos, "_", "_", head + 1, label, "_", "_"]
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"
