"""Looks: a superpixel's descriptor -> its score, learned by regression so that training pictures count as new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.tasks.segment.fourier import FourierMap, Groups
from casimir.tasks.segment.ridge import FoldedRidge
from casimir.tasks.segment.superpixels import Float32

Track = Callable[[Iterable[Any], str], Iterable[Any]]


@dataclass(frozen=True)
class LookSettings:
    """importance   of the groups of a descriptor
    n_features   random Fourier features
    gamma        of the kernel exp(-gamma |z - z'|^2)
    lam          regularisation
    stride       every so many superpixels are learned from: neighbours tell nearly the same
    """

    importance: Mapping[str, float]
    n_features: int
    gamma: float
    lam: float
    stride: int = 1


@dataclass(frozen=True, eq=False)
class Look:
    """score = [fourier(descriptor), 1] v, about -1 on the background and 1 on the foreground.

    weights  v float32[D + 1]
    """

    settings: LookSettings
    fourier: FourierMap
    weights: Float32

    def score(self, groups: Groups) -> Float32:
        """float32[p]."""
        features = self.fourier.of(self.fourier.scaled(groups, self.settings.importance))
        return np.asarray(features @ self.weights[:-1] + self.weights[-1], dtype=np.float32)


def learn_look(
    settings: LookSettings,
    descriptors: Sequence[Groups],
    targets: Sequence[npt.NDArray[np.float32]],
    sizes: Sequence[Float32],
    folds: Sequence[int],
    rng: np.random.Generator,
    track: Track = lambda items, what: items,
) -> tuple[Look, list[Float32]]:
    """The look learned from all pictures, and the score of every picture by what the other folds teach.

    targets  list of float32[p_i] from -1 (background) to 1 (foreground)
    sizes    list of float32[p_i]: pixels of every superpixel, the weights of the regression
    """
    fourier = FourierMap.fit(descriptors, settings.importance, settings.n_features, settings.gamma, rng)
    n_folds = max(folds) + 1
    ridge = FoldedRidge(settings.n_features + 1, n_folds, settings.lam)
    pictures = list(zip(descriptors, folds, targets, sizes, strict=True))
    for k, (groups, fold, target, size) in enumerate(track(pictures, "learning from pictures")):
        some = slice(k % settings.stride, None, settings.stride)
        rows = _rows(settings, fourier, {name: values[some] for name, values in groups.items()})
        ridge.add(fold, rows, target[some], size[some])
    by_fold = [ridge.solve(without=fold) for fold in range(n_folds)]
    unseen = (Look(settings, fourier, by_fold[fold]) for fold in folds)
    scores = [look.score(groups) for look, groups in zip(unseen, descriptors, strict=True)]
    return Look(settings, fourier, ridge.solve()), scores


def _rows(settings: LookSettings, fourier: FourierMap, groups: Groups) -> Float32:
    features = fourier.of(fourier.scaled(groups, settings.importance))
    return np.concatenate([features, np.ones((len(features), 1), dtype=np.float32)], axis=1)
