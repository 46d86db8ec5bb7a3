"""Tagged sentences, coloured by type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from casimir.metrics.schemes import Span, spans
from casimir.tasks.tag.corpus import Corpus

_STYLES = {"PER": "bold blue", "LOC": "bold green", "ORG": "bold magenta", "MISC": "bold yellow"}
_LENGTHS = range(8, 21)
_N_RIGHT, _N_WRONG = 4, 2


class _Example(NamedTuple):
    words: tuple[str, ...]
    gold: list[Span]
    guess: list[Span]


def show_examples(console: Console, corpus: Corpus, predicted: Sequence[Sequence[str]]) -> None:
    """A few sentences with several entities, most of them tagged right, some not."""
    examples = list(_candidates(corpus, predicted))
    right = [example for example in examples if example.gold == example.guess]
    wrong = [example for example in examples if example.gold != example.guess]
    console.print("\nSome held-out sentences", style="bold")
    for words, _, guess in _spread(right, _N_RIGHT):
        _show(console, "   ", marked(words, guess))
    console.print("and some with mistakes", style="bold")
    for words, gold, guess in _spread(wrong, _N_WRONG):
        _show(console, "   ", marked(words, guess))
        _show(console, "   truth: ", marked(words, gold), style="dim")


def _show(console: Console, label: str, sentence: Text, style: str | None = None) -> None:
    """The label and the sentence, which a terminal gets broken between words."""
    lines = sentence.wrap(console, max(console.width - len(label), 1)) if console.is_terminal else [sentence]
    for k, line in enumerate(lines):
        console.print(Text(" " * len(label) if k else label) + line, style=style, soft_wrap=True)


def marked(words: Sequence[str], entities: Sequence[Span]) -> Text:
    """The sentence with its entities in brackets: [Jordan Banks PER] visited [Leeds LOC]."""
    text, end = Text(), 0
    for span in entities:
        text.append("".join(f"{word} " for word in words[end : span.start]))
        text.append("[" + " ".join(words[span.start : span.end]) + " ", style=_STYLES.get(span.type, "bold"))
        text.append(span.type, style="dim")
        text.append("] ", style=_STYLES.get(span.type, "bold"))
        end = span.end
    text.append(" ".join(words[end:]))
    return text


def _candidates(corpus: Corpus, predicted: Sequence[Sequence[str]]) -> Iterator[_Example]:
    """Sentences that are neither short nor long, with entities of at least two types."""
    for sentence, gold, guess in zip(corpus.sentences, corpus.labels, predicted, strict=True):
        entities = spans(gold)
        if len(sentence) in _LENGTHS and len({span.type for span in entities}) > 1:
            yield _Example(sentence.words, entities, spans(guess))


def _spread(items: list[_Example], count: int) -> list[_Example]:
    """`count` of them, evenly over the corpus."""
    step = max(1, len(items) // max(1, count))
    return items[step // 2 :: step][:count]
