"""Several packs as one: shard after shard, with the numbers of labels and features that the new pack gives them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from casimir.features import PackedSequences
from casimir.packs.pack import Pack, Shard, open_pack
from casimir.packs.writer import PackWriter, Piece, difference
from casimir.vocabulary import Vocabulary


def merge(packs: Iterable[Pack | str | os.PathLike[str]], out: str | os.PathLike[str], *, append: bool = False) -> Pack:
    """A new pack in the folder `out` with the shards of several, in their order; each stays a shard.

    packs: made with the same settings: hash buckets or exact names, separator, labels or none, weights or none
    append: add to the pack that is there

    A call that was cut short leaves a pack that is marked incomplete; the same call goes on behind its last shard.

    >>> import tempfile
    >>> from casimir import pack
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one = pack([[{"word": "Paris"}]], y=[["LOC"]], out=f"{folder}/one")
    ...     other = pack([[{"word": "sleeps"}]], y=[["O"]], out=f"{folder}/other")
    ...     both = merge([one, other], f"{folder}/both")
    ...     len(both), both.labels
    (2, ('LOC', 'O'))
    """
    opened = [one if isinstance(one, Pack) else open_pack(one) for one in packs]
    check_mergeable(opened, out)
    first = opened[0].manifest
    wanted = replace(
        first,
        labels=None if first.labels is None else (),
        vocabulary=None,
        shards=(),
        complete=False,
        before=0,
        source=[entry.sha256 for one in opened for entry in one.entries],
    )
    growing = None if first.vocabulary is None else Vocabulary()
    with PackWriter(out, wanted, append=append, vocabulary=growing) as writer:
        skip = writer.done
        for one in opened:
            numbers = _Numbers(one, writer)
            for k in range(len(one.chosen)):
                shard = one.select([k])  # mapped for as long as it is copied
                skip -= len(shard)
                if skip < 0:
                    writer.add_shard(numbers.of(shard.shards[0]))
        writer.finish()
    return open_pack(out)


def check_mergeable(packs: Sequence[Pack], out: str | os.PathLike[str]) -> None:
    """Raise unless all are complete, fit together, and lie elsewhere."""
    if not packs:
        raise ValueError("merge needs at least one pack.")
    first = packs[0]
    for one in packs:
        if not one.is_complete:
            raise ValueError(
                f"The pack '{one.folder}' is incomplete. Give the command that packed it again, then merge."
            )
        if one.folder.resolve() == Path(out).resolve():
            raise ValueError(f"'{out}' cannot be merged into itself. Give append=True and the other packs.")
        differs = difference(first.manifest, one.manifest)
        if differs is not None:
            raise ValueError(
                f"'{first.folder}' and '{one.folder}' cannot be merged: they differ in {differs}. Pack the text of one "
                "with the settings of the other; `casimir pack --like` takes what it has learnt about words as well."
            )


class _Numbers:
    """What the labels and features of a pack are numbered in the one that it goes into."""

    def __init__(self, pack: Pack, writer: PackWriter) -> None:
        self._labels = None if pack.labels is None else writer.label_numbers(pack.labels)
        self._features: np.ndarray | None = None
        if pack.vocabulary is not None:
            assert writer.vocabulary is not None
            intern = writer.vocabulary._table.intern
            self._features = np.fromiter(map(intern, pack.vocabulary), np.uint32, len(pack.vocabulary))
        self._vocabulary = writer.vocabulary

    def of(self, shard: Shard) -> Piece:
        X, labels = shard.X, shard.labels
        if self._features is not None and self._vocabulary is not None:
            X = _renumbered(X, self._features, max(1, len(self._vocabulary)))
        if labels is not None and self._labels is not None:
            labels = self._labels[labels]
        return Piece(X, labels, shard.weights)


def _renumbered(X: PackedSequences, numbers: np.ndarray, n_features: int) -> PackedSequences:
    """The features by other numbers, which are sorted again within every token."""
    indices, tokens = numbers[X.indices], np.repeat(np.arange(X.n_tokens), np.diff(X.indptr))
    order = np.lexsort((indices, tokens))
    values = None if X.values is None else X.values[order]
    return PackedSequences.unchecked(X.offsets, X.indptr, indices[order], values, n_features)
