"""Made-up images with one object to find in each: a warm and dark chequered oval on clutter.

The clutter has plain and striped shapes in the object's colours and chequered shapes in other colours, so neither
colour nor texture alone tells where the object is. The same seed gives the same pixels.

    make_objects(n, seed)    n images with the box of their object
    load_objects()           a training and a held-out part of a fixed set
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ObjectImage", "Objects", "load_objects", "make_objects"]

_WARM, _DARK = np.array([205.0, 120.0, 45.0]), np.array([45.0, 60.0, 115.0])  # red, green, blue
_TEXTURES = ("plain", "stripes", "checks")

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ObjectImage:
    """pixels  uint8[H, W, 3]: red, green, blue
    box     int64[4]: top, left, bottom, right of the object in pixels, both ends inclusive
    """

    pixels: npt.NDArray[np.uint8]
    box: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Objects:
    """The two parts of the set."""

    train: list[ObjectImage]
    heldout: list[ObjectImage]


def load_objects() -> Objects:
    """120 images to train on and 80 to test on."""
    images = make_objects(200, seed=0)
    return Objects(images[:120], images[120:])


def make_objects(n: int, seed: int = 0) -> list[ObjectImage]:
    """n images of 96 to 160 pixels a side. An image depends only on the seed and on its number."""
    return [_make_image(np.random.default_rng([seed, i])) for i in range(n)]


def _make_image(rng: np.random.Generator) -> ObjectImage:
    height, width = (int(side) for side in rng.integers(96, 161, size=2))
    image = _background(height, width, rng)
    for k in range(int(rng.integers(7, 12))):
        _paint_clutter(image, k, rng)
    box = _random_box(height, width, 0.25, 0.6, rng)
    mask = _oval(height, width, box, power=3.0)
    colours = [colour + rng.normal(scale=12.0, size=3) for colour in (_WARM, _DARK)]
    _paint(image, mask, _texture("checks", height, width, rng), colours, rng)
    image += rng.normal(scale=9.0, size=image.shape)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    tight = np.array([rows[0], columns[0], rows[-1], columns[-1]], dtype=np.int64)
    return ObjectImage(np.clip(np.rint(image), 0, 255).astype(np.uint8), tight)


def _background(height: int, width: int, rng: np.random.Generator) -> Floats:
    """Smooth colours: a few random ones on a coarse grid, blended."""
    coarse = rng.uniform(60.0, 190.0, size=(4, 5, 3))
    rows = _blend(np.linspace(0.0, 3.0, height), 4)
    columns = _blend(np.linspace(0.0, 4.0, width), 5)
    return np.asarray(columns @ np.tensordot(rows, coarse, axes=1))  # [W, 5] times [H, 5, 3]


def _blend(at: Floats, n: int) -> Floats:
    """float64[len(at), n]: linear interpolation weights between n grid lines."""
    weights: Floats = np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(n)))
    return weights


def _paint_clutter(image: Floats, k: int, rng: np.random.Generator) -> None:
    """Every third shape has the object's colours but not its texture, every third its texture in other colours."""
    height, width = image.shape[:2]
    box = _random_box(height, width, 0.12, 0.45, rng)
    mask = _oval(height, width, box, power=float(rng.choice([2.0, 4.0, 50.0])))
    if k % 3 == 0:
        texture, colours = _TEXTURES[int(rng.integers(2))], [_WARM, _DARK]
        colours = [colour + rng.normal(scale=12.0, size=3) for colour in colours]
        if texture == "plain" and rng.random() < 0.5:
            colours.reverse()
    else:
        texture = "checks" if k % 3 == 1 else _TEXTURES[int(rng.integers(3))]
        colours = [np.array([60.0, 150.0, 90.0]), np.array([190.0, 190.0, 200.0])] if k % 2 else list(_any_colours(rng))
    _paint(image, mask, _texture(texture, height, width, rng), colours, rng)


def _any_colours(rng: np.random.Generator) -> Floats:
    """Two colours with little red."""
    return rng.uniform([20.0, 60.0, 60.0], [120.0, 220.0, 220.0], size=(2, 3))


def _paint(image: Floats, mask: Mask, texture: Mask, colours: list[Floats], rng: np.random.Generator) -> None:
    """Lay the two colours of a texture over the part of the image that the mask shows, under a light of its own."""
    light = rng.uniform(0.8, 1.15)
    image[mask & texture] = colours[0] * light
    image[mask & ~texture] = colours[1] * light


def _random_box(height: int, width: int, low: float, high: float, rng: np.random.Generator) -> tuple[float, ...]:
    """Sides between the given shares of the image's, anywhere in it."""
    h, w = rng.uniform(low, high, size=2) * (height, width)
    top, left = rng.uniform(0.0, (height - h, width - w))
    return top, left, top + h, left + w


def _oval(height: int, width: int, box: tuple[float, ...], power: float) -> Mask:
    """|y|^power + |x|^power <= 1 stretched to the box: an ellipse for 2, nearly a rectangle for 50."""
    top, left, bottom, right = box
    y = np.abs((2.0 * np.arange(height) - top - bottom) / (bottom - top))[:, None]
    x = np.abs((2.0 * np.arange(width) - left - right) / (right - left))[None]
    inside: Mask = np.maximum(y, x) ** power + np.minimum(y, x) ** power <= 1.0
    return inside


def _texture(kind: str, height: int, width: int, rng: np.random.Generator) -> Mask:
    """Which pixels get the first of two colours: all, stripes or a chequerboard, turned by any angle."""
    angle, period = rng.uniform(0.0, np.pi), rng.uniform(6.0, 9.0)
    y, x = np.mgrid[:height, :width] * (2.0 * np.pi / period)
    along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    if kind == "plain":
        return np.ones((height, width), dtype=np.bool_)
    wave: Mask = (np.sin(along) if kind == "stripes" else np.sin(along) * np.sin(across)) > 0.0
    return wave
