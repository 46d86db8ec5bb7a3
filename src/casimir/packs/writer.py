"""Writing packs: sentences go in as they come, and a shard goes to disk whenever there is enough for one."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from casimir.features import HASH_VERSION, PackedSequences
from casimir.packs.manifest import FILE, Manifest, ShardEntry, read_manifest
from casimir.packs.manifest_checks import SHARD_FILE, VOCABULARY_FILE
from casimir.packs.shard_file import write_shard
from casimir.persistence import files
from casimir.vocabulary import Vocabulary

SHARD_BYTES, SHARD_TOKENS = 2**26, 2**19  # of the features of a shard, about, and its tokens
_OURS = re.compile(rf"{SHARD_FILE.pattern}|{VOCABULARY_FILE.pattern}|\.casimir-[0-9a-f]{{8}}\.tmp")


class Piece(NamedTuple):
    """Sentences that are packed: their features, numbers of labels (int32[tokens]) and weights (float64[n])."""

    X: PackedSequences
    labels: np.ndarray | None
    weights: np.ndarray | None


class PackWriter:
    """Makes or goes on with the pack in a folder, in a `with` block: until its end nobody else may write there.

    After every shard the manifest is written anew, and says that the pack is incomplete until `finish`. So what is
    there when a disk is full, or a process is killed, is a pack, and the same call goes on behind its last sentence.

    done         sentences that an earlier call, which was cut short, has written: the first ones of what is given now
    append       a complete pack that is there already gets more shards; else it is an error
    goes_on      a complete pack that is there already is that of an earlier call which was cut short, see `is_ahead`
    shard_bytes  a shard is written once its features take that much
    seed         of the order of sentences within a shard
    around       the pack that this one lies in, by which errors go; None: it is one of its own
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        wanted: Manifest,
        *,
        append: bool = False,
        goes_on: bool = False,
        shard_bytes: int = SHARD_BYTES,
        vocabulary: Vocabulary | None = None,
        seed: int = 0,
        around: Path | None = None,
    ) -> None:
        self.folder, self._shard_bytes, self._seed, self._around = Path(folder), shard_bytes, seed, around
        self._pieces: list[Piece] = []
        self._held = self._tokens = 0
        with ExitStack() as claim:
            if not (self.folder / FILE).exists():
                _make(self.folder)
            claim.enter_context(files.claimed(self.folder))
            self._begin(wanted, append, goes_on, vocabulary)
            self._claim = claim.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._claim.close()

    def _begin(self, wanted: Manifest, append: bool, goes_on: bool, vocabulary: Vocabulary | None) -> None:
        self.manifest = _begun(self.folder, wanted, append, goes_on)
        if self.manifest.complete:
            self.manifest = replace(self.manifest, before=self.manifest.n_sequences, source=wanted.source)
        self.vocabulary = vocabulary
        if self.manifest.vocabulary is not None:
            self.vocabulary = _known_names(self.folder, self.manifest)
        self.done = self.manifest.n_sequences - self.manifest.before
        self._labels = {_key(label): j for j, label in enumerate(self.manifest.labels or ())}
        self._names: list[Any] = list(self.manifest.labels or ())
        self._write_manifest(replace(self.manifest, complete=False))

    def label_numbers(self, labels: Sequence[Any]) -> np.ndarray:
        """int32[len]: the numbers of these distinct labels in the pack; new ones get the next numbers."""
        found = []
        for label in labels:
            if not isinstance(label, str | int | float | bool):
                raise TypeError(
                    f"{label!r} is a {type(label).__name__}; a pack holds labels that are strings or numbers."
                )
            number = self._labels.setdefault(_key(label), len(self._names))
            if number == len(self._names):
                self._names.append(label)
            found.append(number)
        return np.array(found, dtype=np.int32)

    def add(self, piece: Piece) -> None:
        """Take more sentences."""
        self._pieces.append(piece)
        self._held += piece.X.nbytes
        self._tokens += piece.X.n_tokens
        if self._held >= self._shard_bytes or self._tokens >= SHARD_TOKENS:
            self.flush()

    def flush(self) -> None:
        """Write what is held as a shard."""
        if not self._pieces:
            return
        X, labels, weights = _joined(self._pieces)
        self._pieces, self._held, self._tokens = [], 0, 0
        order = np.random.default_rng([self._seed, len(self.manifest.shards)]).permutation(len(X))
        self._write(_in_order(X, labels, weights, order))

    def add_shard(self, piece: Piece) -> None:
        """Write these sentences as a shard, in their order."""
        self.flush()
        self._write(piece)

    def _write(self, piece: Piece) -> None:
        (X, labels, weights), number = piece, len(self.manifest.shards)
        arrays = {"offsets": X.offsets, "indptr": X.indptr, "indices": X.indices}
        optional = {"values": X.values, "labels": labels, "weights": weights}
        arrays |= {name: array for name, array in optional.items() if array is not None}
        entry = self._shard(f"shard-{number:05d}", arrays, len(X), X.n_tokens, len(X.indices))
        self._write_manifest(replace(self._current(), shards=(*self.manifest.shards, entry)))

    def finish(self) -> None:
        """Write the last shard, and that the pack is complete."""
        self.flush()
        if not self.manifest.shards:
            raise ValueError("there are no sequences; at least one is needed.")
        self._write_manifest(replace(self._current(), complete=True))

    def _current(self) -> Manifest:
        """With the labels and the names of features so far."""
        found = self.manifest
        if found.labels is not None:
            found = replace(found, labels=tuple(self._names))
        if self.vocabulary is None or (found.vocabulary is not None and len(self.vocabulary) == found.n_features):
            return found
        text, offsets = self.vocabulary.to_arrays()
        names = self._shard("vocabulary", {"text": text, "offsets": offsets}, 0, 0, len(self.vocabulary))
        return replace(found, n_features=max(1, len(self.vocabulary)), vocabulary=names)

    def _shard(self, stem: str, arrays: Mapping[str, np.ndarray], n: int, tokens: int, features: int) -> ShardEntry:
        try:
            name, n_bytes, sha256 = write_shard(self.folder, stem, arrays)
        except OSError as error:
            raise self._failed(error) from error
        return ShardEntry(name, n_bytes, sha256, n, tokens, features)

    def _write_manifest(self, manifest: Manifest) -> None:
        old = self.manifest.vocabulary
        try:
            manifest.write(self.folder)
        except OSError as error:
            raise self._failed(error) from error
        self.manifest = manifest
        if old is not None and manifest.vocabulary != old:
            (self.folder / old.file).unlink(missing_ok=True)

    def _failed(self, error: OSError) -> OSError:
        held = self.manifest if self._around is None else read_manifest(self._around)
        is_limit = error.errno == errno.EFBIG
        return type(error)(
            error.errno,
            f"A shard could not be written to '{self.folder}' ({error.strerror or error}). The pack in "
            f"'{self._around or self.folder}' is marked incomplete and holds {held.n_sequences} sequences in "
            f"{len(held.shards)} shards. {'Raise the limit (ulimit -f)' if is_limit else 'Free some space'} and give "
            "the same command again: it goes on from there",
        )


