"""Random Fourier features (Rahimi & Recht, 2007): a linear model on them is nearly a Gaussian kernel machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from casimir.tasks.segment.superpixels import Float32

Groups = Mapping[str, Float32]


@dataclass(frozen=True, eq=False)
class FourierMap:
    """x -> sqrt(2 / D) cos(W^T z + b) with z = (x - mean) / spread, so that <., .> is about exp(-gamma |z - z'|^2).

    mean, spread   float32[k]: every group of features has mean 0 and mean square norm importance^2
    frequencies    W float32[k, D / 2], normal with variance 2 gamma; each belongs to a cosine and to a sine
    phases         b float32[D]: 0 of the cosines, then -pi / 2 of the sines. Older models have a frequency for each
                   phase, and phases are uniform on [0, 2 pi]
    """

    mean: Float32
    spread: Float32
    frequencies: Float32
    phases: Float32

    @classmethod
    def fit(
        cls,
        descriptors: Sequence[Groups],
        importance: Mapping[str, float],
        n_features: int,
        gamma: float,
        rng: np.random.Generator,
    ) -> FourierMap:
        """Mean and spread from the descriptors of the training images; n_features is even."""
        means, spreads = [], []
        for name, weight in importance.items():
            values = np.concatenate([groups[name] for groups in descriptors])
            mean = values.mean(axis=0, dtype=np.float64)
            length = np.sqrt(np.square(values - mean).sum(axis=1).mean())
            means.append(mean)
            spreads.append(np.full(len(mean), max(length, 1e-6) / weight))
        k = sum(map(len, means))
        frequencies = rng.standard_normal((k, n_features // 2)) * np.sqrt(2.0 * gamma)
        phases = np.repeat([0.0, -np.pi / 2.0], n_features // 2)
        parts = (np.concatenate(means), np.concatenate(spreads), frequencies, phases)
        return cls(*(part.astype(np.float32) for part in parts))

    @property
    def n_features(self) -> int:
        return len(self.phases)

    def scaled(self, groups: Groups, importance: Mapping[str, float]) -> Float32:
        """z float32[p, k]."""
        together = np.concatenate([groups[name] for name in importance], axis=1)
        return np.asarray((together - self.mean) / self.spread, dtype=np.float32)

    def of(self, z: Float32) -> Float32:
        """float32[p, D]."""
        waves = z @ self.frequencies
        step = waves.shape[1]
        found = np.empty((len(z), self.n_features), dtype=np.float32)
        for first in range(0, self.n_features, step):
            np.add(waves, self.phases[first : first + step], out=found[:, first : first + step])
        np.cos(found, out=found)  # in place: the array is large
        found *= np.float32(np.sqrt(2.0 / self.n_features))
        return found
