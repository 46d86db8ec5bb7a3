"""Labels back into a CoNLL column file: the columns, blank and document lines that came in, and their scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from casimir.metrics.schemes import Scheme, convert
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.text import write_text

_GOLD = "gold"


def format_conll(
    corpus: Corpus,
    labels: Sequence[Sequence[str]] | None = None,
    *,
    scheme: Scheme | None = None,
    keep_gold: bool = False,
) -> Iterator[str]:
    """The lines (each with its "\\n") of the corpus with `labels` as the last column.

    labels      one sequence per sentence, in any scheme; None writes the corpus's own
    scheme      to write; None is the scheme that came in, or else that of `labels`
    keep_gold   write the labels that came in before the new ones, as the official scorer wants to read them
    """
    given = corpus.labels if labels is None else labels
    _check(corpus, given)
    if labels is not None:
        scheme = scheme or corpus.scheme
    gold = corpus.labels if keep_gold else None
    order = _order(corpus, keep_gold)
    for i, (sentence, tags) in enumerate(zip(corpus.sentences, given, strict=True)):
        if i in corpus.boundaries:
            line = corpus.boundaries[i]
            missing = max(0, len(order) - len(line)) if len(line) > 1 or not corpus.is_labelled else 0
            yield corpus.separator.join([*line, *["O"] * missing]) + "\n\n"
        values = {"word": sentence.words, **sentence.columns, "label": convert(tags, scheme) if scheme else tags}
        if gold is not None:
            values[_GOLD] = convert(gold[i], scheme) if scheme else gold[i]
        rows = (corpus.separator.join(row) for row in zip(*(values[name] for name in order), strict=True))
        yield from _with_extras(rows, [(at, _widened(line, corpus, order)) for at, line in corpus.extras.get(i, ())])
        yield "\n"
    yield from (f"{line}\n" for _, line in corpus.extras.get(len(corpus), ()))


def _with_extras(rows: Iterator[str], extras: Sequence[tuple[int, str]]) -> Iterator[str]:
    """The lines of a sentence, those that are no words at their places."""
    n = 0
    for row in rows:
        yield from (f"{line}\n" for at, line in extras if at == n)
        yield row + "\n"
        n += 1
    yield from (f"{line}\n" for at, line in extras if at >= n)


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
