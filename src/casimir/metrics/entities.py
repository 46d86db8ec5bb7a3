"""Entity precision, recall and F1, exactly as the official CoNLL script (conlleval) counts them.

    precision = correct / predicted,    recall = correct / support,    F1 = 2 precision recall / (precision + recall)

over entities (spans): one is correct when start, end and type all agree with a true one. A ratio over 0 is 0.
Gold and predicted tags may follow different schemes, and need not be valid: see `schemes.spans`. For IOB1 and IOB2
these are the script's own rules; the script does not know the tag S, so IOBES is counted as the IOB2 it stands for.
Token accuracy compares tags; `-DOCSTART-` lines are not tokens here (the script counts them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from casimir.metrics.bootstrap import interval
from casimir.metrics.counts import Counts
from casimir.metrics.schemes import Span, spans
from casimir.metrics.strict import strict_spans
from casimir.scores import IntArray


@dataclass(frozen=True, slots=True)
class EntityScores:
    """Counts over all entities and by type (sorted by name), and accuracy over tokens.

    by_sentence  int64[n, 3]: correct, predicted and true entities of each sentence
    """

    overall: Counts
    by_type: dict[str, Counts]
    tokens: int
    correct_tokens: int
    by_sentence: IntArray | None = field(default=None, compare=False, repr=False)

    @property
    def precision(self) -> float:
        """The share of found entities that are right."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """The share of true entities that were found."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, over all types."""
        return self.overall.f1

    @property
    def accuracy(self) -> float:
        """The share of tokens whose label is right."""
        return self.correct_tokens / self.tokens if self.tokens else 0.0

    def interval(self) -> tuple[float, float]:
        """Of F1, at 95 %: sentences are drawn again."""
        if self.by_sentence is None:
            raise ValueError("These scores have no counts by sentence, so they have no interval.")
        return interval(self.by_sentence, lambda s: 2.0 * s[:, 0] / np.maximum(s[:, 1] + s[:, 2], 1.0))

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, for JSON."""
        return {
            **self.overall.to_dict(),
            **({} if self.by_sentence is None else {"f1_interval": list(self.interval())}),
            "accuracy": self.accuracy,
            "tokens": self.tokens,
            "types": {kind: counts.to_dict() for kind, counts in self.by_type.items()},
        }

    def table(self) -> str:
        """A text table: one line per type, then all of them together."""
        rows = [(kind or "(no type)", counts) for kind, counts in self.by_type.items()]
        width = max([len("overall"), *(len(kind) for kind, _ in rows)])
        lines = [f"{'':<{width}}  precision  recall      F1  support"]
        for kind, c in [*rows, ("overall", self.overall)]:
            lines.append(f"{kind:<{width}}  {c.precision:9.4f}  {c.recall:6.4f}  {c.f1:6.4f}  {c.support:7d}")
        lines.append(f"token accuracy {self.accuracy:.4f} over {self.tokens} tokens")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def entity_scores(
    y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]], scheme: str | None = None
) -> EntityScores:
    """Compare predicted with true tags, sentence by sentence.

    scheme  the strict mode of a scheme, such as "IOB2": only what it allows is an entity. None: tags of any scheme,
            valid or not, are read as the official script reads them

    Tags are compared token by token as they stand; if gold and predicted tags are in different schemes, entities are
    still counted right, but convert one of them first for a meaningful token accuracy.
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} true but {len(y_pred)} predicted sentences; give one prediction for each")
    read = spans if scheme is None else partial(strict_spans, scheme=scheme)
    tally = _Tally()
    for i, (gold, guess) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(gold) != len(guess):
            raise ValueError(
                f"sentence {i + 1}: {len(gold)} true but {len(guess)} predicted tags; each token needs one"
            )
        tally.tokens += len(gold)
        tally.correct_tokens += sum(a == b for a, b in zip(gold, guess, strict=True))
        tally.add(read(gold), read(guess))
    return tally.scores()


class _Tally:
    """Entities counted by type, one sentence after another."""

    def __init__(self) -> None:
        self.correct, self.predicted, self.support = Counter[str](), Counter[str](), Counter[str]()
        self.tokens = self.correct_tokens = 0
        self.rows: list[tuple[int, int, int]] = []

    def add(self, gold: list[Span], guessed: list[Span]) -> None:
        both = set(gold).intersection(guessed)
        self.rows.append((len(both), len(guessed), len(gold)))
        self.support.update(span.type for span in gold)
        self.predicted.update(span.type for span in guessed)
        self.correct.update(span.type for span in both)

    def scores(self) -> EntityScores:
        kinds = sorted(self.support.keys() | self.predicted.keys(), key=lambda kind: kind or "_")  # as seqeval names it
        by_type = {t: Counts(self.correct[t], self.predicted[t], self.support[t]) for t in kinds}
        overall = Counts(self.correct.total(), self.predicted.total(), self.support.total())
        rows = np.array(self.rows, dtype=np.int64).reshape(-1, 3)
        return EntityScores(overall, by_type, self.tokens, self.correct_tokens, rows)
