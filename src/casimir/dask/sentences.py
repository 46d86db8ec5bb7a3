"""Labelled sentences in shards: from lists, packs, futures and bags, and what workers make of them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future
from distributed.system import MEMORY_LIMIT

from casimir._outputs import Outputs
from casimir._validate import positive_int, weights_of
from casimir.dask.optimize import OfClient, origin_of
from casimir.dask.pieces import Held, Piece, nbytes_of
from casimir.dask.vectors import narrowed
from casimir.estimators.compact import UsedFeatures, seen_in
from casimir.estimators.labels import Label, LabelSequences
from casimir.features import PackedSequences, pack
from casimir.losses import Loss
from casimir.models.linear import LinearChainModel
from casimir.structures.chain import Chain
from casimir.vocabulary import Columns, Vocabulary

SHARDS = 16  # where nobody says how many, unless there are more threads than that
_IN_MEMORY = 3  # bytes that training takes for a byte of a pack


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a shard.

    X        their features, without a vocabulary
    distinct the labels that occur
    numbers  uint8, uint16 or uint32 [tokens]: their places in `distinct`
    weights  float64[n], or None
    """

    X: PackedSequences
    distinct: tuple[Label, ...]
    numbers: np.ndarray
    weights: np.ndarray | None

    def __sizeof__(self) -> int:
        return nbytes_of(self)


@dataclass(frozen=True)
class Look:
    """What the client is told of a shard before it is numbered: its labels, and the features that it has, as bits."""

    n: int
    n_features: int
    distinct: tuple[Label, ...]
    used: np.ndarray
    weight: float


@dataclass(frozen=True, eq=False)
class Spread:
    """Shards as training takes them.

    origins     what makes a future of the `Sentences` of each
    vocabulary  of their features; None: hashed
    whole       all of them at the client, shard by shard, where it has them or can read them; else None
    is_large    whether these would take more than half of the client's memory
    unchanged   raises where files have changed since
    """

    origins: Sequence[Callable[[Sequence[str]], Future]]
    vocabulary: Vocabulary | Columns | None
    whole: Callable[[], Sequence[Sentences]] | None
    is_large: bool = False
    unchanged: Callable[[], object] = lambda: None


def spread(client: Client, X: Any, y: Any, sample_weight: Any, n_features: int | None, shards: int | None) -> Spread:
    """What `SequenceTagger.fit` was given, as shards."""
    if hasattr(X, "shards") and hasattr(X, "manifest"):
        _alone(y, sample_weight, "a pack, which has its labels and weights with it")
        return _of_pack(client, X)
    if hasattr(X, "to_delayed"):
        _alone(y, sample_weight, "a bag of (tokens, labels)")
        return _of_futures(client, [client.compute(part) for part in X.to_delayed()], n_features, "a bag")
    if isinstance(X, list | tuple) and X and all(isinstance(one, Future) for one in X):
        _alone(y, sample_weight, "futures of shards, each of which is (X, y) or (X, y, sample_weight)")
        return _of_futures(client, list(X), n_features, "futures")
    if y is None:
        raise ValueError("y is None; labels are left out only where X is a pack, a bag or a list of futures.")
    return _of_lists(client, X, y, sample_weight, n_features, shards)


def _alone(y: Any, sample_weight: Any, what: str) -> None:
    if y is not None or sample_weight is not None:
        raise ValueError(f"X is {what}; leave y and sample_weight out.")


def _of_lists(client: Client, X: Any, y: Any, sample_weight: Any, n_features: int | None, shards: int | None) -> Spread:
    packed = X if isinstance(X, PackedSequences) else pack(X, n_features)
    labels = LabelSequences.of(y, packed.offsets)
    _check_labels(labels)
    weights = None if sample_weight is None else weights_of(sample_weight, len(packed))
    threads = sum(one["nthreads"] for one in client.scheduler_info(n_workers=-1)["workers"].values())
    count = min(max(SHARDS, threads) if shards is None else positive_int(shards, "shards"), len(packed))
    cuts = np.searchsorted(packed.offsets, np.linspace(0, packed.n_tokens, count + 1))
    cuts = np.maximum.accumulate(np.maximum(cuts, np.arange(count + 1)))  # a shard has a sentence at the least,
    cuts = np.minimum(cuts, len(packed) - np.arange(count, -1, -1))  # as have those after it
    cuts[0], cuts[-1] = 0, len(packed)
    numbers, distinct = narrowed(labels.numbers), tuple(labels.distinct)
    parts = [
        Sentences(
            _without_names(packed[a:b]),
            distinct,
            numbers[packed.offsets[a] : packed.offsets[b]],
            None if weights is None else weights[a:b],
        )
        for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    ]
    return Spread([OfClient(client, part) for part in parts], packed.vocabulary, lambda: parts)


