"""Packs on disk: sentences with their features and labels in shards that are mapped into memory, not read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from casimir._validate import all_finite
from casimir.features import HASH_VERSION, PackedSequences
from casimir.packs.manifest import Manifest, ShardEntry, read_manifest
from casimir.packs.shard_file import DamagedShard, ShardFile
from casimir.vocabulary import Vocabulary

_AT_ONCE = 2**16  # tokens


@dataclass(frozen=True, eq=False)
class Shard:
    """The sentences of one shard, mapped.

    X        their features
    labels   int32[tokens], numbers of the pack's labels, or None
    weights  float64[sentences], or None
    """

    file: ShardFile
    X: PackedSequences
    labels: np.ndarray | None
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False, repr=False)
class Pack:
    """A pack in a folder; `open_pack` makes it. `fit` takes it in the place of sentences and labels.

    chosen  the numbers of the shards, of all that the manifest lists
    """

    folder: Path
    manifest: Manifest
    chosen: tuple[int, ...]

    def __len__(self) -> int:
        return sum(entry.sequences for entry in self.entries)

    @property
    def shape(self) -> tuple[int]:
        """(n,)"""
        return (len(self),)

    @property
    def n_tokens(self) -> int:
        """Of all sentences together."""
        return sum(entry.tokens for entry in self.entries)

    @property
    def nbytes(self) -> int:
        """Of the files of all shards."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def n_features(self) -> int:
        """Hash buckets, or names in the vocabulary."""
        return self.manifest.n_features

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The distinct labels, in the order of their first appearance; None: without labels."""
        return self.manifest.labels

    @property
    def is_complete(self) -> bool:
        """Whether packing has come to its end."""
        return self.manifest.complete

    @property
    def entries(self) -> tuple[ShardEntry, ...]:
        """What the manifest says of the shards chosen."""
        return tuple(self.manifest.shards[k] for k in self.chosen)

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The names of the features; None where they are hashed."""
        entry = self.manifest.vocabulary
        if entry is None:
            return None
        arrays = self._open(entry).arrays
        try:
            if arrays["text"].dtype != np.uint8 or arrays["offsets"].dtype != np.int64:
                raise ValueError("numbers of another type")
            names = Vocabulary.from_arrays(arrays["text"], arrays["offsets"])
            if max(1, len(names)) != self.n_features:
                raise ValueError(f"{len(names)} names of {self.n_features}")
            return names
        except (KeyError, ValueError) as error:
            raise self._damaged(f"{entry.file} has no proper names ({_in_short(error)})") from None

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """The shards, each mapped and, once, checked to its last byte."""
        return tuple(self._shard(entry) for entry in self.entries)

    def select(self, shards: Iterable[int]) -> Pack:
        """The same pack with some of its shards only, by their places among these."""
        return replace(self, chosen=tuple(self.chosen[k] for k in shards))

    def check_content(self) -> None:
        """Raise unless every file is as it was written, to its last byte. One shard is mapped at a time."""
        for k in range(len(self.chosen)):
            _ = self.select([k]).shards
        _ = self.vocabulary

    def check_unchanged(self, number: int | None = None) -> None:
        """Raise where a shard that was opened is no longer what it was; number: of one shard, None: any of them."""
        opened = self.__dict__.get("shards", ())
        for shard in opened if number is None else opened[number : number + 1]:
            try:
                shard.file.check_unchanged()
            except DamagedShard as error:
                raise self._damaged(error) from None

    def _shard(self, entry: ShardEntry) -> Shard:
        file = self._open(entry)
        try:
            arrays = file.arrays
            features = PackedSequences.unchecked(
                arrays["offsets"], arrays["indptr"], arrays["indices"], arrays.get("values"), self.n_features
            )
            found = Shard(file, features, arrays.get("labels"), arrays.get("weights"))
            _check_sizes(found, entry, self.manifest)
            return found
        except (KeyError, ValueError) as error:
            raise self._damaged(f"{entry.file} has no proper arrays ({_in_short(error)})") from None

    def _open(self, entry: ShardEntry) -> ShardFile:
        try:
            file = ShardFile.open(self.folder / entry.file, entry.bytes, entry.sha256)
            file.check_content(entry.sha256)
        except DamagedShard as error:
            raise self._damaged(error) from None
        return file

    def _damaged(self, what: object) -> ValueError:
        return ValueError(f"The pack '{self.folder}' cannot be used: {what}. Pack again, or restore the file.")

    def __repr__(self) -> str:
        kind = "exact" if self.manifest.vocabulary is not None else "hashed"
        state = "" if self.is_complete else ", incomplete"
        return (
            f"Pack({str(self.folder)!r}: {len(self)} sequences, {self.n_tokens} tokens in {len(self.chosen)} shards, "
            f"{self.n_features} {kind} features, {self.nbytes / 2**20:.1f} MiB{state})"
        )


def open_pack(path: str | os.PathLike[str]) -> Pack:
    """The pack in a folder that `pack(..., out=DIR)` or `casimir pack` wrote. Its shards are mapped when they are used.

    >>> import tempfile
    >>> from casimir import pack
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = pack([[{"word": "Paris"}]], y=[["LOC"]], out=folder)
    ...     len(open_pack(folder)), made.labels
    (1, ('LOC',))
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest.hash_version not in (None, HASH_VERSION):
        raise ValueError(
            f"'{folder}' was packed with version {manifest.hash_version} of the hash of features; this casimir has "
            f"version {HASH_VERSION}. Pack again."
        )
    return Pack(folder, manifest, tuple(range(len(manifest.shards))))


def _check_sizes(shard: Shard, entry: ShardEntry, manifest: Manifest) -> None:
    """The core reads what offsets and numbers say, so they have to be right; a checksum cannot tell who wrote them."""
    X, labels, weights = shard.X, shard.labels, shard.weights
    PackedSequences(X.offsets, X.indptr, X.indices, X.values, X.n_features)
    _check_features(X)
    if (len(X), X.n_tokens) != (entry.sequences, entry.tokens):
        raise ValueError(f"{len(X)} sequences of {X.n_tokens} tokens")
    if (labels is None) != (manifest.labels is None) or (weights is None) == manifest.weighted:
        raise ValueError("labels or weights")
    if labels is not None and (labels.dtype != np.int32 or len(labels) != X.n_tokens):
        raise ValueError("labels")
    if labels is not None and len(labels) and not 0 <= labels.min() <= labels.max() < len(manifest.labels or ()):
        raise ValueError("labels")
    if weights is not None and (weights.dtype != np.float64 or len(weights) != len(X)):
        raise ValueError("weights")
    if weights is not None and not (all_finite(weights) and weights.min() >= 0.0):
        raise ValueError("weights that are negative or not finite")


def _check_features(X: PackedSequences) -> None:
    """Finite values, and the indices of every token sorted. Looks at some tokens at a time."""
    if X.values is not None and not all_finite(X.values):
        raise ValueError("values that are not finite")
    for first in range(0, X.n_tokens, _AT_ONCE):
        ends = X.indptr[first : first + _AT_ONCE + 1]
        own = X.indices[ends[0] : ends[-1]]
        falls = np.flatnonzero(own[1:] < own[:-1]) + ends[0] + 1
        if not np.array_equal(ends[np.searchsorted(ends, falls)], falls):
            raise ValueError("indices that are not sorted")


def _in_short(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
