"""The embedded news corpus: English news of our own making, for named entity recognition.

Two text files of about 1,500 and 500 sentences, two columns (word, IOB2 tag) separated by a space, an empty line after
each sentence and a `-DOCSTART-` line before each document. Types: PER, LOC, ORG, MISC. README.md in this folder says
how it was made, what is in it and how hard it is.

    news_path("train"), news_path("heldout")    where the files are
    news_text("train")                          their text
    load_news()                                 both paths in one record
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

__all__ = ["News", "load_news", "news_path", "news_text"]

_PARTS = ("train", "heldout")


@dataclass(frozen=True)
class News:
    """Paths of the two parts of the corpus."""

    train: Path
    heldout: Path


def load_news() -> News:
    """Both parts of the embedded corpus."""
    return News(train=news_path("train"), heldout=news_path("heldout"))


def news_path(part: str) -> Path:
    """The CoNLL file of one part: "train" or "heldout"."""
    if part not in _PARTS:
        raise ValueError(f'the news corpus has no part {part!r}; use "train" or "heldout".')
    return Path(str(resources.files(__name__).joinpath(f"news.{part}.txt")))


def news_text(part: str) -> str:
    """The text of one part, as `news_path(part)` holds it."""
    return news_path(part).read_text(encoding="utf-8")