def _of_pack(client: Client, given: Any) -> Spread:
    if given.labels is None:
        raise ValueError(f"The pack '{given.folder}' has no labels. Give y when packing.")
    if not given.is_complete:
        raise ValueError(f"The pack '{given.folder}' is incomplete; give the command that packed it again.")
    numbers = range(len(given.entries))
    origins = [_OfPack(client, given.select([k])) for k in numbers]
    is_large = 2 * _IN_MEMORY * given.nbytes > MEMORY_LIMIT

    def whole() -> list[Sentences]:
        return [read_shard(one.pack) for one in origins]

    return Spread(origins, given.vocabulary, whole, is_large, given.check_unchanged)


@dataclass(frozen=True, eq=False)
class _OfPack:
    """A shard on storage that all workers see."""

    client: Client
    pack: Any

    def __call__(self, home: Sequence[str]) -> Future:
        return self.client.submit(read_shard, self.pack, workers=home, allow_other_workers=True, pure=False)


def _of_futures(client: Client, futures: Sequence[Future], n_features: int | None, what: str) -> Spread:
    if n_features is None:
        raise ValueError(
            f"n_features=None numbers every feature, and no machine sees all of {what}. Give a number of hash buckets, "
            "or pack the sentences first: cs.pack(..., n_features=None, out=DIR)."
        )
    made = [
        client.submit(pack_shard, one, n_features, key=f"casimir-pack-{one.key}-{n_features}", pure=False)
        for one in futures
    ]
    return Spread([origin_of(client, one) for one in made], None, None)


# --- on workers


def read_shard(given: Any) -> Sentences:
    """The one shard of a pack, mapped."""
    (shard,) = given.shards
    return Sentences(_without_names(shard.X), tuple(given.labels), shard.labels, shard.weights)


def pack_shard(given: Any, n_features: int) -> Sentences:
    """(X, y), (X, y, sample_weight), or a list of (tokens, labels)."""
    sample_weight = None
    if isinstance(given, tuple) and len(given) in (2, 3):
        X, y, sample_weight = (*given, None)[:3]
    else:
        pairs = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
        if not pairs:
            raise ValueError("A partition of the bag is empty; call bag.repartition, or leave the empty ones out.")
        for one in pairs:
            if not isinstance(one, tuple | list) or len(one) != 2:
                raise TypeError(
                    f"A shard has {reprlib.repr(one)}; it must be (X, y), (X, y, sample_weight), or a list of (tokens, "
                    "labels)."
                )
        X, y = [tokens for tokens, _ in pairs], [labels for _, labels in pairs]
    packed = pack(X, n_features)
    labels = LabelSequences.of(y, packed.offsets)
    _check_labels(labels)
    weights = None if sample_weight is None else weights_of(sample_weight, len(packed))
    return Sentences(packed, tuple(labels.distinct), narrowed(labels.numbers), weights)


def look(sentences: Sentences) -> Look:
    """Labels and features, before they get their numbers."""
    X, weights = sentences.X, sentences.weights
    used = np.packbits(seen_in(X))
    weight = float(len(X) if weights is None else weights.sum())
    return Look(len(X), X.n_features, tuple(sentences.distinct), used, weight)


def hold_sentences(sentences: Sentences, features: UsedFeatures, classes: tuple[Label, ...], loss: Loss) -> Held:
    """The shard with the numbers that all shards share."""
    held = Held(piece_of(sentences, features, classes), loss, 1)
    assert held.objective is not None
    return held


def piece_of(sentences: Sentences, features: UsedFeatures, classes: tuple[Label, ...]) -> Piece:
    """Examples of an objective: chains over the features in use."""
    X = features.numbered(sentences.X)
    place = {label: j for j, label in enumerate(classes)}
    table = np.array([place[label] for label in sentences.distinct], dtype=np.int64)
    y = Outputs(table[sentences.numbers], X.offsets)
    return Piece(LinearChainModel(X, len(classes)), Chain(len(classes)), y, sentences.weights)


def _check_labels(labels: LabelSequences) -> None:
    if labels.is_partial:
        raise ValueError("Some labels are None or sets; training by many workers needs one label for every token.")
    labels.classes()


def _without_names(X: PackedSequences) -> PackedSequences:
    """Names stay at the client."""
    return PackedSequences.unchecked(X.offsets, X.indptr, X.indices, X.values, X.n_features)
