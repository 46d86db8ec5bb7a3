"""Token features -> flat arrays, once and in native code.

    {"word": "Paris"}   feature "word=Paris", weight 1        {"title": True}    feature "title", weight 1
    {"freq": 0.3}       feature "freq", weight 0.3            {"title": False}   no feature (nor does weight 0 make one)
    "word=Paris"        feature "word=Paris", weight 1        {"in": ["a", "b"]} features "in=a" and "in=b", weight 1
    {"next": {"a": 2}}  feature "next:a", weight 2            {"emb": vector}    features "emb:0", "emb:1", ...
    {"word": b"Paris"}  feature "word=Paris", weight 1

A feature's number is its bucket, floor(hash64(name) * n_features / 2^64), or its place in an exact vocabulary. The
features of a sentence that is a matrix are its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, SupportsIndex

import numpy as np

from casimir._arrays import frozen
from casimir._frames import check_no_frame
from casimir._matrices import is_matrix, pack_matrices
from casimir._native import core
from casimir.scores import ragged_rows
from casimir.vocabulary import Columns, Vocabulary

_ARRAYS = ("offsets", "indptr", "indices", "values")

DEFAULT_N_FEATURES = 2**18
HASH_VERSION: int = core.hash_version
"""Models record it: hashed features of another version fall into other buckets."""


@dataclass(frozen=True, eq=False, repr=False)
class PackedSequences:
    """Features of n token sequences, T tokens in all: token t has indices[indptr[t]:indptr[t + 1]], sorted.

    Sequence i owns the tokens offsets[i]:offsets[i + 1]. Indexing with a slice, a mask or an array of numbers gives the
    sequences chosen (a slice of neighbours shares memory); one number gives a batch of one.

    edges are features of pairs of neighbouring labels: sequences of the same lengths, in which a token has those of the
    pair that ends in it. What a first token has there counts for nothing.

    The arrays are read-only, as the core keeps pointers into them. The constructor checks its arrays, and copies those
    that someone could still write to. Those of the library are made by `PackedSequences.unchecked`, which does not.
    """

    offsets: np.ndarray  # int64[n + 1]
    indptr: np.ndarray  # int64[T + 1]
    indices: np.ndarray  # uint32[nnz]
    values: np.ndarray | None  # float64[nnz] or float32[nnz]; None: every weight is 1
    n_features: int
    vocabulary: Vocabulary | Columns | None = field(default=None)  # None: hashed
    edges: PackedSequences | None = field(default=None)  # None: pairs of labels have no features

    def __post_init__(self) -> None:
        _check_array("offsets", self.offsets, np.int64)
        _check_array("indptr", self.indptr, np.int64)
        _check_array("indices", self.indices, np.uint32)
        _check_ends("offsets", self.offsets, "tokens", len(self.indptr) - 1)
        _check_ends("indptr", self.indptr, "features", len(self.indices))
        if np.any(np.diff(self.offsets) < 1):
            raise ValueError("offsets must increase: every sequence needs at least one token.")
        if np.any(np.diff(self.indptr) < 0):
            raise ValueError("indptr must not decrease.")
        _check_n_features(self.n_features)
        if self.vocabulary is not None and self.n_features != max(1, len(self.vocabulary)):
            raise ValueError(f"n_features is {self.n_features}, but the vocabulary has {len(self.vocabulary)} names.")
        if len(self.indices) and int(self.indices.max()) >= self.n_features:
            raise ValueError(f"a feature index is {int(self.indices.max())}; it must be below {self.n_features}.")
        if self.values is not None:
            is_narrow = getattr(self.values, "dtype", None) == np.float32
            _check_array("values", self.values, np.float32 if is_narrow else np.float64)
            if len(self.values) != len(self.indices):
                raise ValueError(f"there are {len(self.values)} values for {len(self.indices)} indices.")
        if self.edges is not None:
            _check_edges(self.edges, self.offsets)
        for name in _ARRAYS:
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else frozen(given))

    @classmethod
    def unchecked(
        cls,
        offsets: np.ndarray,
        indptr: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray | None,
        n_features: int,
        vocabulary: Vocabulary | Columns | None = None,
        edges: PackedSequences | None = None,
    ) -> PackedSequences:
        """The same object without a look at its arrays: for code that made them itself and will not write to them."""
        made = object.__new__(cls)
        parts = (offsets, indptr, indices, values)
        for name, part in zip(_ARRAYS, parts, strict=True):
            if part is not None:
                part.setflags(write=False)
            object.__setattr__(made, name, part)
        object.__setattr__(made, "n_features", n_features)
        object.__setattr__(made, "vocabulary", vocabulary)
        object.__setattr__(made, "edges", edges)
        return made

    def with_edges(self, edges: PackedSequences | None) -> PackedSequences:
        """The same sequences with these features of pairs of neighbouring labels, or without any."""
        if edges is not None:
            _check_edges(edges, self.offsets)
        arrays = self.offsets, self.indptr, self.indices, self.values
        return PackedSequences.unchecked(*arrays, self.n_features, self.vocabulary, edges)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy or a pickle, whose arrays could be written to."""
        for name, part in state.items():
            object.__setattr__(self, name, frozen(part) if isinstance(part, np.ndarray) else part)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """(n,): lets scikit-learn count and split the sequences."""
        return (len(self),)

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def n_tokens(self) -> int:
        """Of all sequences together."""
        return len(self.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Of all arrays together."""
        arrays = (self.offsets, self.indptr, self.indices, self.values)
        return sum(a.nbytes for a in arrays if a is not None) + (0 if self.edges is None else self.edges.nbytes)

    def select(self, examples: Any) -> PackedSequences:
        """The sequences that a slice, a boolean mask or an array of numbers picks, in that order."""
        if isinstance(examples, slice):
            start, stop, step = examples.indices(len(self))
            if step == 1:
                return self._between(start, max(start, stop))
            return self._gather(np.arange(start, stop, step))
        return self._gather(_as_numbers(examples, len(self)))

    def __getitem__(self, key: Any) -> PackedSequences:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # scikit-learn writes X[key, ...]
            key = key[0]
        if isinstance(key, SupportsIndex) and not isinstance(key, np.ndarray):
            i = range(len(self))[key]
            return self._between(i, i + 1)
        return self.select(key)

    def __iter__(self) -> Iterator[PackedSequences]:
        return (self._between(i, i + 1) for i in range(len(self)))

    def _between(self, start: int, stop: int) -> PackedSequences:
        tokens = slice(self.offsets[start], self.offsets[stop])
        features = slice(self.indptr[tokens.start], self.indptr[tokens.stop])
        return PackedSequences.unchecked(
            self.offsets[start : stop + 1] - tokens.start,
            self.indptr[tokens.start : tokens.stop + 1] - features.start,
            self.indices[features],
            None if self.values is None else self.values[features],
            self.n_features,
            self.vocabulary,
            None if self.edges is None else self.edges._between(start, stop),
        )

    def _gather(self, examples: np.ndarray) -> PackedSequences:
        tokens, offsets = ragged_rows(self.offsets, examples)
        features, indptr = ragged_rows(self.indptr, tokens)
        values = None if self.values is None else self.values[features]
        found = offsets, indptr, self.indices[features], values
        edges = None if self.edges is None else self.edges._gather(examples)
        return PackedSequences.unchecked(*found, self.n_features, self.vocabulary, edges)

    def __repr__(self) -> str:
        kind = "hashed" if self.vocabulary is None else "columns" if isinstance(self.vocabulary, Columns) else "exact"
        return (
            f"PackedSequences({len(self)} sequences, {self.n_tokens} tokens, {len(self.indices)} features "
            f"of {self.n_features} {kind}, {self.nbytes / 2**20:.1f} MiB)"
        )


def pack(
    sequences: Iterable[Iterable[Any]] | PackedSequences,
    n_features: int | None = DEFAULT_N_FEATURES,
    *,
    vocabulary: Vocabulary | Columns | None = None,
    separator: str = "=",
) -> PackedSequences:
    """Token features in flat arrays, to be used in `fit` and `predict` as often as wanted.

    sequences: each is a list of tokens; a token is a dict {name: str | bool | number} or an iterable of strings. A
        value may be a vector or a dict again. Or each is a matrix, dense or sparse, with a row per token. They may come
        from a generator, which is read once
    n_features: hash buckets; None numbers every feature exactly (see `PackedSequences.vocabulary`). Columns of
        matrices have their numbers
    vocabulary: from the training data; its numbers are used, and features it does not hold are dropped
    separator: between the name and the value of a feature; CRFsuite's Python packages write ":"

    >>> X = pack([[{"word": "Paris", "title": True}, {"word": "sleeps"}]])
    >>> len(X), X.n_tokens, X.n_features
    (1, 2, 262144)
    """
    if n_features is not None:
        _check_n_features(n_features)
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary | Columns):
        raise TypeError(
            f"vocabulary must be a Vocabulary, such as X.vocabulary of pack(..., n_features=None); got a "
            f"{type(vocabulary).__name__}. For a list of names write Vocabulary(names)."
        )
    if isinstance(sequences, PackedSequences):
        return _as_packed(sequences, n_features, vocabulary)
    if not isinstance(sequences, list | tuple):
        check_no_frame(sequences)
        if isinstance(sequences, str | bytes | Mapping) or not isinstance(sequences, Iterable):
            raise TypeError(
                f"{type(sequences).__name__} is no list of sequences, each a list of tokens. For a single sequence "
                "write [sequence]."
            )
        iterator = iter(sequences)
        first = next(iterator, None)
        sequences = () if first is None else chain((first,), iterator)
    else:
        first = sequences[0] if sequences else None
    if hasattr(first, "shape") or isinstance(vocabulary, Columns):
        return _of_matrices(sequences, first, vocabulary)
    if vocabulary is not None:
        offsets, indptr, indices, values = core.pack_known(sequences, vocabulary._table, separator)
    elif n_features is not None:
        offsets, indptr, indices, values = core.pack_hashed(sequences, int(n_features), separator)
    else:
        vocabulary = Vocabulary()
        offsets, indptr, indices, values = core.pack_growing(sequences, vocabulary._table, separator)
    if len(offsets) == 1:
        raise ValueError("there are no sequences; at least one is needed.")
    if vocabulary is not None:
        n_features = max(1, len(vocabulary))
    assert n_features is not None
    return PackedSequences.unchecked(offsets, indptr, indices, values, int(n_features), vocabulary)


def pack_more(sequences: Iterable[Iterable[Any]], vocabulary: Vocabulary) -> PackedSequences:
    """As `pack`, with a copy of the vocabulary to which names that it does not hold are added."""
    grown = Vocabulary.from_arrays(*vocabulary.to_arrays())
    offsets, indptr, indices, values = core.pack_growing(sequences, grown._table)
    if len(offsets) == 1:
        raise ValueError("there are no sequences; at least one is needed.")
    return PackedSequences.unchecked(offsets, indptr, indices, values, max(1, len(grown)), grown)


def _of_matrices(sequences: Iterable[Any], first: Any, vocabulary: Vocabulary | Columns | None) -> PackedSequences:
    """Of sentences of which the first has a shape, or which are read by columns."""
    if not is_matrix(first):
        given = f"a {type(first).__name__}" + (f" of shape {list(first.shape)}" if hasattr(first, "shape") else "")
        raise ValueError(f"sequence 0 is {given}; it must be a matrix with a row per token.")
    if isinstance(vocabulary, Vocabulary):
        raise ValueError("the sequences are matrices, but features with names are asked for; give a dict per token.")
    arrays, n_columns = pack_matrices(sequences, None if vocabulary is None else len(vocabulary))
    return PackedSequences.unchecked(*arrays, n_columns, Columns(n_columns) if vocabulary is None else vocabulary)


def _as_packed(X: PackedSequences, n_features: int | None, vocabulary: Vocabulary | Columns | None) -> PackedSequences:
    if vocabulary is not None:
        if X.vocabulary is None or X.vocabulary != vocabulary:
            other = "hashed features" if X.vocabulary is None else "another vocabulary"
            raise ValueError(f"the sequences are packed with {other}; pack the tokens again with this vocabulary.")
    elif n_features is None:
        if X.vocabulary is None:
            raise ValueError(
                f"the sequences are packed into {X.n_features} hash buckets, but an exact vocabulary is asked for "
                "(n_features=None); pack the tokens again."
            )
    elif X.vocabulary is not None or X.n_features != n_features:
        packed = f"{X.n_features} hash buckets" if X.vocabulary is None else "an exact vocabulary"
        raise ValueError(
            f"the sequences are packed with {packed}, but n_features={n_features} is asked for; pack the tokens again."
        )
    return X


def _as_numbers(examples: Any, n: int) -> np.ndarray:
    """int64[m] in 0 .. n - 1 of a mask or of numbers, negative ones counted from the end."""
    chosen = np.asarray(examples)
    if chosen.ndim != 1:
        raise IndexError(f"sequences are chosen by a slice, a mask or a list of numbers; got shape {chosen.shape}.")
    if chosen.dtype == np.bool_:
        if len(chosen) != n:
            raise IndexError(f"the mask has {len(chosen)} entries for {n} sequences.")
        return np.flatnonzero(chosen)
    if len(chosen) == 0:
        return np.zeros(0, np.int64)
    if not np.issubdtype(chosen.dtype, np.integer):
        raise IndexError(f"sequences are chosen by whole numbers; got {chosen.dtype}.")
    if chosen.min() < -n or chosen.max() >= n:
        raise IndexError(f"sequence numbers must lie in {-n}..{n - 1}; got {chosen.min()}..{chosen.max()}.")
    return np.where(chosen < 0, chosen + n, chosen).astype(np.int64)


def _check_n_features(n_features: Any) -> None:
    if type(n_features) is not int and (
        isinstance(n_features, bool | np.bool_) or not isinstance(n_features, SupportsIndex)
    ):  # an int is looked at alone: a protocol costs microseconds
        raise TypeError(f"n_features must be a whole number or None; got {n_features!r}.")
    if not 1 <= int(n_features) < 2**32:
        raise ValueError(f"n_features must be at least 1 and below 2^32; got {n_features}. The default is 2^18.")


def _check_edges(edges: Any, offsets: np.ndarray) -> None:
    if not isinstance(edges, PackedSequences) or not np.array_equal(edges.offsets, offsets):
        raise ValueError(
            "edges must be packed sequences with as many tokens, sequence by sequence; a token has the features of the "
            "pair that ends in it."
        )


def _check_array(name: str, array: Any, dtype: Any) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
        given = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} must be a contiguous {np.dtype(dtype)} array of one dimension; got {given}.")


def _check_ends(name: str, array: np.ndarray, what: str, count: int) -> None:
    if len(array) == 0 or array[0] != 0 or array[-1] != count:
        ends = f"{array[0]}..{array[-1]}" if len(array) else "nothing"
        raise ValueError(f"{name} must run from 0 to the number of {what}, {count}; it runs {ends}.")
