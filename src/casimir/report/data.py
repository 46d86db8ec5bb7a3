"""What a report tells, as plain data: a page can be made from it whatever model it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from casimir.scores import FloatArray

SpanPlace = tuple[int, int, str]  # start, end (exclusive), type


@dataclass(frozen=True)
class SentenceView:
    """A labelled sentence and what a tagger made of it.

    words, gold, predicted   a string per token
    confidence               probability of every predicted label
    gold_spans               None where labels write no spans
    spans                    predicted spans with their probability; None where labels write no spans
    log_probability          log p(predicted | words)
    gold_log_probability     log p(gold | words); -inf where the tagger cannot give it
    """

    words: Sequence[str]
    gold: Sequence[str]
    predicted: Sequence[str]
    confidence: Sequence[float]
    gold_spans: Sequence[SpanPlace] | None
    spans: Sequence[tuple[int, int, str, float]] | None
    log_probability: float
    gold_log_probability: float

    @property
    def margin(self) -> float:
        """How much more likely the prediction is than the truth, as a logarithm; 0 where they are the same."""
        return 0.0 if list(self.gold) == list(self.predicted) else self.log_probability - self.gold_log_probability

    def __post_init__(self) -> None:
        lengths = {len(self.words), len(self.gold), len(self.predicted), len(self.confidence)}
        if len(lengths) != 1:
            raise ValueError(
                f"a sentence has {len(self.words)} words, {len(self.gold)} true labels, {len(self.predicted)} "
                f"predicted labels and {len(self.confidence)} confidences; there must be as many of each."
            )


@dataclass(frozen=True)
class Curve:
    """Predictions in bins of confidence: its mean, the share that is right, how many there are; the expected error."""

    name: str
    confidence: Sequence[float]
    accuracy: Sequence[float]
    counts: Sequence[int]
    error: float


@dataclass(frozen=True)
class ReportData:
    """title        of the page
    sentences     all of them, in the order of the data
    facts         what is said about the model, by name
    labels        names of the rows and columns of `transitions`
    transitions   float64[L, L]: weights (from, to); None: none
    trace         columns of the training: "epoch", "objective", "dual", "gap"; empty: none
    tol           the gap that was asked for
    curves        calibration
    """

    title: str
    sentences: Sequence[SentenceView]
    facts: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    transitions: FloatArray | None = None
    trace: Mapping[str, Sequence[float]] = field(default_factory=dict)
    tol: float | None = None
    curves: Sequence[Curve] = ()

    @property
    def has_spans(self) -> bool:
        return any(sentence.spans is not None for sentence in self.sentences)
