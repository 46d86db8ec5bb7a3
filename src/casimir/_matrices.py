"""Sentences as matrices, a row per token and a column per feature -> the flat arrays of `pack`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from casimir._frames import is_frame, not_numbers
from casimir._validate import all_finite

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def is_matrix(sequence: Any) -> bool:
    """Whether a sentence is an array of two dimensions or a sparse matrix of SciPy."""
    return len(getattr(sequence, "shape", ())) == 2


def pack_matrices(sequences: Iterable[Any], n_columns: int | None = None) -> tuple[Arrays, int]:
    """((offsets, indptr, indices, values or None), columns) of sentences [p_i, columns]; zeros make no features.

    Values of float32 stay so, unless a sentence has others. n_columns: what is needed; None: what the first one has.
    """
    lengths, counts, indices, values = [0], [np.zeros(1, np.int64)], [], []
    for i, sequence in enumerate(sequences):
        if not is_matrix(sequence):
            raise TypeError(
                f"sequence {i} is a {type(sequence).__name__}; sequence 0 is a matrix, a row per token, so all must be."
            )
        n_columns = sequence.shape[1] if n_columns is None else n_columns
        _check_shape(sequence.shape, i, n_columns)
        row_counts, columns, entries = _entries(sequence, i)
        if not all_finite(entries):
            raise ValueError(f"sequence {i} has entries that are NaN or infinite; they must be finite.")
        lengths.append(len(row_counts))
        counts.append(row_counts)
        indices.append(columns)
        values.append(entries)
    if n_columns is None:
        raise ValueError("there are no sequences; at least one is needed.")
    flat = np.concatenate(values)
    offsets, indptr = np.cumsum(lengths, dtype=np.int64), np.cumsum(np.concatenate(counts), dtype=np.int64)
    return (offsets, indptr, np.concatenate(indices), None if (flat == 1.0).all() else flat), n_columns


def _entries(matrix: Any, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(entries of every row, their columns uint32, their values float32 or float64), columns in ascending order."""
    if hasattr(matrix, "tocsr"):
        rows = matrix.tocsr(copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return np.diff(rows.indptr).astype(np.int64), rows.indices.astype(np.uint32), _as_float(rows.data)
    array = np.asarray(matrix)
    if array.dtype.kind not in "fiub":
        if is_frame(matrix):
            raise not_numbers(i)
        raise TypeError(f"sequence {i} is a matrix of {array.dtype}; it must hold numbers.")
    places = array != 0
    return places.sum(axis=1, dtype=np.int64), np.nonzero(places)[1].astype(np.uint32), _as_float(array[places])


def _as_float(values: np.ndarray) -> np.ndarray:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _check_shape(shape: tuple[int, int], i: int, n_columns: int) -> None:
    if shape[0] < 1 or shape[1] < 1:
        raise ValueError(f"sequence {i} has shape {list(shape)}; it needs a row and a column at least.")
    if shape[1] != n_columns:
        raise ValueError(f"sequence {i} has {shape[1]} columns; {n_columns} are needed, as many in every sequence.")
