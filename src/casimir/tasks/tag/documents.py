"""Documents: neighbouring sentences that the source tells to belong together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np

from casimir.tasks.tag.corpus import Corpus, Sentence


def held_out_part(corpus: Corpus, seed: int, share: float = 0.2) -> tuple[Corpus, Corpus]:
    """The rest, and a share of a corpus to judge by: whole documents where it has them, else sentences."""
    parts = list(by_numbers(corpus.sentences))
    order = np.random.default_rng(seed).permutation(len(parts))
    n_out = round(share * len(parts))
    if not 0 < n_out < len(parts):
        raise ValueError(f"{corpus.name} has too little to hold a fifth of it out; give labelled data as --dev.")
    out = sorted(i for k in order[:n_out] for i in parts[k])
    rest = sorted(i for k in order[n_out:] for i in parts[k])
    return corpus.select(rest), corpus.select(out)


def by_numbers(sentences: Iterable[Sentence]) -> Iterator[list[int]]:
    """The places of the sentences of every document; sentences without a document are by themselves."""
    for document, group in groupby(enumerate(sentences), key=lambda pair: pair[1].document):
        places = [place for place, _ in group]
        yield from [places] if document is not None else ([place] for place in places)
