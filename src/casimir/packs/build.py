"""`pack`: token features -> flat arrays, in memory or in a folder of shards."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from casimir import features
from casimir._frames import check_no_frame
from casimir._native import core
from casimir.features import DEFAULT_N_FEATURES, PackedSequences
from casimir.packs.pack import Pack, open_pack
from casimir.packs.writer import PackWriter, Piece, new_manifest
from casimir.vocabulary import Columns, Vocabulary

_AT_ONCE = 2048  # sequences


def pack(
    sequences: Iterable[Iterable[Any]] | PackedSequences,
    n_features: int | None = DEFAULT_N_FEATURES,
    *,
    y: Any = None,
    out: str | os.PathLike[str] | None = None,
    sample_weight: Any = None,
    append: bool = False,
    seed: int = 0,
    vocabulary: Vocabulary | Columns | None = None,
    separator: str = "=",
) -> Any:
    """Token features in flat arrays, to be used in `fit` and `predict` as often as wanted.

    sequences: each is a list of tokens; a token is a dict {name: str | bool | number} or an iterable of strings. A
        value may be a vector or a dict again. Or each is a matrix, dense or sparse, with a row per token. They may come
        from a generator, which is read once
    n_features: hash buckets; None numbers every feature exactly (see `PackedSequences.vocabulary`). Columns of
        matrices have their numbers
    vocabulary: from the training data; its numbers are used, and features it does not hold are dropped
    separator: between the name and the value of a feature; CRFsuite's Python packages write ":"

    With out, a folder, they are written there as they come, in shards that need not fit into memory together, and the
    result is a `Pack`; else the result is `PackedSequences`. With a pack go

    y: labels, one sequence per sequence; they may come from a generator too
    sample_weight: a number per sequence
    append: add to the pack that is there
    seed: of the order of sequences within a shard

    A call that was cut short, by a full disk or by Ctrl-C, leaves a pack that is marked incomplete; the same call goes
    on behind its last sequence.

    >>> X = pack([[{"word": "Paris", "title": True}, {"word": "sleeps"}]])
    >>> len(X), X.n_tokens, X.n_features
    (1, 2, 262144)
    """
    if out is None:
        if y is not None or sample_weight is not None or append:
            raise ValueError("y, sample_weight and append are for packs on disk: give out, the folder, as well.")
        return features.pack(sequences, n_features, vocabulary=vocabulary, separator=separator)
    if vocabulary is not None:
        raise ValueError("a pack on disk makes its own vocabulary, or hashes. Leave vocabulary out.")
    return _pack_to_disk(sequences, n_features, y, sample_weight, out, append, seed, separator)


def _pack_to_disk(
    sequences: Any, n_features: int | None, y: Any, weights: Any, out: Any, append: bool, seed: int, separator: str
) -> Pack:
    check_no_frame(sequences)
    ready = sequences if isinstance(sequences, PackedSequences) else None
    if ready is not None and ready.vocabulary is not None:
        raise ValueError("sequences are packed with a vocabulary already; give the tokens, or hash them.")
    if ready is not None and ready.edges is not None:
        raise ValueError("features of pairs of labels need the sentences in memory; a pack has those of tokens only.")
    wanted = new_manifest(
        ready.n_features if ready is not None else n_features,
        separator=separator,
        labelled=y is not None,
        weighted=weights is not None,
    )
    growing = Vocabulary() if ready is None and n_features is None else None
    with PackWriter(out, wanted, append=append, vocabulary=growing, seed=seed) as writer:
        for sentences, tags, numbers in _batches(sequences, y, weights, writer.done):
            X = sentences if ready is not None else _packed(sentences, n_features, separator, writer.vocabulary)
            writer.add(Piece(X, None if y is None else _labels(tags, X.offsets, writer), numbers))
        writer.finish()
    return open_pack(out)


def _packed(sentences: Any, n_features: int | None, separator: str, vocabulary: Vocabulary | None) -> PackedSequences:
    if vocabulary is None:
        found = features.pack(sentences, n_features, separator=separator)
        if found.vocabulary is not None:
            raise ValueError("sequences that are matrices are not packed to disk; give a dict per token.")
        return found
    offsets, indptr, indices, values = core.pack_growing(sentences, vocabulary._table, separator)
    return PackedSequences.unchecked(offsets, indptr, indices, values, max(1, len(vocabulary)))


def _batches(sequences: Any, y: Any, weights: Any, skip: int) -> Iterator[tuple[Any, list[Any], Any]]:
    """Sequences, labels and weights some at a time, without the first `skip`."""
    n = 0
    several = iter(sequences)
    labels = None if y is None else iter(y)
    numbers = None if weights is None else iter(weights)
    while True:
        if isinstance(sequences, PackedSequences):
            batch: Any = sequences.select(slice(n, n + _AT_ONCE))
        else:
            batch = list(itertools.islice(several, _AT_ONCE))
        tags = [] if labels is None else list(itertools.islice(labels, len(batch) or 1))
        shares = None if numbers is None else np.array(list(itertools.islice(numbers, len(batch) or 1)), dtype=float)
        for name, given, has in (("y", tags, labels), ("sample_weight", shares, numbers)):
            if has is not None and len(given) != len(batch):  # type: ignore[arg-type]
                more = "more" if len(given) > len(batch) else "fewer"  # type: ignore[arg-type]
                raise ValueError(f"{name} has {more} entries than there are sequences; every sequence needs one.")
        if not len(batch):
            return
        left = min(max(skip - n, 0), len(batch))
        n += len(batch)
        if left < len(batch):
            yield batch[left:], tags[left:], None if shares is None else shares[left:]


def _labels(tags: list[Any], offsets: np.ndarray, writer: PackWriter) -> np.ndarray:
    """int32[tokens]: the numbers of the labels of some sequences."""
    lengths = np.diff(offsets)
    given = [list(one) for one in tags]
    for i, (own, needed) in enumerate(zip(given, lengths.tolist(), strict=True)):
        if len(own) != needed:
            raise ValueError(f"A sequence has {needed} tokens and {len(own)} labels (the {i}th of its batch).")
    flat = [label.item() if isinstance(label, np.generic) else label for own in given for label in own]
    distinct: dict[Any, int] = {}
    try:
        places = np.fromiter(
            (distinct.setdefault((type(one), one), len(distinct)) for one in flat), np.int64, len(flat)
        )
    except TypeError:
        raise TypeError("a pack holds labels that are strings or numbers, not sets of them.") from None
    return writer.label_numbers([label for _, label in distinct])[places]
