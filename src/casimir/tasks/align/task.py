"""The task of word alignment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from casimir.tasks.task import Given, Table, Task, opt

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.tasks.align.bitext import Bitext
    from casimir.tasks.align.metrics import LinkScores
    from casimir.tasks.align.model import AlignModel


_SHOWN = 8  # pairs of words in the table of mistakes


@dataclass(frozen=True)
class Options:
    gold: Path | None = opt("Links of the pairs in --train: 3-4 is sure, 3p4 possible.", metavar="FILE")
    dev_gold: Path | None = opt("Links of the pairs in --dev.", metavar="FILE")
    test_gold: Path | None = opt("Links of the pairs in --test.", metavar="FILE")
    more_text: Path | None = opt("More pairs, without links, for lexical statistics.", metavar="FILE")
    wrong: float = opt("Cost of a link that is not even possible.", 1.0, metavar="X", low=0.0)
    missed: str = opt(
        "Cost of a sure link that is not found; auto: by cross-validation in training.", "auto", metavar="X"
    )
    fertility: int | None = opt("Links a word may have. Default: what the training links need.", metavar="M", low=1)


@dataclass(frozen=True)
class UseOptions:
    gold: Path | None = opt("The true links, which are a file of their own.", metavar="FILE", only="evaluate")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sentence pairs, and more text for lexical statistics, whose links are not read."""

    bitext: Bitext
    text: tuple[Bitext, ...] = ()

    def __len__(self) -> int:
        return len(self.bitext)

    def select(self, pairs: Any) -> Pairs:
        """Some pairs; the others stay as text."""
        rest = np.setdiff1d(np.arange(len(self)), pairs)
        return Pairs(self.bitext.select(pairs), (*self.text, self.bitext.select(rest)))


def check(given: Given, pictures: Path | None) -> None:
    missed_of(given.options.missed)


def missed_of(given: str) -> float | Literal["auto"]:
    """ "auto" is itself, and any other text must be a number."""
    if given == "auto":
        return "auto"
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise ValueError(f"--missed {given!r} is not a cost such as 1 or 2.5, or auto.")
    return value


def read(path: Path, labelled: bool, given: Given) -> Pairs:
    from casimir.tasks.align.bitext import read_bitext

    if not labelled:
        return Pairs(read_bitext(path, encoding=given.encoding))
    option = "gold" if given.role == "train" else f"{given.role}_gold"
    gold = getattr(given.options, option)
    if gold is None:
        raise ValueError(
            f"Word alignment needs the true links of the pairs: give them with --{option.replace('_', '-')} FILE."
        )
    more = given.options.more_text if given.model is None and given.role == "train" else None
    text = () if more is None else (read_bitext(more, encoding=given.encoding),)
    return Pairs(read_bitext(path, gold, encoding=given.encoding), text)


def made_up() -> tuple[Pairs, None]:
    from casimir.datasets.phrases import make_phrases
    from casimir.tasks.align.bitext import parse_bitext

    phrases = make_phrases()
    return Pairs(parse_bitext(phrases.text, phrases.gold, name="made-up pairs", gold_name="their links")), None


def train(pairs: Pairs, given: Given, callbacks: tuple[Any, ...]) -> AlignModel:
    from casimir.tasks.align import model
    from casimir.tasks.align.baselines import thresholds

    o, how = given.options, given.fit.training(len(pairs), callbacks)
    costs: dict[str, Any] = {"wrong": o.wrong, "missed": missed_of(o.missed)}
    found = model.train(pairs.bitext, how, text=pairs.text, fertility=o.fertility, say=given.say, **costs)
    return replace(found, thresholds=thresholds(found.features.words, pairs.bitext))


def compare(model: AlignModel, pairs: Pairs, given: Given) -> Mapping[str, LinkScores]:
    from casimir.tasks.align.baselines import baseline_scores

    return baseline_scores(model.features.words, model.thresholds, pairs.bitext)


def details(scores: LinkScores) -> list[Table]:
    rows = [(f"{one.source} - {one.target}", one.missed, one.wrong) for one in scores.mistakes[:_SHOWN]]
    rest = len(scores.mistakes) - _SHOWN
    note = f"and {rest:,} pairs of words more" if rest > 0 else ""
    return [Table(["mistakes", "missed", "wrong"], rows, note)] if rows else []


def write(model: AlignModel, pairs: Pairs, given: Given, output: Path | None) -> str:
    from casimir.tasks.align.bitext import format_links

    return "".join(format_links(links) + "\n" for links in model.align(pairs.bitext))


TASK = Task.of(
    globals(),
    name="align",
    title="Word alignment",
    about="""Learn to align the words of sentence pairs, each word to none, one or a few others.

    Lexical statistics count the words of all pairs; the links of held-out pairs are not used.""",
    data="Sentence pairs, ||| between the two; --gold has their links.",
    scores="alignment error rate, precision and recall, against the links in --gold.",
    writes="one line of links such as 3-4 per sentence pair, words counted from 1.",
    units="sentence pairs",
    examples=(
        "casimir train align --model out/",
        "casimir train align --train enfr.src-tgt --gold enfr.gold --model out/",
        "casimir evaluate out/ test.src-tgt --gold test.gold",
        "casimir predict out/ new.src-tgt > links.txt",
    ),
    columns={"AER": "aer", "precision": "precision", "recall": "recall", "links": "found"},
    train_options=Options,
    use_options=UseOptions,
    held_out=0.5,
    score=lambda model, pairs, given: model.evaluate(pairs.bitext),
    figures=lambda model: {"features": len(model.w), "fertility": model.fertility, "missed": model.missed},
)
