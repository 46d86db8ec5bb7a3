"""Feature name <-> number: exact vocabularies, and the columns of matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from casimir._native import core


class Vocabulary:
    """Distinct feature names, numbered 0, 1, ... in the order given; `blob` holds them one after another.

    >>> vocabulary = Vocabulary(["word=Paris", "title"])
    >>> vocabulary.find("title"), vocabulary.find("unseen"), vocabulary[0], len(vocabulary)
    (1, None, 'word=Paris', 2)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        if isinstance(names, str):
            raise TypeError(f"a vocabulary is made from a list of names, not from the single string {names!r}.")
        self._table = core.FeatureTable()
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"a feature name is a string; got {name!r} ({type(name).__name__}).")
            size = len(self._table)
            if self._table.intern(name) != size:
                raise ValueError(f"feature names must be distinct; {name!r} is given twice.")

    @classmethod
    def _of_table(cls, table: Any) -> Vocabulary:
        """The vocabulary that owns a native table; the table must not change afterwards."""
        self = cls.__new__(cls)
        self._table = table
        return self

    @classmethod
    def from_arrays(cls, blob: np.ndarray, offsets: np.ndarray) -> Vocabulary:
        """The vocabulary whose name i is the UTF-8 text blob[offsets[i]:offsets[i + 1]].

        blob: uint8[bytes]; offsets: int64[len + 1]
        """
        try:
            blob.tobytes().decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"the vocabulary is not valid UTF-8 ({error.reason} at byte {error.start}).") from None
        table = core.FeatureTable(np.ascontiguousarray(blob), np.ascontiguousarray(offsets))
        starts = offsets[:-1][offsets[:-1] < len(blob)]
        if np.any(blob[starts] & 0xC0 == 0x80):
            raise ValueError("the vocabulary is not valid UTF-8 (a name begins inside a character).")
        return cls._of_table(table)

    def to_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(blob uint8[bytes], offsets int64[len + 1]), as `from_arrays` takes them."""
        return self._table.blob(), self._table.offsets()

    def find(self, name: str) -> int | None:
        """The number of `name`, or None."""
        number: int | None = self._table.find(name)
        return number

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, number: int) -> str:
        if not -len(self) <= number < len(self):
            raise IndexError(f"feature {number} is not in a vocabulary of {len(self)} names.")
        name: str = self._table.name(int(number) % len(self))
        return name

    def __iter__(self) -> Iterator[str]:
        return (self._table.name(i) for i in range(len(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._table.find(name) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        if self._table is other._table:
            return True
        return len(self) == len(other) and all(
            np.array_equal(a, b) for a, b in zip(self.to_arrays(), other.to_arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.from_arrays, self.to_arrays()

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} names)"


class Columns:
    """The features of sentences that are matrices: column j is number j. Reads like a vocabulary of their names.

    >>> Columns(300)[7], len(Columns(300))
    ('column 7', 300)
    """

    def __init__(self, n_columns: int) -> None:
        self._size = n_columns

    def find(self, name: str) -> int | None:
        """The number of `name`, or None."""
        text = name.removeprefix("column ")
        is_one = text.isascii() and text.isdigit() and name == f"column {int(text)}" and int(text) < self._size
        return int(text) if is_one else None

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> str:
        return f"column {range(self._size)[number]}"

    def __iter__(self) -> Iterator[str]:
        return (f"column {j}" for j in range(self._size))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __eq__(self, other: object) -> bool:
        return self._size == other._size if isinstance(other, Columns) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Columns({self._size})"