def _key(label: Any) -> tuple[type, Any]:
    """1, 1.0 and True are different labels of a pack, as they are in JSON."""
    return type(label), label


def _make(folder: Path) -> None:
    """A folder that may be written to, and has nothing in it but what a killed process left behind."""
    if folder.exists() and not (folder.is_dir() and all(map(_is_ours, folder.iterdir()))):
        raise ValueError(f"'{folder}' is there already and is no pack. Give another folder for the pack.")
    folder.mkdir(parents=True, exist_ok=True)
    files.try_to_write(folder)


def _begun(folder: Path, wanted: Manifest, append: bool, goes_on: bool) -> Manifest:
    """The manifest to go on with: a new one, or that of the pack which is there."""
    if not (folder / FILE).exists():
        return wanted
    found = read_manifest(folder)
    if found.complete and goes_on:
        found = replace(found, complete=False)
    elif found.complete and not append:
        raise ValueError(f"'{folder}' holds a complete pack already. Give another folder, or append to it (--append).")
    check_alike(folder, found, wanted)
    if not found.complete and ((found.before > 0) != append or found.source != wanted.source):
        raise ValueError(
            f"'{folder}' holds a pack that was cut short{' as it grew' if found.before else ''}. Give the "
            "command that packed it again, with the same files, which goes on from there."
        )
    listed = {entry.file for entry in (*found.shards, *((found.vocabulary,) if found.vocabulary else ()))}
    for one in folder.iterdir():  # what a killed process left behind
        if _OURS.fullmatch(one.name) and one.name not in listed:
            one.unlink()
    return found


