"""CoNLL-2003 as the code released with the paper reads it: few weights, and one token for all rare words.

    score(x, y) = sum_t <f(x, t), U[:, y_t]> + <f(x, t), V[:, y_{t-1}]> + T[y_{t-1}, y_t]

f(x, t)  words at t-2 .. t+2, parts of speech and chunk tags at t-1 .. t+1; words seen at most twice are one token
U, V     both belong to one tag, so here they are features of that tag's token: V's are those of the token after it

The released code hashes every pair of feature and tag into 65,535 weights. That has no native model here, and the
composed path takes 0.7 ms per oracle call, 400 s for 40 passes. So features are hashed into as many rows as make 65,535
weights with all tags and transitions: there are as many weights, and as many features share one, but two features that
meet do so for all tags at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from casimir.datasets import load_news
from casimir.experiments.base import Data, Places, Source
from casimir.experiments.sources.tagging import DEV, TRAIN, data_of, read_corpora
from casimir.models.weight_rows import stride_of
from casimir.tasks.tag.corpus import Sentence
from casimir.tasks.tag.features import TokenFeatures

N_WEIGHTS, RARE, UNKNOWN = 2**16 - 1, 2, "<unknown>"
_WORDS, _TAGS = range(-2, 3), range(-1, 2)  # places of words, and of parts of speech and chunk tags


def known_words(sentences: Iterable[Sentence], rare: int = RARE) -> frozenset[str]:
    """Those that occur more than `rare` times."""
    counts = Counter(word for sentence in sentences for word in sentence.words)
    return frozenset(word for word, count in counts.items() if count > rare)


def authors_features(sentence: Sentence, known: frozenset[str]) -> list[TokenFeatures]:
    """f(x, t) and f(x, t + 1), under names of their own, for every t."""
    words = [word if word in known else UNKNOWN for word in sentence.words]
    columns = [("w", words, _WORDS), *((name, values, _TAGS) for name, values in sentence.columns.items())]
    around = [_around(columns, t, len(words)) for t in range(len(words))]
    after = [*around[1:], []]
    return [[*own, *(f"next:{name}" for name in its)] for own, its in zip(around, after, strict=True)]


def _around(columns: Sequence[tuple[str, Sequence[str], range]], t: int, n: int) -> TokenFeatures:
    """Next to the first and the last token is an end; what is further outside makes no feature."""
    return [
        f"{name}[{o}]={values[t + o] if 0 <= t + o < n else '<end>'}"
        for name, values, places in columns
        for o in places
        if 0 <= t + o < n or abs(o) == 1
    ]


def n_rows(n_weights: int, n_labels: int) -> int:
    """The features whose weights, with those of transitions, starts and stops, are n_weights at the most."""
    return n_weights // stride_of(n_labels) - n_labels - 2


def authors_data(train: Path, dev: Path, n_weights: int, most: int | None = None) -> Data:
    corpora = read_corpora(train, dev, most)
    known = known_words(corpora.sentences)
    features, held_out = (
        [authors_features(sentence, known) for sentence in part] for part in (corpora.sentences, corpora.held_out)
    )
    return data_of(corpora, features, held_out, n_rows(n_weights, len(corpora.classes)))


def _conll(places: Places) -> Data:
    assert places.data is not None
    return authors_data(places.data / TRAIN, places.data / DEV, N_WEIGHTS)


def _news(places: Places, most: int) -> Data:
    return authors_data(load_news().train, load_news().heldout, 2**13, most)


SMALL = Source("news-authors", partial(_news, most=60))
CONLL_AUTHORS = Source("conll-authors", _conll, (TRAIN, DEV), SMALL)
