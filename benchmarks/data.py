"""The corpora: CoNLL-2003 where CASIMIR_DATA points at it, else the embedded news corpus."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from casimir.datasets import load_news
from casimir.tasks.ner import Corpus, read_conll

FALLBACK = (
    "CASIMIR_DATA is not set to a folder with conll2003/eng.train and conll2003/eng.testa; the embedded news corpus is "
    "used instead. The targets refer to CoNLL-2003: on another corpus they are only a rough guide."
)


@dataclass(frozen=True)
class Corpora:
    name: str
    train_path: Path
    dev_path: Path
    note: str = ""

    @classmethod
    def find(cls) -> Corpora:
        folder = Path(os.environ.get("CASIMIR_DATA", "")) / "conll2003"
        if os.environ.get("CASIMIR_DATA") and (folder / "eng.train").is_file() and (folder / "eng.testa").is_file():
            return cls("CoNLL-2003", folder / "eng.train", folder / "eng.testa")
        print(FALLBACK, file=sys.stderr)
        news = load_news()
        return cls("embedded news corpus", news.train, news.heldout, FALLBACK)

    def read(self) -> tuple[Corpus, Corpus]:
        """(training part, development part)"""
        return read_conll(self.train_path), read_conll(self.dev_path)
