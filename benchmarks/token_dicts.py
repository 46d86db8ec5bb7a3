"""Four tagging sets as users of sklearn-crfsuite have them: a dict of features per token, all from one extractor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casimir.datasets import load_news
from casimir.metrics import Scheme, entity_scores
from casimir.tasks.deprel import read_conllu
from casimir.tasks.ner import Corpus, read_conll
from casimir.tasks.tag.columns import Layout

Features = list[list[dict[str, Any]]]
Labels = list[list[str]]


@dataclass(frozen=True)
class TaggingSet:
    """X, y to train on and X_dev, y_dev to judge by; labels write spans in IOB2, or are plain."""

    X: Features
    y: Labels
    X_dev: Features
    y_dev: Labels
    has_spans: bool

    def score(self, predicted: Labels) -> float:
        """F1 of the spans, or the share of tokens that are right."""
        if self.has_spans:
            return float(entity_scores(self.y_dev, predicted).f1)
        pairs = [pair for two in zip(self.y_dev, predicted, strict=True) for pair in zip(*two, strict=True)]
        return sum(true == guess for true, guess in pairs) / len(pairs)


def conll() -> TaggingSet:
    """CoNLL-2003, named entities of eng.train and eng.testa; words, parts of speech and chunks are given."""
    return _of_spans(*(read_conll(_folder() / "conll2003" / f"eng.{part}") for part in ("train", "testa")))


def chunk() -> TaggingSet:
    """The chunk column of the same files; words and parts of speech are given."""
    files = (_folder() / "conll2003" / f"eng.{part}" for part in ("train", "testa"))
    corpora = [read_conll(path, layout=Layout(label=3)).keep_columns(("c2",)) for path in files]
    return _of_spans(*corpora)


def wnut() -> TaggingSet:
    """WNUT-17, emerging entities in tweets; words alone are given."""
    return _of_spans(*(read_conll(_folder() / "wnut17" / f"{part}.conll") for part in ("wnut17train", "emerging.dev")))


def ewt() -> TaggingSet:
    """UD English EWT, universal parts of speech; words alone are given."""
    files = (_folder() / "ud" / "EWT" / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev"))
    train, dev = ([(tree.words, list(tree.upos)) for tree in read_conllu(path).trees] for path in files)
    X, X_dev = ([token_dicts(words, {}) for words, _ in part] for part in (train, dev))
    return TaggingSet(X, [tags for _, tags in train], X_dev, [tags for _, tags in dev], has_spans=False)


def news() -> TaggingSet:
    """The embedded corpus, which needs no data."""
    files = load_news()
    return _of_spans(read_conll(files.train), read_conll(files.heldout))


SETS: dict[str, Callable[[], TaggingSet]] = {"conll": conll, "chunk": chunk, "wnut": wnut, "ewt": ewt, "news": news}
NAMES = {
    "conll": "CoNLL-2003 entities",
    "chunk": "CoNLL-2003 chunks",
    "wnut": "WNUT-17",
    "ewt": "EWT tags",
    "news": "embedded news",
}


def token_dicts(words: Sequence[str], columns: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """What tutorials of CRFsuite take: the word, its affixes and case, its columns, and some of it of neighbours."""
    small = [_small(word, {name: values[t] for name, values in columns.items()}) for t, word in enumerate(words)]
    return [_token(words[t], small, t) for t in range(len(words))]


def _small(word: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """The features that neighbours see too."""
    return {"lower": word.lower(), "istitle": word.istitle(), "isupper": word.isupper(), **columns}


def _token(word: str, small: Sequence[dict[str, Any]], t: int) -> dict[str, Any]:
    shape = "".join("A" if c.isupper() else "a" if c.islower() else "0" if c.isdigit() else c for c in word[:6])
    token: dict[str, Any] = {"bias": 1.0, **small[t], "isdigit": word.isdigit(), "shape": shape}
    token |= {f"prefix{k}": word[:k] for k in (1, 2, 3)} | {f"suffix{k}": word[-k:] for k in (1, 2, 3)}
    for d in (-2, -1, 1, 2):
        if 0 <= t + d < len(small):
            token |= {f"{d:+}:{name}": value for name, value in small[t + d].items()}
        elif abs(d) == 1:
            token["BOS" if d < 0 else "EOS"] = True
    return token


def _of_spans(train: Corpus, dev: Corpus) -> TaggingSet:
    X, X_dev = ([token_dicts(s.words, s.columns) for s in corpus.sentences] for corpus in (train, dev))
    return TaggingSet(X, train.labels_in(Scheme.IOB2), X_dev, dev.labels_in(Scheme.IOB2), has_spans=True)


def _folder() -> Path:
    folder = os.environ.get("CASIMIR_DATA")
    if not folder:
        raise SystemExit("CASIMIR_DATA must name the folder with the data; --data news needs none.")
    return Path(folder)
