"""The first look at a superpixel: place, colour, contrast, texture and oriented gradients around it."""

from __future__ import annotations

import numpy as np

from casimir.tasks.opencv import opencv
from casimir.tasks.segment.channels import Channels, blurred
from casimir.tasks.segment.superpixels import Float32, Superpixels, scale_of

_RADII = (3, 7, 14)  # pixels in an image of the usual size
_BORDER = 0.06  # of the shorter side

# How much each group of features counts in the distance between two superpixels.
IMPORTANCE = {"place": 1.0, "colour": 0.5, "contrast": 0.7, "texture": 0.5} | {f"gradients {r}": 0.7 for r in _RADII}


def appearance(channels: Channels, superpixels: Superpixels) -> dict[str, Float32]:
    """Groups of features, float32[p, k] each, by the names of IMPORTANCE."""
    colour = superpixels.mean(channels.lab)
    groups = {
        "place": place(superpixels),
        "colour": colour,
        "contrast": _contrast(channels.lab, superpixels, colour),
        "texture": _texture(channels, superpixels, colour),
    }
    scale = scale_of(*channels.gradient.shape)
    for radius in _RADII:
        groups[f"gradients {radius}"] = _gradients(channels.oriented, superpixels, radius * scale)
    return groups


def place(superpixels: Superpixels) -> Float32:
    """float32[p, 2]: (x, y) of the centres, from -1 to 1."""
    height, width = superpixels.labels.shape
    return np.stack([superpixels.column / width, superpixels.row / height], axis=1) * 2 - 1


def _contrast(lab: Float32, superpixels: Superpixels, colour: Float32) -> Float32:
    """float32[p, 12]: colour minus that of the border, of the image, and of the left and right border at its height."""
    height, width = lab.shape[:2]
    wide = max(2, round(_BORDER * min(height, width)))
    inside = np.zeros((height, width), dtype=bool)
    inside[wide:-wide, wide:-wide] = True
    left, right = (
        opencv().blur(lab[:, columns].mean(axis=1)[:, None], (1, 2 * wide + 1))
        for columns in (slice(None, wide), slice(-wide, None))
    )
    sides = (superpixels.at(np.broadcast_to(side, lab.shape)) for side in (left, right))
    references = (lab[~inside].mean(axis=0), lab.mean(axis=(0, 1)), *sides)
    return np.concatenate([colour - reference for reference in references], axis=1)


def _texture(channels: Channels, superpixels: Superpixels, colour: Float32) -> Float32:
    """float32[p, 13]: deviation of the colour inside and in three squares around, and the mean gradient."""
    square = channels.lab**2
    parts = [_deviation(superpixels.mean(square), colour), superpixels.mean(channels.gradient)[:, None]]
    for radius in _RADII:
        wide = radius * scale_of(*channels.gradient.shape)
        parts.append(superpixels.at(_deviation(blurred(square, wide), blurred(channels.lab, wide))))
    return np.concatenate(parts, axis=1)


def _deviation(mean_square: Float32, mean: Float32) -> Float32:
    return np.asarray(np.sqrt(np.maximum(mean_square - mean**2, 0)), dtype=np.float32)


def _gradients(oriented: Float32, superpixels: Superpixels, radius: float) -> Float32:
    """float32[p, 72]: histograms of oriented gradients in 3 x 3 squares around the centre, scaled to length 1.

    The square root evens out strong and weak edges.
    """
    cells = superpixels.around(blurred(oriented, radius), 2 * max(1, round(radius)))
    histogram = np.concatenate(list(cells), axis=1)
    length = np.sqrt((histogram**2).sum(axis=1, keepdims=True) + np.float32(1e-3))
    return np.asarray(np.sqrt(np.maximum(histogram / length, 0)), dtype=np.float32)
