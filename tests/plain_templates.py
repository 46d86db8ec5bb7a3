"""Templates in plain Python, a token at a time: the judge of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product

from plain_features import Evidence, WordTable, by_document, capital_runs

from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.templates.extract import marked
from casimir.tasks.tag.templates.filters import Filter, filtered
from casimir.tasks.tag.templates.language import EVIDENCE, MARK, NAMES, NUMBERED, PLACE, TEXT, WORD, Hole, Template
from casimir.tasks.tag.templates.template_set import TemplateSet

TokenFeatures = list[str]
_Values = Callable[[tuple[Filter, ...], str], list[str]]  # of a text, behind filters


def evaluate(
    sentences: Sequence[Sentence], templates: TemplateSet, lexicons: Lexicons = NO_LEXICONS, of_pairs: bool = False
) -> Iterator[list[TokenFeatures]]:
    """The features of every token, or of pairs of labels, sentence by sentence, in the order of the templates."""
    table, parsed = WordTable(), cache(partial(templates.parsed, lexicons=lexicons.names))
    values: _Values = cache(partial(filtered, lexicons=lexicons))
    for document in by_document(sentences, templates.alone):
        words = [[table[word] for word in sentence.words] for sentence in document]
        topic = words[0][0].lower if document[0].document is not None else None
        evidence = Evidence(words, topic) if len(document) >= templates.least else None
        for sentence in document:
            view = _View(sentence, table, evidence, lexicons, values)
            own = [one for one in parsed(tuple(sentence.columns)) if one.of_pairs == of_pairs]
            yield [[text for one in own for text in view.features(one, t)] for t in range(len(sentence))]


class _View:
    """A sentence as holes see it."""

    def __init__(
        self,
        sentence: Sentence,
        table: WordTable,
        evidence: Evidence | None,
        lexicons: Lexicons,
        values: _Values,
    ) -> None:
        self._columns = {WORD: sentence.words, **sentence.columns}
        self._words = [table[word] for word in sentence.words]
        self._runs = {t: (a, b) for a, b in capital_runs(self._words) for t in range(a, b)}
        self._evidence, self._filtered = evidence, values
        self._marks = [] if lexicons.gazetteer is None else lexicons.gazetteer.marks(sentence.words)

    def features(self, template: Template, t: int) -> list[str]:
        """Of token t: one for every combination of the values of the holes."""
        found = []
        for values in product(*(self._values(hole, t) for hole in template.holes)):
            found.append(
                template.texts[0] + "".join(v + text for v, text in zip(values, template.texts[1:], strict=True))
            )
        return found

    def _values(self, hole: Hole, t: int) -> list[str]:
        if hole.source == EVIDENCE:
            return [] if self._evidence is None else self._evidence.features(self._words[t])
        if hole.anchor != "token" or hole.source == PLACE:
            if t not in self._runs:
                return []
            a, b = self._runs[t]
            if hole.source == PLACE:
                return [f"{min(t - a, 3)}/{min(b - a, 4)}"]
            t = {"left": a - 1, "first": a, "last": b - 1, "right": b}[hole.anchor]
        place, n = t + hole.offset, len(self._words)
        if not 0 <= place < n:
            return _outside(hole, place if place < 0 else place - n + 1)
        if hole.source == NAMES:
            marks = self._marks[place]
            return marked(marks, self._columns[WORD][place]) if hole.filters else marks
        return self._filtered(hole.filters, self._columns[hole.source][place])


def _outside(hole: Hole, beyond: int) -> list[str]:
    """What a hole shows -1, -2, ... before a sentence, or 1, 2, ... behind it."""
    shown = {MARK: "<s>" if beyond < 0 else "</s>", TEXT: hole.text, NUMBERED: f"_B{beyond:+d}"}
    return [shown[hole.outside]] if hole.outside in shown else []
