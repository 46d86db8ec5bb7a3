"""A copy of weights, in little memory where most of them are 0, as on text."""

from __future__ import annotations

from typing import Any

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.scores import FloatArray


class Kept:
    """v float64[n] by its numbers other than +0: what an array needs, a 64th more, or less the more zeros there are."""

    def __init__(self, numbers: Any, threads: int) -> None:
        self._numbers, self._threads = numbers, threads

    @classmethod
    def of(cls, w: FloatArray, threads: int = 1) -> Kept:
        """Sums of it are made on so many threads, and are the same on any number."""
        return cls(core.SparseVector(w, threads), threads)

    @property
    def nbytes(self) -> int:
        return int(self._numbers.nbytes)

    def vector(self) -> FloatArray:
        """float64[n]"""
        w = aligned_zeros(len(self._numbers))
        self._numbers.write(w, self._threads)
        return w

    def state(self) -> FloatArray:
        """For checkpoints: v, of which `of` makes the same again."""
        return self.vector()

    def write(self, out: FloatArray) -> None:
        """out = v"""
        self._numbers.write(out, self._threads)

    def mix(self, a: float, b: float, y: FloatArray) -> None:
        """v = a v + b y"""
        self._numbers.mix(a, b, y, self._threads)

    def add_to(self, y: FloatArray, a: float, b: float) -> None:
        """y = a v + b y"""
        self._numbers.add_to(a, b, y, self._threads)

    def products_of_sum(self, a: float, b: float, y: FloatArray) -> tuple[float, float]:
        """(<g, g>, <g, y>) of g = a v + b y"""
        square, product = self._numbers.products_of_sum(a, b, y, self._threads)
        return square, product
