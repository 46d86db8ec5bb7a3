"""Vectors of weights on their way between machines: by the numbers that are not 0, where those are few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.scores import FloatArray, IntArray

_WORTH_IT = 0.6  # share of numbers other than 0 below which their places (4 bytes each) are worth sending


@dataclass(frozen=True, eq=False)
class Sent:
    """v float64[size].

    places  uint32[m], increasing: where v is not 0; None: `values` is v
    values  float64[m]
    """

    size: int
    places: np.ndarray | None
    values: FloatArray

    @classmethod
    def of(cls, v: FloatArray) -> Sent:
        """A copy of v."""
        places = np.flatnonzero(v)
        if len(places) >= _WORTH_IT * len(v) or len(v) >= 2**32:
            return cls(len(v), None, v.copy())
        return cls(len(v), places.astype(np.uint32), v[places])

    @property
    def nbytes(self) -> int:
        """What is sent."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)

    def __sizeof__(self) -> int:
        return self.nbytes

    def vector(self) -> FloatArray:
        """float64[size], in memory of its own."""
        v = aligned_zeros(self.size)
        self.add_to(v)
        return v

    def add_to(self, out: FloatArray) -> None:
        """out += v"""
        if self.places is None:
            out += self.values
        else:
            out[self.places] += self.values

    def plus(self, other: Sent) -> Sent:
        """The sum; the same bits whichever machine forms it."""
        if self.places is None and other.places is None:
            return Sent(self.size, None, self.values + other.values)
        total = self.vector()
        other.add_to(total)
        return Sent.of(total)


def number_type(largest: int) -> type[np.unsignedinteger]:
    """The narrowest type that holds the numbers up to this one."""
    return np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32


def narrowed(numbers: IntArray) -> np.ndarray:
    """Label numbers in a byte or two each."""
    return numbers.astype(number_type(int(numbers.max(initial=0))))
