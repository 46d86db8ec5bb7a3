"""Weights and vocabularies as named arrays of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from casimir._limits import check_matrix
from casimir._validate import all_finite
from casimir.scores import FloatArray, IntArray
from casimir.vocabulary import Columns, Vocabulary


def encode_rows(name: str, matrix: FloatArray) -> dict[str, np.ndarray]:
    """Arrays that hold matrix float64[rows, columns]: all of it, its non-zero rows or its non-zero entries.

    Whichever is smallest. Hashed features leave most rows of a model at zero, L1 penalties most entries.
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} has shape {list(matrix.shape)}; it must be [rows, columns].")
    used, places = np.flatnonzero(np.any(matrix != 0.0, axis=1)), np.flatnonzero(matrix)
    row_bytes, place = matrix.itemsize * matrix.shape[1], np.min_scalar_type(max(matrix.size - 1, 2**16))
    of_all, of_rows = len(matrix) * row_bytes, len(used) * (row_bytes + used.itemsize)
    of_entries = len(places) * (matrix.itemsize + place.itemsize)
    if of_all <= min(of_rows, of_entries):
        return {name: np.ascontiguousarray(matrix)}
    found = {f"{name}.shape": np.array(matrix.shape, np.int64)}
    if of_rows <= of_entries:
        return found | {f"{name}.used": used.astype(np.int64), f"{name}.rows": matrix[used]}
    return found | {f"{name}.places": places.astype(place), f"{name}.entries": matrix.ravel()[places]}


def shape_of_rows(name: str, arrays: Mapping[str, np.ndarray]) -> tuple[int, int]:
    """(rows, columns) of the matrix that `encode_rows` was given, before it is made."""
    if name in arrays:
        rows, columns = _needed(name, arrays, 2).shape
        return rows, columns
    shape = _needed(f"{name}.shape", arrays, 1)
    if shape.dtype != np.int64 or len(shape) != 2 or shape.min() < 0:
        raise ValueError(f"the model file has {name!r} in the shape {shape.tolist()}; it is damaged.")
    return int(shape[0]), int(shape[1])


def decode_rows(name: str, arrays: Mapping[str, np.ndarray]) -> FloatArray:
    """The matrix that `encode_rows` was given: float64, finite, and not larger than its arrays make plausible."""
    if name in arrays:
        return _numbers(name, _needed(name, arrays, 2))
    n_rows, n_columns = shape_of_rows(name, arrays)
    check_matrix(8 * n_rows * n_columns, _held(name, arrays), repr(name))
    found = decode_used_rows(name, arrays)
    matrix = np.zeros((found.n_rows, found.rows.shape[1]))
    matrix[found.used] = found.rows
    return matrix


class UsedRows(NamedTuple):
    """Row used[j] of a matrix of n_rows is rows[j]; the others are 0. int64[m], increasing, and float64[m, columns]."""

    n_rows: int
    used: IntArray
    rows: FloatArray


def decode_used_rows(name: str, arrays: Mapping[str, np.ndarray]) -> UsedRows:
    """What `decode_rows` gives, without the rows that are 0; any row may take four bytes, be it 0 or not."""
    if name in arrays:
        matrix = _numbers(name, _needed(name, arrays, 2))
        used = np.flatnonzero(matrix.any(axis=1))
        return UsedRows(len(matrix), used, matrix if len(used) == len(matrix) else matrix[used])
    n_rows, n_columns = shape_of_rows(name, arrays)
    check_matrix(4 * n_rows, _held(name, arrays), f"the rows of {name!r}")
    how = _of_entries if f"{name}.places" in arrays else _of_rows
    return UsedRows(n_rows, *how(name, arrays, n_rows, n_columns))


def _of_rows(name: str, arrays: Mapping[str, np.ndarray], n_rows: int, n_columns: int) -> tuple[IntArray, FloatArray]:
    used, rows = _needed(f"{name}.used", arrays, 1), _numbers(f"{name}.rows", _needed(f"{name}.rows", arrays, 2))
    if used.dtype != np.int64:
        raise ValueError(f"the model file has rows of {name!r} counted in {used.dtype}; it is damaged.")
    if rows.shape != (len(used), n_columns):
        raise ValueError(
            f"the model file has {len(used)} rows of {name!r} in an array {list(rows.shape)}; it is damaged."
        )
    _check_places(used, n_rows, f"rows of {name!r}")
    return used, rows


