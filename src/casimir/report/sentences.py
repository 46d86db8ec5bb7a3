"""Sentences with their spans or labels marked, and what the filters of the page look at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from casimir.report.counts import NOTHING, mistakes
from casimir.report.data import SentenceView, SpanPlace


def worst_first(sentences: Sequence[SentenceView]) -> list[int]:
    """The numbers of sentences: the more likely the prediction beside the truth the earlier, then the less sure."""
    return sorted(range(len(sentences)), key=lambda i: (-sentences[i].margin, _confidence(sentences[i])))


def sentence(number: int, one: SentenceView) -> str:
    """A sentence as an element whose data attributes the filters read."""
    found = mistakes(one)
    pairs = sorted({f"{m.gold}>{m.predicted}" for m in found})
    data = {
        "text": " ".join(one.words).lower(),
        "types": "\n".join(sorted(_types(one))),
        "kinds": "\n".join(sorted({m.kind for m in found}) or ["right"]),
        "pairs": "\n".join(pairs),
        "confidence": f"{_confidence(one):.4f}",
        "number": str(number),
    }
    attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in data.items())
    told = f"sentence {number + 1} · {_chances(one)} · least sure {_confidence(one):.2f}"
    return f'<li class="sentence" {attributes}>{_lines(one)}<p class="note">{escape(told)}</p></li>'


def _lines(one: SentenceView) -> str:
    if one.spans is None or one.gold_spans is None:
        return f'<p class="line">{_tokens(one)}</p>'
    predicted = _marked(one.words, one.spans, set(one.gold_spans))
    if sorted(span[:3] for span in one.spans) == sorted(one.gold_spans):
        return f'<p class="line"><span class="who">both</span>{predicted}</p>'
    gold = _marked(one.words, [(*span, None) for span in one.gold_spans], {span[:3] for span in one.spans})
    return (
        f'<p class="line"><span class="who">gold</span>{gold}</p>'
        f'<p class="line"><span class="who">predicted</span>{predicted}</p>'
    )


def _marked(words: Sequence[str], spans: Sequence[tuple[int, int, str, float | None]], others: set[SpanPlace]) -> str:
    """Words with spans as marks, whose types stay on the line of their last word; those of both sides are right."""
    parts, end = [], 0
    for start, stop, kind, probability in spans:
        parts += [escape(word) for word in words[end:start]]
        sure = "" if probability is None else f"&nbsp;{probability:.2f}"
        state = "right" if (start, stop, kind) in others else "wrong"
        inner = escape(" ".join(words[start:stop]))
        parts.append(f'<mark class="{state}">{inner}&nbsp;<small>{escape(kind or "(no type)")}{sure}</small></mark>')
        end = stop
    return " ".join(parts + [escape(word) for word in words[end:]])


def _tokens(one: SentenceView) -> str:
    """Words with wrong labels as marks."""
    parts = []
    for word, gold, guess, sure in zip(one.words, one.gold, one.predicted, one.confidence, strict=True):
        if gold == guess:
            parts.append(f'<span title="{escape(f"{gold} {sure:.2f}")}">{escape(word)}</span>')
        else:
            told = f"{escape(gold)} → {escape(guess)} {sure:.2f}"
            parts.append(f'<mark class="wrong">{escape(word)}&nbsp;<small>{told}</small></mark>')
    return " ".join(parts)


def _types(one: SentenceView) -> set[str]:
    if one.spans is None or one.gold_spans is None:
        return {label for m in mistakes(one) for label in (m.gold, m.predicted)} - {NOTHING}
    return {span[2] for span in one.spans} | {span[2] for span in one.gold_spans}


def _confidence(one: SentenceView) -> float:
    """Of the least sure span; of the least sure token where there is none."""
    return min((span[3] for span in one.spans), default=min(one.confidence)) if one.spans else min(one.confidence)


def _chances(one: SentenceView) -> str:
    """How likely the truth is, beside the prediction."""
    if math.isinf(one.gold_log_probability):
        return "the tagger cannot give the true labels"
    truth = f"probability {_chance(one.gold_log_probability)}"
    return truth if one.margin == 0.0 else f"{truth}, of the prediction {_chance(one.log_probability)}"


def _chance(log_probability: float) -> str:
    chance = math.exp(log_probability)
    return f"{chance:.2f}" if chance >= 0.01 else f"{chance:.0e}"
