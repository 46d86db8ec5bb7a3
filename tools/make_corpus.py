"""Write the embedded news corpus: `python tools/make_corpus.py` (pure standard library, the same bytes every time).

The text comes from corpus/: hand-written templates, lists of names and countries. A share of the names and of the
templates, and two whole topics, are reserved for the held-out part. See src/casimir/datasets/README.md.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from corpus.lexicon import Lexicon, Phrase, draw_index
from corpus.story import Story, Template, Topic, read_topics, sentence_case

HERE = Path(__file__).resolve().parent
SEED = 1902
RESERVED_NAMES = 0.16  # share of each list, on top of the entries marked with "+"
RESERVED_TEMPLATES = 0.15
P_NAME = 0.06  # in the held-out part: probability that a name is a reserved one
P_TEMPLATE = 0.1
SIZES = {"train": 1500, "heldout": 500}

Sentences = list[Phrase]


class Newsroom:
    """Writes stories, preferring templates that were used least, and never the same sentence twice."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"{seed}:stories")
        self._lexicon = Lexicon(HERE / "corpus", seed, RESERVED_NAMES)
        self._topics = read_topics(HERE / "corpus" / "templates", seed, RESERVED_TEMPLATES)
        self._uses: Counter[Template] = Counter()
        self._seen: set[str] = set()

    def part(self, name: str, n_sentences: int) -> list[Sentences]:
        heldout = name == "heldout"
        documents: list[Sentences] = []
        round_of_topics: list[Topic] = []
        while sum(map(len, documents)) < n_sentences:
            if not round_of_topics:
                round_of_topics = [t for t in self._topics if heldout or not t.heldout]
            topic = round_of_topics.pop(draw_index(self._rng, len(round_of_topics)))
            documents.append(self._document(topic, heldout))
        return documents

    def _document(self, topic: Topic, heldout: bool) -> Sentences:
        story = Story(topic, self._lexicon, self._rng, P_NAME if heldout else 0.0)
        usable = [t for t in topic.templates if heldout or not t.reserved]
        lead = self._choose([t for t in usable if t.kind == "L"], heldout)
        sentences: Sentences = []
        headlines = _of(usable, "H", lead.key) or _of(usable, "H", "")
        if headlines and self._rng.random() < 0.9:
            headline = story.render(self._choose(headlines, heldout).text)
            sentences.append(_headline(headline, self._rng.random()))
        sentences += self._opening(story, story.sentence(lead.text))
        rows = _of(usable, "R", lead.key)
        body = _of(usable, "B", lead.key) + (_of(usable, "B", "") if lead.key else [])
        n_body = draw_index(self._rng, 3) if rows else 3 + draw_index(self._rng, 4)
        bodies: Sentences = []
        for _ in range(min(n_body, len(body))):
            template = self._choose(body, heldout)
            body = [t for t in body if t is not template]
            bodies.append(story.sentence(template.text))
        if rows:
            row = self._choose(rows, heldout).text
            sentences += [story.row(row) for _ in range(4 + draw_index(self._rng, 4))]
        sentences += bodies
        return [words for words in sentences if self._is_new(words)]

    def _opening(self, story: Story, lead: Phrase) -> Sentences:
        """The lead, with no dateline, with one on the same line, or with one of its own; sometimes a byline."""
        style = self._rng.random()
        place = story.render("{" + story.topic.dateline + "}")
        if style < 0.6:
            place = [(word.upper(), tag) for word, tag in place]
        before: Sentences = [sentence_case(story.render("<|By> {person(C)}"))] if self._rng.random() < 0.15 else []
        kind = self._rng.random()
        if kind < 0.3:
            return [*before, lead]
        if kind < 0.65:
            return [*before, place + story.render(", {month} {int:1-28}"), lead]
        return [*before, place + story.render("<( {wire} )|, {month} {int:1-28}|( {wire} )> -") + lead]

    def _choose(self, templates: list[Template], heldout: bool) -> Template:
        reserved = [t for t in templates if t.reserved]
        shared = [t for t in templates if not t.reserved]
        use_reserved = reserved and (not shared or (heldout and self._rng.random() < P_TEMPLATE))
        pool = reserved if use_reserved else shared
        fewest = min(self._uses[t] for t in pool)
        pool = [t for t in pool if self._uses[t] == fewest]
        template = pool[draw_index(self._rng, len(pool))]
        self._uses[template] += 1
        return template

    def _is_new(self, words: Phrase) -> bool:
        text = " ".join(word for word, _ in words)
        is_new = text not in self._seen
        self._seen.add(text)
        return is_new


def _of(templates: list[Template], kind: str, key: str) -> list[Template]:
    return [t for t in templates if t.kind == kind and t.key == key]


def _headline(words: Phrase, style: float) -> Phrase:
    """In capitals, now and then in small letters, or `Soccer - Leeds beat Hull to go top`."""
    if style < 0.5:
        return [(word.upper(), tag) for word, tag in words]
    if style < 0.53:
        return [(word.lower(), tag) for word, tag in words]
    plain = [(word.lower() if tag == "O" else word, tag) for word, tag in words]
    if len(plain) > 2 and plain[1][0] == "-":
        return [*sentence_case(plain[:2]), *sentence_case(plain[2:])]
    return sentence_case(plain)


def write(path: Path, documents: list[Sentences]) -> None:
    """Two columns, word and IOB2 tag; a -DOCSTART- line before each document, an empty line after each sentence."""
    out = []
    for sentences in documents:
        out.append("-DOCSTART- O\n\n")
        for words in sentences:
            out += [f"{word} {tag}\n" for word, tag in words] + ["\n"]
    path.write_bytes("".join(out).encode("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=HERE.parent / "src" / "casimir" / "datasets")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    newsroom = Newsroom(options.seed)
    for name, size in SIZES.items():
        documents = newsroom.part(name, size)
        write(options.out / f"news.{name}.txt", documents)
        entities = Counter(tag for d in documents for s in d for _, tag in s if tag.startswith("B-"))
        n_sentences, n_words = sum(map(len, documents)), sum(len(s) for d in documents for s in d)
        print(f"{name}: {len(documents)} documents, {n_sentences} sentences, {n_words} words, {dict(entities)}")


if __name__ == "__main__":
    main()
