"""`pack.json`: what a pack holds, its shards and their checksums, and a digest over all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from casimir import __version__
from casimir.packs.manifest_checks import check_manifest
from casimir.persistence import files
from casimir.persistence.seal import fault_of, sealed, unread

FORMAT, VERSION, FILE = "casimir-pack", 1, "pack.json"


@dataclass(frozen=True)
class ShardEntry:
    """A shard: its file, the bytes of it, the digest of its arrays, and how much it holds."""

    file: str
    bytes: int
    sha256: str
    sequences: int
    tokens: int
    features: int


@dataclass(frozen=True)
class Manifest:
    """n_features    hash buckets, or names of the vocabulary
    hash_version  of hashed features; None where a vocabulary numbers them
    separator     between the name and the value of a feature
    labels        in the order in which they were first seen; the shards hold their numbers. None: without labels
    weighted      whether sequences have weights
    complete      False while packing has not come to the end of what it was given
    before        sequences that were there when the packing that came last began
    source        what that packing was given, where it can tell; the one that goes on must be given the same
    about         how the features were made from text, and whatever else a task wants to know; {} of token features
    vocabulary    the file of the names of features, as a shard; None: hashed
    """

    n_features: int
    hash_version: int | None
    separator: str = "="
    labels: tuple[Any, ...] | None = None
    weighted: bool = False
    complete: bool = False
    before: int = 0
    source: Any = None
    about: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: ShardEntry | None = None
    shards: tuple[ShardEntry, ...] = ()
    library_version: str = __version__

    @property
    def n_sequences(self) -> int:
        return sum(shard.sequences for shard in self.shards)

    @property
    def n_tokens(self) -> int:
        return sum(shard.tokens for shard in self.shards)

    @property
    def n_bytes(self) -> int:
        """Of all shards."""
        return sum(shard.bytes for shard in self.shards)

    def write(self, folder: Path) -> None:
        """Put it into the folder, in one step."""
        files.replace(folder / FILE, sealed({"format": FORMAT, "format_version": VERSION, **asdict(self)}))


def read_manifest(folder: Path) -> Manifest:
    """The manifest in a folder; a ValueError where there is none that can be trusted."""
    try:
        data = files.read_regular(folder / FILE)
    except OSError as error:
        raise ValueError(
            f"'{folder}' is no pack: {FILE} cannot be read ({error.strerror}). Make one with casimir pack FILE... "
            "--out DIR, or cs.pack(..., out=DIR)."
        ) from None
    try:
        given = unread(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"is not valid JSON: {error}") from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise ValueError(f"'{folder}' is no pack: its {FILE} is of something else.")
    if given.get("format_version") != VERSION:
        raise ValueError(
            f"'{folder}' has pack format {given.get('format_version')!r}, written by casimir "
            f"{given.get('library_version')}; casimir {__version__} reads format {VERSION}. Upgrade casimir, or pack "
            "again."
        )
    fault = fault_of(data)
    if fault is not None:
        raise _damaged(folder, fault)
    del given["format"], given["format_version"], given["digest"]
    try:
        check_manifest(given)
        shards = tuple(ShardEntry(**one) for one in given.pop("shards"))
        names, labels = given.pop("vocabulary"), given.pop("labels")
        vocabulary = None if names is None else ShardEntry(**names)
        return Manifest(shards=shards, vocabulary=vocabulary, labels=None if labels is None else tuple(labels), **given)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(folder, f"has no proper {error}") from None


def _damaged(folder: Path, what: str) -> ValueError:
    return ValueError(f"The pack '{folder}' is damaged: {FILE} {what}. Pack again.")