def _is_ours(file: Path) -> bool:
    return bool(_OURS.fullmatch(file.name)) or (file / FILE).exists()


def is_ahead(inner: Path, outer: Path) -> bool:
    """Whether a call that was cut short has finished the pack in `inner`, but not the one in `outer` around it."""
    if not (inner / FILE).exists():
        return False
    found, n_before = read_manifest(inner), 0
    if (outer / FILE).exists():
        of_outer = read_manifest(outer)
        n_before = of_outer.n_sequences if of_outer.complete else of_outer.before
    return found.complete and found.n_sequences > n_before


def check_alike(folder: Path, found: Manifest, wanted: Manifest) -> None:
    """Raise where a pack and what is to be added to it have different settings."""
    differs = difference(found, wanted)
    if differs is not None:
        raise ValueError(
            f"'{folder}' holds a pack that differs from what is asked for in {differs}. Give the same settings, or "
            "another folder."
        )


def difference(found: Manifest, wanted: Manifest) -> str | None:
    """What two packs differ in that has to be the same in all shards of a pack."""
    for name in sorted({*found.about, *wanted.about}):
        if found.about.get(name) != wanted.about.get(name):
            return f"the settings of its text ({name})"
    for name in ("hash_version", "separator", "weighted"):
        if getattr(found, name) != getattr(wanted, name):
            return f"{name} ({getattr(found, name)!r} and {getattr(wanted, name)!r})"
    if found.hash_version is not None and found.n_features != wanted.n_features:
        return f"the number of hash buckets ({found.n_features} and {wanted.n_features})"
    if (found.labels is None) != (wanted.labels is None):
        return "labels, which only one of them has"
    return None


def _known_names(folder: Path, manifest: Manifest) -> Vocabulary:
    from casimir.packs.pack import Pack

    found = Pack(folder, manifest, ()).vocabulary
    assert found is not None
    return found


def _joined(pieces: Sequence[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    parts = [piece.X for piece in pieces]
    values = None
    if any(X.values is not None for X in parts):
        values = np.concatenate([np.ones(len(X.indices)) if X.values is None else X.values for X in parts])
    arrays = _chained([X.offsets for X in parts]), _chained([X.indptr for X in parts])
    X = PackedSequences.unchecked(*arrays, np.concatenate([X.indices for X in parts]), values, parts[-1].n_features)
    labels = [piece.labels for piece in pieces if piece.labels is not None]
    weights = [piece.weights for piece in pieces if piece.weights is not None]
    return Piece(X, np.concatenate(labels) if labels else None, np.concatenate(weights) if weights else None)


def _chained(offsets: Sequence[np.ndarray]) -> np.ndarray:
    """Offsets of parts as those of all of them, one after another."""
    ends = np.cumsum([0, *(part[-1] for part in offsets)])
    return np.concatenate([[0], *(part[1:] + end for part, end in zip(offsets, ends, strict=False))]).astype(np.int64)


def _in_order(X: PackedSequences, labels: Any, weights: Any, order: np.ndarray) -> Piece:
    from casimir.scores import ragged_rows

    tokens = ragged_rows(X.offsets, order)[0] if labels is not None else None
    return Piece(
        X.select(order), None if labels is None else labels[tokens], None if weights is None else weights[order]
    )


def new_manifest(
    n_features: int | None,
    *,
    separator: str = "=",
    labelled: bool = True,
    weighted: bool = False,
    about: Any = None,
    source: Any = None,
) -> Manifest:
    """Of an empty pack; n_features None: an exact vocabulary."""
    return Manifest(
        n_features=n_features or 1,
        hash_version=None if n_features is None else HASH_VERSION,
        separator=separator,
        labels=() if labelled else None,
        weighted=weighted,
        about=about or {},
        source=source,
    )
