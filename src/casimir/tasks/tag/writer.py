"""Labels back into a CoNLL column file: the columns, blank and document lines that came in, and their scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from casimir.metrics.schemes import Scheme
from casimir.metrics.tag_numbers import TagNumbers
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.tokens import LABEL
from casimir.tasks.text import write_text

_GOLD = "gold"


def format_conll(
    corpus: Corpus,
    labels: Sequence[Sequence[str]] | TagNumbers | None = None,
    *,
    scheme: Scheme | None = None,
    keep_gold: bool = False,
) -> Iterator[str]:
    """Pieces of the text of the corpus with `labels` as the last column.

    labels      one sequence per sentence, or numbers of all, in any scheme; None writes the corpus's own
    scheme      to write; None is the scheme that came in, or else that of `labels`
    keep_gold   write the labels that came in before the new ones, as the official scorer wants to read them
    """
    if labels is None:
        given = corpus.label_numbers
    else:
        scheme = scheme or corpus.scheme
        given = labels if isinstance(labels, TagNumbers) else _numbered(corpus, labels)
    tokens, order = corpus.tokens, _order(corpus, keep_gold)
    columns = {name: _texts(one.ids, one.strings) for name, one in tokens.columns.items()}
    for name, found in {LABEL: given, **({_GOLD: corpus.label_numbers} if keep_gold else {})}.items():
        written = found if scheme is None else found.convert(scheme)
        columns[name] = _texts(written.numbers, written.tags)
    rows = list(map(corpus.separator.join, zip(*(columns[name] for name in order), strict=True)))
    ends = tokens.offsets.tolist()
    for i, (a, b) in enumerate(pairwise(ends)):
        if i in corpus.boundaries:
            line = corpus.boundaries[i]
            missing = max(0, len(order) - len(line)) if len(line) > 1 or not corpus.is_labelled else 0
            yield corpus.separator.join([*line, *["O"] * missing]) + "\n\n"
        extras = [(at, _widened(line, corpus, order)) for at, line in corpus.extras.get(i, ())]
        yield "\n".join(_with_extras(rows[a:b], extras) if extras else rows[a:b])
        yield "\n\n"
    yield from (f"{line}\n" for _, line in corpus.extras.get(len(corpus), ()))


def _texts(numbers: np.ndarray, texts: Sequence[str]) -> list[str]:
    table: Any = np.array(texts, dtype=object)
    found: list[str] = table[numbers].tolist()
    return found


def _numbered(corpus: Corpus, labels: Sequence[Sequence[str]]) -> TagNumbers:
    _check(corpus, labels)
    distinct = {label: k for k, label in enumerate(dict.fromkeys(chain.from_iterable(labels)))}
    numbers = np.array([distinct[label] for label in chain.from_iterable(labels)], dtype=np.int64)
    return TagNumbers(numbers, corpus.tokens.offsets, list(distinct))


def _with_extras(rows: Sequence[str], extras: Sequence[tuple[int, str]]) -> Iterator[str]:
    """The lines of a sentence, those that are no words at their places."""
    for n, row in enumerate(rows):
        yield from (line for at, line in extras if at == n)
        yield row
    yield from (line for at, line in extras if at >= len(rows))


def _widened(line: str, corpus: Corpus, order: Sequence[str]) -> str:
    """A line that is no word with "_" in the columns that are new."""
    if line.startswith("#"):
        return line
    cells = line.split(corpus.separator)
    for k, name in enumerate(order):
        if name not in corpus.order:
            cells.insert(k, "_")
    return corpus.separator.join(cells)


def _order(corpus: Corpus, keep_gold: bool) -> list[str]:
    """The columns to write: those of the file, the label where it stood or else last; gold just before it."""
    order = list(corpus.order or ("word", *corpus.columns, "label"))
    if "label" not in order:
        order.append("label")
    if keep_gold:
        order.insert(order.index("label"), _GOLD)
    return order


def write_conll(
    path: str | Path,
    corpus: Corpus,
    labels: Sequence[Sequence[str]] | None = None,
    *,
    scheme: Scheme | None = None,
    keep_gold: bool = False,
    encoding: str = "utf-8",
) -> None:
    """`format_conll` into a file, which appears only when it is complete."""
    write_text(path, "".join(format_conll(corpus, labels, scheme=scheme, keep_gold=keep_gold)), encoding)


def _check(corpus: Corpus, labels: Sequence[Sequence[str]]) -> None:
    if len(labels) != len(corpus):
        raise ValueError(
            f"{len(labels)} label sequences for the {len(corpus)} sentences of {corpus.name}; give one for each"
        )
    for i, (sentence, tags) in enumerate(zip(corpus.sentences, labels, strict=True)):
        if len(tags) != len(sentence):
            raise ValueError(
                f"{len(tags)} labels for the {len(sentence)} tokens of sentence {i + 1} of {corpus.name} "
                f"({' '.join(sentence.words[:8])!r}); each token needs one"
            )