def _of_entries(
    name: str, arrays: Mapping[str, np.ndarray], n_rows: int, n_columns: int
) -> tuple[IntArray, FloatArray]:
    places = _needed(f"{name}.places", arrays, 1)
    entries = _numbers(f"{name}.entries", _needed(f"{name}.entries", arrays, 1))
    if places.dtype.kind != "u" or len(places) != len(entries):
        raise ValueError(
            f"the model file has {len(entries)} entries of {name!r} in {len(places)} places; it is damaged."
        )
    _check_places(places, n_rows * n_columns, f"entries of {name!r}")
    row, column = np.divmod(places.astype(np.int64), n_columns)
    is_first = np.diff(row, prepend=-1) != 0
    used = row[is_first]
    check_matrix(8 * len(used) * n_columns, _held(name, arrays), repr(name))
    rows = np.zeros((len(used), n_columns))
    rows[np.cumsum(is_first) - 1, column] = entries
    return used, rows


def _held(name: str, arrays: Mapping[str, np.ndarray]) -> int:
    """The bytes of the arrays that describe a matrix."""
    return sum(array.nbytes for key, array in arrays.items() if key.startswith(f"{name}."))


def _check_places(places: np.ndarray, count: int, what: str) -> None:
    if len(places) and (int(places.min()) < 0 or int(places.max()) >= count):
        raise ValueError(f"the model file has {what} outside of 0..{count - 1}; it is damaged.")
    if np.any(places[1:] <= places[:-1]):
        raise ValueError(f"the model file has {what} that are not sorted, or come twice; it is damaged.")


def _numbers(name: str, array: np.ndarray) -> FloatArray:
    """The array, which must be of finite float64."""
    if array.dtype != np.float64:
        raise ValueError(f"the model file has {name!r} as {array.dtype}; it needs float64.")
    if not all_finite(array):
        raise ValueError(f"the model file has entries of {name!r} that are NaN or infinite; it is damaged.")
    return array


def encode_vocabulary(name: str, vocabulary: Vocabulary | Columns) -> dict[str, np.ndarray]:
    """All names as one UTF-8 text, and where each begins; of columns their number."""
    if isinstance(vocabulary, Columns):
        return {f"{name}.columns": np.array([len(vocabulary)], np.int64)}
    text, offsets = vocabulary.to_arrays()
    return {f"{name}.text": text, f"{name}.offsets": offsets}


def decode_vocabulary(name: str, arrays: Mapping[str, np.ndarray]) -> Vocabulary | Columns | None:
    """The vocabulary that `encode_vocabulary` was given; None when there is none."""
    if f"{name}.columns" in arrays:
        columns = _needed(f"{name}.columns", arrays, 1)
        if columns.dtype != np.int64 or len(columns) != 1 or not 0 < columns[0] < 2**32:
            raise ValueError(f"the model file has {name!r} of {columns.tolist()} columns; it is damaged.")
        return Columns(int(columns[0]))
    if f"{name}.text" not in arrays and f"{name}.offsets" not in arrays:
        return None
    text, offsets = _needed(f"{name}.text", arrays, 1), _needed(f"{name}.offsets", arrays, 1)
    if text.dtype != np.uint8 or offsets.dtype != np.int64:
        raise ValueError(f"the model file has {name!r} as {text.dtype} and {offsets.dtype}; it is damaged.")
    return Vocabulary.from_arrays(text, offsets)


def _needed(name: str, arrays: Mapping[str, np.ndarray], ndim: int) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"the model file has no array {name!r}; it holds {', '.join(sorted(arrays)) or 'none'}.")
    if arrays[name].ndim != ndim:
        raise ValueError(
            f"the model file has {name!r} of shape {list(arrays[name].shape)}; it needs {ndim} dimensions."
        )
    return arrays[name]
