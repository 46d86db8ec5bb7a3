"""The second look at a superpixel: what the first one made of its surroundings, its colour and the whole shape."""

from __future__ import annotations

import numpy as np

from casimir.tasks.segment.appearance import place
from casimir.tasks.segment.channels import blurred
from casimir.tasks.segment.colours import colour_ratio
from casimir.tasks.segment.shapes import Shapes
from casimir.tasks.segment.superpixels import Float32, Superpixels, scale_of

_RADII = (4, 9, 18)  # pixels in an image of the usual size
_STEEPNESS = 4.0  # probability = 1 / (1 + exp(-4 score)), for scores that aim at -1 and 1
_LARGEST_SCORE = 1.5

# How much each group of features counts in the distance between two superpixels.
IMPORTANCE = {"score": 1.0, "surroundings": 1.0, "colour ratio": 1.0, "shape": 1.0, "place": 0.5, "colour": 0.5}


def context(
    lab: Float32, superpixels: Superpixels, score: Float32, shapes: Shapes, fold: int | None
) -> dict[str, Float32]:
    """Groups of features, float32[p, k] each, by the names of IMPORTANCE.

    score  float32[p]: of the look before, about -1 on the background and 1 on the foreground
    fold   of a training picture, whose score must come from other folds too; None for a new picture
    """
    bounded = np.clip(score, -_LARGEST_SCORE, _LARGEST_SCORE)
    probability = (1 / (1 + np.exp(-_STEEPNESS * bounded))).astype(np.float32)[superpixels.labels]
    ratio = colour_ratio(lab, probability)
    scale = scale_of(*superpixels.labels.shape)
    expected = shapes.expected(probability, fold)
    colour = superpixels.mean(lab)
    return {
        "score": bounded[:, None],
        "surroundings": np.concatenate([_surroundings(probability, superpixels, r * scale) for r in _RADII], axis=1),
        "colour ratio": np.stack([superpixels.mean(ratio), superpixels.mean(blurred(ratio, 2 * scale))], axis=1),
        "shape": superpixels.mean(expected),
        "place": place(superpixels),
        "colour": np.concatenate([colour, colour - lab.mean(axis=(0, 1))], axis=1),
    }


def _surroundings(probability: Float32, superpixels: Superpixels, radius: float) -> Float32:
    """float32[p, 9]: the mean probability in 3 x 3 squares around the centre."""
    cells = superpixels.around(blurred(probability, radius), 2 * max(1, round(radius)))
    return np.asarray(cells.T, dtype=np.float32)
