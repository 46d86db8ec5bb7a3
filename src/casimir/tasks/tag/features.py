"""Token features as lists of strings such as "w[-1]=the", for people and for other libraries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.templates import extract as native
from casimir.tasks.tag.templates.template_set import TemplateSet
from casimir.tasks.tag.tokens import Tokens

TokenFeatures = list[str]


def extract(sentences: Iterable[Sentence], feature_set: str | TemplateSet = "default") -> list[list[TokenFeatures]]:
    """The features of every token of every sentence; `iter_features` gives them one sentence at a time."""
    return list(iter_features(sentences, feature_set))


def iter_features(
    sentences: Iterable[Sentence], feature_set: str | TemplateSet = "default", lexicons: Lexicons = NO_LEXICONS
) -> Iterator[list[TokenFeatures]]:
    """For each sentence in turn a list of strings per token, in no particular order.

    The features of a sentence depend on its document, so give all sentences of a document in one call.
    """
    templates = TemplateSet.named(feature_set) if isinstance(feature_set, str) else feature_set
    given = list(sentences)
    return _strings(given, templates, lexicons) if given else iter(())


def _strings(given: list[Sentence], templates: TemplateSet, lexicons: Lexicons) -> Iterator[list[TokenFeatures]]:
    X = native.extract(Tokens.of(given), templates, lexicons, None)
    names = np.array(list(X.vocabulary or ()), dtype=object)
    ends = X.indptr.tolist()
    for a, b in pairwise(X.offsets.tolist()):
        found = names[X.indices[ends[a] : ends[b]]].tolist()
        yield [found[ends[t] - ends[a] : ends[t + 1] - ends[a]] for t in range(a, b)]
