"""Tagged corpora for the benchmark of CRFs: sentences of feature strings with labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from casimir.datasets import load_news
from casimir.tasks.deprel import read_conllu
from casimir.tasks.ner import extract, read_conll

Tagged = tuple[list[list[list[str]]], list[list[str]]]


def conll() -> Tagged:
    """CoNLL-2003 named entities, the paper's features."""
    corpus = read_conll(_folder() / "conll2003" / "eng.train")
    return extract(corpus.sentences, "paper"), [list(labels) for labels in corpus.labels]


def wnut() -> Tagged:
    """WNUT-17 named entities, features of words."""
    corpus = read_conll(_folder() / "wnut17" / "wnut17train.conll")
    return [word_features(s.words) for s in corpus.sentences], [list(labels) for labels in corpus.labels]


def ewt() -> Tagged:
    """UD English EWT, universal parts of speech."""
    trees = read_conllu(_folder() / "ud" / "EWT" / "en_ewt-ud-train.conllu").trees
    return [word_features(t.words) for t in trees], [list(t.upos) for t in trees]


def news() -> Tagged:
    """The embedded corpus, the paper's features."""
    corpus = read_conll(load_news().train)
    return extract(corpus.sentences, "paper"), [list(labels) for labels in corpus.labels]


CORPORA: dict[str, Callable[[], Tagged]] = {"conll": conll, "wnut": wnut, "ewt": ewt, "news": news}


def with_ends(X: Sequence[Sequence[Sequence[str]]]) -> list[list[list[str]]]:
    """For CRFsuite: features of the first and the last token stand for casimir's start and stop weights."""
    marked = [[list(token) for token in sentence] for sentence in X]
    for sentence in marked:
        sentence[0].append("__start__")
        sentence[-1].append("__stop__")
    return marked


def word_features(words: Sequence[str]) -> list[list[str]]:
    """Words at offsets -2 to 2, affixes of one to three letters and the case of a word."""
    lower = [word.lower() for word in words]
    return [_token(words, lower, t) for t in range(len(words))]


def _token(words: Sequence[str], lower: Sequence[str], t: int) -> list[str]:
    word, small = words[t], lower[t]
    around = [f"{d}={lower[t + d]}" for d in range(-2, 3) if 0 <= t + d < len(words)]
    affixes = [f"p{k}={small[:k]}" for k in range(1, 4)] + [f"s{k}={small[-k:]}" for k in range(1, 4)]
    shape = "".join("A" if c.isupper() else "a" if c.islower() else "0" if c.isdigit() else c for c in word[:4])
    return [*around, *affixes, f"shape={shape}", f"title={word.istitle()}", "bias"]


def _folder() -> Path:
    folder = os.environ.get("CASIMIR_DATA")
    if not folder:
        raise SystemExit("CASIMIR_DATA must name the folder with the data; --data news needs none.")
    return Path(folder)
