"""What is right and what is wrong: scores by type, which labels are taken for which, and the kinds of mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from casimir.metrics.counts import Counts
from casimir.report.data import SentenceView, SpanPlace

MISSED, SPURIOUS, WRONG_TYPE, BOUNDARY, WRONG_LABEL = "missed", "spurious", "type", "boundary", "label"
NOTHING = "(none)"


@dataclass(frozen=True)
class Score(Counts):
    """Counts of spans of one type, or of tokens of one label."""

    name: str = ""


@dataclass(frozen=True)
class Mistake:
    """A true and a predicted span, or label, that do not agree; NOTHING stands where there is none."""

    kind: str
    gold: str
    predicted: str


def scores_by_type(sentences: Iterable[SentenceView]) -> list[Score]:
    """Of spans where labels write them, else of labels, the most frequent first; then all of them together."""
    correct: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    support: Counter[str] = Counter()
    for one in sentences:
        if one.spans is None or one.gold_spans is None:
            support.update(one.gold)
            predicted.update(one.predicted)
            correct.update(a for a, b in zip(one.gold, one.predicted, strict=True) if a == b)
        else:
            true, guessed = set(one.gold_spans), {span[:3] for span in one.spans}
            support.update(kind for _, _, kind in true)
            predicted.update(kind for _, _, kind in guessed)
            correct.update(kind for _, _, kind in true & guessed)
    names = sorted(support.keys() | predicted.keys(), key=lambda name: (-support[name], name))
    rows = [Score(correct[name], predicted[name], support[name], name) for name in names]
    return [*rows, Score(correct.total(), predicted.total(), support.total(), "all")]


def token_accuracy(sentences: Iterable[SentenceView]) -> float:
    right = [a == b for one in sentences for a, b in zip(one.gold, one.predicted, strict=True)]
    return sum(right) / len(right) if right else 0.0


def mistakes(sentence: SentenceView) -> list[Mistake]:
    """True and predicted spans, or labels, that have no equal on the other side; in pairs where they overlap."""
    if sentence.spans is None or sentence.gold_spans is None:
        pairs = zip(sentence.gold, sentence.predicted, strict=True)
        return [Mistake(WRONG_LABEL, gold, guess) for gold, guess in pairs if gold != guess]
    guessed: list[SpanPlace] = [span[:3] for span in sentence.spans]
    lost = [span for span in sentence.gold_spans if span not in guessed]
    extra = [span for span in guessed if span not in sentence.gold_spans]
    found = []
    for gold in lost:
        other = _partner(gold, extra)
        if other is None:
            found.append(Mistake(MISSED, gold[2], NOTHING))
        else:
            extra.remove(other)
            kind = WRONG_TYPE if gold[2] != other[2] else BOUNDARY
            found.append(Mistake(kind, gold[2], other[2]))
    return found + [Mistake(SPURIOUS, NOTHING, span[2]) for span in extra]


def confusions(sentences: Iterable[SentenceView]) -> list[tuple[str, str, int]]:
    """(gold, predicted, count) of mistakes, the most frequent first."""
    counts = Counter((m.gold, m.predicted) for one in sentences for m in mistakes(one))
    return [(gold, guess, n) for (gold, guess), n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _partner(span: SpanPlace, others: Sequence[SpanPlace]) -> SpanPlace | None:
    """The one of the others that shares most tokens with a span; the first where they tie."""
    overlaps = [(min(span[1], end) - max(span[0], start), start, end, kind) for start, end, kind in others]
    best = max(overlaps, key=lambda one: one[0], default=None)
    return None if best is None or best[0] <= 0 else best[1:]
