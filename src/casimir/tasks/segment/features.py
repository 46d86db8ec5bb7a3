"""Pictures -> graphs with features: two looks at the superpixels, all of it learned from training pictures alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from casimir.tasks.opencv import opencv
from casimir.tasks.segment import appearance, context
from casimir.tasks.segment.boundaries import boundaries
from casimir.tasks.segment.channels import Channels
from casimir.tasks.segment.fourier import FourierMap, Groups
from casimir.tasks.segment.graphs import ImageGraph
from casimir.tasks.segment.looks import Look, LookSettings, Track, learn_look
from casimir.tasks.segment.pictures import Image, Mask, Picture
from casimir.tasks.segment.shapes import Shapes
from casimir.tasks.segment.superpixels import Float32, Superpixels

FIRST = LookSettings(appearance.IMPORTANCE, 3000, 0.15, 1e-5, stride=3)
AGAIN = LookSettings(context.IMPORTANCE, 600, 0.2, 3e-5)
ROUNDS = 1  # of looking again before the last look
LAST_FEATURES = 200  # Fourier features of a node
LAST_GAMMA = 0.2
_FOLDS = 4


@dataclass(frozen=True, eq=False)
class Features:
    """What turns a picture into a graph.

    looks    the first from appearance, every other one from the context that the look before gives
    last     Fourier features of the context that the last look gives; they are the features of the nodes
    shapes   of the training pictures
    """

    looks: tuple[Look, ...]
    last: FourierMap
    shapes: Shapes

    @property
    def n_node_features(self) -> int:
        return self.last.n_features + len(self.last.mean) + 1

    def graph(self, image: Image) -> ImageGraph:
        """The graph of a new picture."""
        channels = Channels.of(image)
        superpixels = Superpixels.of(channels.lab)
        score = self.looks[0].score(appearance.appearance(channels, superpixels))
        for look in self.looks[1:]:
            score = look.score(context.context(channels.lab, superpixels, score, self.shapes, None))
        groups = context.context(channels.lab, superpixels, score, self.shapes, None)
        return self._graph(channels.lab, superpixels, score, groups, None)

    def _graph(
        self, lab: Float32, superpixels: Superpixels, score: Float32, groups: Groups, foreground: Float32 | None
    ) -> ImageGraph:
        edges, cuts = boundaries(lab, superpixels, score)
        size = superpixels.size.astype(np.float64)
        truth = None if foreground is None else (foreground > 0.5).astype(np.int64)
        return ImageGraph(superpixels.labels, size / size.sum(), node_features(self.last, groups), edges, cuts, truth)


def node_features(last: FourierMap, groups: Groups) -> Float32:
    """float32[p, D + k + 1]: Fourier features, the descriptor itself and 1, of similar lengths."""
    z = last.scaled(groups, context.IMPORTANCE)
    return np.concatenate([2 * last.of(z), z / 2, np.ones((len(z), 1))], axis=1, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class _Seen:
    """A training picture: foreground is float32[p], the share of foreground pixels of every superpixel."""

    lab: Float32
    superpixels: Superpixels
    appearance: dict[str, Float32]
    foreground: Float32
    fold: int


def learn_features(
    pictures: Sequence[Picture], seed: int = 0, track: Track = lambda items, what: items
) -> tuple[Features, list[ImageGraph]]:
    """The features that pictures with masks teach, and the graphs of these pictures.

    A training picture is scored by looks that have not learned from it, and shown shapes of other pictures only, so
    that its features are like those of a new picture.

    track   wraps the lists that slow loops run over, e.g. to show progress
    """
    with threadpool_limits(1):  # products of so few rows take twice the CPU time on two threads
        return _learn(pictures, seed, track)


def _learn(pictures: Sequence[Picture], seed: int, track: Track) -> tuple[Features, list[ImageGraph]]:
    rng = np.random.default_rng(seed)
    folds = rng.permutation(np.arange(len(pictures)) % min(_FOLDS, len(pictures)))
    pairs = list(zip(pictures, folds.tolist(), strict=True))
    seen = [_see(picture, fold) for picture, fold in track(pairs, "looking at pictures")]
    shapes = Shapes.of([picture.mask for picture in pictures if picture.mask is not None], folds.astype(np.int64))
    targets, sizes = [2 * one.foreground - 1 for one in seen], [one.superpixels.size for one in seen]
    look, scores = learn_look(FIRST, [one.appearance for one in seen], targets, sizes, folds.tolist(), rng, track)
    looks = [look]
    for _ in range(ROUNDS):
        again = _contexts(seen, scores, shapes)
        look, scores = learn_look(AGAIN, again, targets, sizes, folds.tolist(), rng)
        looks.append(look)
    final = _contexts(seen, scores, shapes)
    last = FourierMap.fit(final, context.IMPORTANCE, LAST_FEATURES, LAST_GAMMA, rng)
    features = Features(tuple(looks), last, shapes)
    graphs = [
        features._graph(one.lab, one.superpixels, score, groups, one.foreground)
        for one, score, groups in zip(seen, scores, final, strict=True)
    ]
    return features, graphs


def _see(picture: Picture, fold: int) -> _Seen:
    if picture.mask is None:
        raise ValueError(f"{picture.name!r} has no mask; every picture to learn from needs one.")
    channels = Channels.of(picture.image)
    superpixels = Superpixels.of(channels.lab)
    foreground = superpixels.mean(resized_mask(picture.mask, superpixels.labels.shape))
    groups = appearance.appearance(channels, superpixels)
    return _Seen(channels.lab, superpixels, groups, foreground, fold)


def _contexts(seen: list[_Seen], scores: list[Float32], shapes: Shapes) -> list[dict[str, Float32]]:
    return [
        context.context(one.lab, one.superpixels, score, shapes, one.fold)
        for one, score in zip(seen, scores, strict=True)
    ]


def resized_mask(mask: Mask, shape: tuple[int, ...]) -> Mask:
    """bool of another shape; where a pixel is cut or spread, the larger part decides."""
    if mask.shape == shape:
        return mask
    cv2 = opencv()
    how = cv2.INTER_AREA if mask.size > shape[0] * shape[1] else cv2.INTER_LINEAR
    soft = cv2.resize(mask.astype(np.float32), (shape[1], shape[0]), interpolation=how)
    return np.asarray(soft > 0.5, dtype=np.bool_)
