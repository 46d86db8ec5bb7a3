"""A copy of weights, in little memory where most of them are 0, as on text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros
from casimir.persistence.state import keeps
from casimir.scores import FloatArray

_WORTH_IT = 0.5  # share of weights other than 0 below which these alone are kept


@keeps
@dataclass(frozen=True, eq=False)
class Kept:
    """values are all n numbers; or those other than 0, and `there` has a bit for each of the n, in the order of w."""

    n: int
    values: FloatArray
    there: npt.NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, w: FloatArray) -> Kept:
        used = (w != 0.0) | np.signbit(w)  # -0.0 stays what it is
        if np.count_nonzero(used) > _WORTH_IT * len(w):
            return cls(len(w), w.copy())
        return cls(len(w), w[used], np.packbits(used))

    def vector(self) -> FloatArray:
        """float64[n]"""
        if self.there is None:
            return self.values
        w = aligned_zeros(self.n)
        w[np.unpackbits(self.there, count=self.n).view(np.bool_)] = self.values
        return w
