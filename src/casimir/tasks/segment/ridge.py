"""Ridge regression on many rows, read once, with predictions for rows that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, cho_factor, cho_solve

from casimir.tasks.segment.superpixels import Float32


class FoldedRidge:
    """argmin_v sum_r weight_r (x_r v - t_r)^2 + lam sum_r weight_r |v|^2, over all folds or all but one.

    X^T X is a sum over rows, so the folds are added up apart, and leaving one out is a subtraction. Of these symmetric
    matrices only the upper halves are computed.
    """

    def __init__(self, n_features: int, n_folds: int, lam: float) -> None:
        self.lam = lam
        self._products = [np.zeros((n_features, n_features), dtype=np.float32, order="F") for _ in range(n_folds)]
        self._targets = np.zeros((n_folds, n_features))
        self._weight = np.zeros(n_folds)

    def add(self, fold: int, x: Float32, target: npt.NDArray[Any], weight: npt.NDArray[Any]) -> None:
        """x float32[p, k], target and weight [p]."""
        roots = np.sqrt(np.asarray(weight, dtype=np.float32))
        weighted = x * roots[:, None]
        self._products[fold] = blas.ssyrk(1.0, weighted.T, beta=1.0, c=self._products[fold], overwrite_c=True)
        self._targets[fold] += (target * roots) @ weighted
        self._weight[fold] += float(weight.sum())

    def solve(self, without: int | None = None) -> Float32:
        """v float32[k] from all folds, or from all but `without`."""
        used = [fold for fold in range(len(self._weight)) if fold != without]
        matrix = self._products[used[0]].astype(np.float64, order="F")
        for fold in used[1:]:
            matrix += self._products[fold]
        matrix[np.diag_indices_from(matrix)] += self.lam * self._weight[used].sum()
        factor = cho_factor(matrix, lower=False, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(factor, self._targets[used].sum(axis=0)), dtype=np.float32)
