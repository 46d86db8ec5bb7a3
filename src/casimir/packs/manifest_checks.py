"""What `pack.json` may say: a digest tells damage, not who wrote it, so every entry is looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

SHARD_FILE = re.compile(r"shard-\d{5,}-[0-9a-f]{16}\.bin")
VOCABULARY_FILE = re.compile(r"vocabulary-[0-9a-f]{16}\.bin")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST = 2**32  # features, as the core counts them
_MOST_OF_ANYTHING = 2**48  # bytes of a file, and what may lie in one; as many sequences in all
_KINDS: Mapping[str, tuple[type, ...]] = {
    "separator": (str,),
    "weighted": (bool,),
    "complete": (bool,),
    "about": (dict,),
    "library_version": (str,),
}


def check_manifest(given: Mapping[str, Any]) -> None:
    """A ValueError with the name of an entry that is missing, of another type, or cannot be."""
    for name, kinds in _KINDS.items():
        if type(given.get(name)) not in kinds:
            raise ValueError(name)
    if not _is_count(given.get("n_features"), 1) or given["n_features"] >= _MOST:
        raise ValueError("n_features")
    _check_labels(given["labels"])
    shards, names = given["shards"], given["vocabulary"]
    if not isinstance(shards, list):
        raise ValueError("shards")
    for entry in shards:
        _check_entry(entry, SHARD_FILE, "shards", 1)
    if len({entry["file"] for entry in shards}) < len(shards):
        raise ValueError("shards")
    if names is not None:
        _check_entry(names, VOCABULARY_FILE, "vocabulary", 0)
    if given["hash_version"] is None:  # an exact vocabulary comes with the first shard
        if names is None and shards:
            raise ValueError("vocabulary")
    elif type(given["hash_version"]) is not int or names is not None:
        raise ValueError("hash_version")
    n_sequences = sum(entry["sequences"] for entry in shards)
    if n_sequences > _MOST_OF_ANYTHING:
        raise ValueError("shards")
    if not _is_count(given["before"], 0) or given["before"] > n_sequences or (given["complete"] and not shards):
        raise ValueError("before" if shards else "shards")


def _check_labels(labels: Any) -> None:
    """Strings and finite numbers, of which none comes twice; 1, 1.0 and true are three."""
    if labels is None:
        return
    if not isinstance(labels, list) or not all(isinstance(one, str | int | float) for one in labels):
        raise ValueError("labels")
    if any(isinstance(one, float) and not math.isfinite(one) for one in labels):
        raise ValueError("labels")
    if len({(type(one), one) for one in labels}) < len(labels):
        raise ValueError("labels")


def _check_entry(entry: Any, file: re.Pattern[str], what: str, least: int) -> None:
    """Of a file in the folder itself, whose name comes from what it holds."""
    if not isinstance(entry, dict):
        raise ValueError(what)
    name, sha256 = entry.get("file"), entry.get("sha256")
    if not isinstance(name, str) or not isinstance(sha256, str):
        raise ValueError(what)
    if not file.fullmatch(name) or not _DIGEST.fullmatch(sha256) or sha256[:16] not in name:
        raise ValueError(what)
    counts: Sequence[tuple[str, int]] = (("bytes", 1), ("sequences", least), ("tokens", least), ("features", 0))
    if not all(_is_count(entry.get(key), lowest) for key, lowest in counts):
        raise ValueError(what)


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= _MOST_OF_ANYTHING
