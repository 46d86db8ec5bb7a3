"""What a report tells about a tagger, collected from its predictions on labelled sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir._frames import check_no_frame
from casimir.estimators.calibration import Reliability
from casimir.estimators.confidence import expected, scores_of, spans_of_scores
from casimir.estimators.labels import LabelSequences
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.spans import SpanLabels, spans_of
from casimir.estimators.words import words_of
from casimir.features import PackedSequences
from casimir.report import Curve, Report, ReportData, SentenceView
from casimir.report.counts import scores_by_type, token_accuracy

if TYPE_CHECKING:
    from casimir.estimators.chain_tagger import ChainTagger


def tagger_report(tagger: ChainTagger, X: Any, y: Any, words: Any, title: str) -> Report:
    """The report of `SequenceTagger.report`."""
    check_no_frame(X)
    if words is None:
        X = X if isinstance(X, PackedSequences) else [x if hasattr(x, "shape") else list(x) for x in X]
        words = [words_of(x) for x in X]
    return report_of(tagger, sentence_views(tagger._fitted(), X, y, words), title)


def report_of(tagger: ChainTagger, sentences: Sequence[SentenceView], title: str) -> Report:
    """A report on sentences that were looked at already; what it says of weights and training is the tagger's."""
    columns = ("epoch", "objective", "dual", "gap")
    return Report(
        ReportData(
            title,
            sentences,
            facts=_facts(tagger, sentences),
            labels=[str(label) for label in tagger.classes_],
            transitions=tagger.transitions_.copy(),
            trace={name: tagger.trace_.column(name).tolist() for name in columns} if len(tagger.trace_) else {},
            tol=tagger.tol,
            curves=_curves(sentences),
        )
    )


def sentence_views(predictor: ChainPredictor, X: Any, y: Any, words: Sequence[Sequence[str]]) -> list[SentenceView]:
    """Every sentence with its prediction and how sure it is."""
    packed = predictor.pack(X)
    gold = LabelSequences.of(y, packed.offsets)
    _check_known(gold)
    flat, names = gold.places(predictor.classes).flat, [str(label) for label in predictor.classes]
    true = [str(gold.distinct[j]) for j in gold.numbers.tolist()]
    writes_spans = SpanLabels.write_spans(predictor.classes)
    found: list[SentenceView] = []
    first = 0
    for s, soft in expected(predictor, packed):
        own = flat[first : first + len(s.nodes)]
        likely = (scores_of(predictor, s, own) - soft.value) / predictor.temperature
        top = predictor.chain.max(s)
        chances = (top.value - soft.value) / predictor.temperature
        guesses = spans_of_scores(predictor, s) if writes_spans else None
        for i, best in enumerate(top.outputs):
            nodes = soft.marginals.unary(i)
            sure = np.minimum(nodes[np.arange(len(best)), best], 1.0).tolist()
            labels = true[first + s.offsets[i] : first + s.offsets[i + 1]]
            gold_spans, guessed = (None, None) if guesses is None else (spans_of(labels), guesses[i])
            predicted = [names[j] for j in best]
            view = words[len(found)], labels, predicted, sure, gold_spans, guessed, float(chances[i]), float(likely[i])
            found.append(SentenceView(*view))
        first += len(s.nodes)
    return found


def _check_known(gold: LabelSequences) -> None:
    """A report compares labels with those that are right, so these have to be known."""
    for j, label in enumerate(gold.distinct):
        if label is None or isinstance(label, frozenset):
            i, position = gold.first_place(j)
            given = "None" if label is None else f"a set of {len(label)}"
            raise ValueError(
                f"y[{i}][{position}] is {given}, and a report needs the one right label of every token; leave out "
                "sentences that are not fully labelled."
            )


def _curves(sentences: Sequence[SentenceView]) -> list[Curve]:
    tokens = [(a == b, c) for one in sentences for a, b, c in zip(one.gold, one.predicted, one.confidence, strict=True)]
    spans = [
        (span[:3] in one.gold_spans, span[3])
        for one in sentences
        if one.spans is not None and one.gold_spans is not None
        for span in one.spans
    ]
    found = []
    for name, outcomes in (("tokens", tokens), ("spans", spans)):
        if outcomes:
            r = Reliability.of([right for right, _ in outcomes], [sure for _, sure in outcomes])
            lists = r.confidence.tolist(), r.accuracy.tolist(), r.counts.tolist()
            found.append(Curve(name, *lists, r.expected_error))
    return found


def _facts(tagger: ChainTagger, sentences: Sequence[SentenceView]) -> dict[str, str]:
    total = scores_by_type(sentences)[-1]
    scores = {}
    if any(one.spans is not None for one in sentences):
        scores = {"F1": f"{total.f1:.4f}", "precision": f"{total.precision:.4f}", "recall": f"{total.recall:.4f}"}
    return {
        **scores,
        "token accuracy": f"{token_accuracy(sentences):.4f}",
        "sentences": f"{len(sentences):,}",
        "tokens": f"{sum(len(one.words) for one in sentences):,}",
        "labels": f"{len(tagger.classes_)}",
        "loss": tagger.loss,
        "lam": f"{tagger.lam_:.3g}",
        "objective": f"{tagger.objective_:.5g}",
        "certified gap": f"{tagger.gap_:.2e}",
        "training": tagger.status_,
        "temperature": "1 (not calibrated)" if tagger.temperature_ == 1.0 else f"{tagger.temperature_:.3g}",
    }
