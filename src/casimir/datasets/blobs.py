"""Made-up pictures with masks: four-legged blobs before a patterned background, for segmentation.

Animal and background are patchworks of a few colours each, drawn alike, so no colour tells them apart; shapes and
places differ from picture to picture. What remains visible under noise and specks is where patches end: a label spreads
over a patch, and that needs edges. Deterministic: picture k of a seed is always the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Blob", "make_blobs"]

HEIGHT, WIDTH = 48, 64
_NOISE = 8.0  # standard deviation of the grey level of a pixel
_SPECKS = 3  # per picture
_PATCHES = (9, 3)  # of the background, of the animal


@dataclass(frozen=True, eq=False)
class Blob:
    """image uint8[48, 64, 3], RGB; mask bool[48, 64], True on the animal."""

    image: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.bool_]


def make_blobs(n: int = 80, seed: int = 0) -> list[Blob]:
    """n pictures."""
    return [_blob(np.random.default_rng([seed, k])) for k in range(n)]


def _blob(rng: np.random.Generator) -> Blob:
    mask = _animal(rng)
    background, foreground = (_patchwork(rng, count) for count in _PATCHES)
    swapped = mask ^ _specks(rng)
    image = np.where(swapped[..., None], foreground, background)
    image = image + rng.normal(0.0, _NOISE, (HEIGHT, WIDTH, 1)) + rng.normal(0.0, 0.4 * _NOISE, image.shape)
    return Blob(np.clip(np.rint(image), 0, 255).astype(np.uint8), mask)


def _animal(rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """A body, a head on a neck and four legs."""
    size = rng.uniform(0.7, 1.15)
    row, column = 24 + rng.uniform(-6, 6), 32 + rng.uniform(-12, 12)
    facing = rng.choice([-1.0, 1.0])
    mask = _ellipse(row, column, 8.5 * size, 15 * size)
    head = (row - 11 * size + rng.uniform(-2, 4), column + facing * 16 * size)
    mask |= _ellipse(*head, 4.5 * size, 6.0 * size)
    mask |= _stroke((row - 3, column + facing * 11 * size), head, 3.2 * size)
    for place in (-11, -7, 7, 11):
        foot = (row + 18 * size, column + place * size + rng.uniform(-3, 3))
        mask |= _stroke((row + 4, column + place * size), foot, 1.7 * size)
    return mask


def _ellipse(row: float, column: float, half_height: float, half_width: float) -> npt.NDArray[np.bool_]:
    y, x = np.indices((HEIGHT, WIDTH))
    return np.asarray(((y - row) / half_height) ** 2 + ((x - column) / half_width) ** 2 <= 1.0)


def _stroke(start: tuple[float, float], end: tuple[float, float], half_width: float) -> npt.NDArray[np.bool_]:
    """All pixels within half_width of a line."""
    points = _pixels()
    along = np.subtract(end, start)
    share = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - start - share[..., None] * along, axis=-1) <= half_width)


def _patchwork(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """float64[48, 64, 3]: every pixel has the pattern of the nearest of `count` random points."""
    points = rng.uniform((0, 0), (HEIGHT, WIDTH), (count, 2))
    distance = np.linalg.norm(_pixels()[..., None, :] - points, axis=-1)
    nearest = distance.argmin(axis=-1)
    patterns = np.stack([_pattern(rng, rng.uniform(40, 215, 3)) for _ in range(count)])
    return np.asarray(np.take_along_axis(patterns, nearest[None, ..., None], axis=0)[0])


def _pattern(rng: np.random.Generator, colour: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """float64[48, 64, 3]: the colour with waves of a random direction."""
    y, x = np.indices((HEIGHT, WIDTH))
    angle, length = rng.uniform(0, np.pi), rng.uniform(4, 14)
    wave = np.sin(2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / length + rng.uniform(0, 2 * np.pi))
    return np.asarray(colour + 14.0 * wave[..., None])


def _specks(rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Small spots where foreground and background change places."""
    spots = np.zeros((HEIGHT, WIDTH), dtype=bool)
    for _ in range(_SPECKS):
        spots |= _ellipse(rng.uniform(0, HEIGHT), rng.uniform(0, WIDTH), *rng.uniform(1.0, 2.4, 2))
    return spots


def _pixels() -> npt.NDArray[np.float64]:
    """float64[48, 64, 2]: (row, column) of every pixel."""
    return np.moveaxis(np.indices((HEIGHT, WIDTH)), 0, 2).astype(np.float64)
