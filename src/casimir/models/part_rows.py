"""Models whose part scores are products of feature rows with weights, as the core reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from casimir._arrays import read_only
from casimir.models.base import LinearModel
from casimir.scores import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class PartRows:
    """cells_r = scale_r (x_r W) B of every row: a cell is a label of a node, a pair of labels of an edge, or a part.

    features  float64 or float32[R, d], or a SciPy CSR matrix: the rows x_r of all examples
    first     W float64[d, K] is w[first : first + d K]
    basis     B float64[K, C]
    scale     float64[R]; None: all 1
    """

    features: Any
    first: int
    basis: FloatArray
    scale: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class LinearParts:
    """The rows of all nodes and of all edges; example i owns the edges edge_offsets[i]:edge_offsets[i + 1]."""

    nodes: PartRows
    edges: PartRows | None = None
    edge_offsets: IntArray | None = None


class HasParts(LinearModel, Protocol):
    """A linear model that trains natively with graph cuts, junction trees and matchings."""

    def parts(self) -> LinearParts | None:
        """The rows behind the scores; None where no rows say it."""
        ...


def read_only_rows(features: Any) -> Any:
    """Contiguous float64 or float32[R, d], or CSR with sorted rows and frozen places, that cannot be written to."""
    if isinstance(features, np.ndarray):
        dtype: npt.DTypeLike = np.float32 if features.dtype == np.float32 else np.float64
        return read_only(np.ascontiguousarray(features, dtype=dtype))
    if not features.has_canonical_format:
        features.sum_duplicates()
    for array in (features.data, features.indices, features.indptr):
        array.setflags(write=False)
    return features
