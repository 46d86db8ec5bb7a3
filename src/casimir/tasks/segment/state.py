"""Learned features as arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from casimir.tasks.arrays import checked_array
from casimir.tasks.segment.features import AGAIN, FIRST, Features
from casimir.tasks.segment.fourier import FourierMap
from casimir.tasks.segment.looks import Look
from casimir.tasks.segment.shapes import SIZE, Shapes

FEATURE_SET = "looks-2"  # changes whenever a saved model would read other descriptors
READ = (FEATURE_SET, "looks-1")  # which had a frequency for each phase

_PARTS = ("mean", "spread", "frequencies", "phases")


def encode_features(features: Features) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {"shapes.masks": features.shapes.masks, "shapes.fold": features.shapes.fold}
    for k, look in enumerate(features.looks):
        arrays |= _encode_map(f"look{k}", look.fourier) | {f"look{k}.weights": look.weights}
    return arrays | _encode_map("last", features.last)


def decode_features(arrays: Mapping[str, np.ndarray]) -> Features:
    """The features of `encode_features`; a ValueError when an array is missing or has another shape."""
    looks: list[Look] = []
    while f"look{len(looks)}.weights" in arrays or not looks:
        name = f"look{len(looks)}"
        fourier = _decode_map(name, arrays)
        weights = _array(arrays, f"{name}.weights", (fourier.n_features + 1,))
        looks.append(Look(AGAIN if looks else FIRST, fourier, weights))
    strange = [name for name in arrays if name.startswith("look") and int(name[4 : name.index(".")]) >= len(looks)]
    if strange:
        raise ValueError(f"the model file is damaged: it has {strange[0]!r}, but no 'look{len(looks)}.weights'.")
    last = _decode_map("last", arrays)
    if any(len(look.fourier.mean) != len(last.mean) for look in looks[1:]):
        raise ValueError("the model file is damaged: its looks read descriptors of different lengths.")
    masks = _array(arrays, "shapes.masks", (None, SIZE[0] * SIZE[1]))
    fold = checked_array(arrays, "shapes.fold", (len(masks),), np.int64)
    return Features(tuple(looks), last, Shapes(masks, fold))


def _encode_map(name: str, fourier: FourierMap) -> dict[str, np.ndarray]:
    return {f"{name}.{part}": getattr(fourier, part) for part in _PARTS}


def _decode_map(name: str, arrays: Mapping[str, np.ndarray]) -> FourierMap:
    frequencies = _array(arrays, f"{name}.frequencies", (None, None))
    k, count = frequencies.shape
    n_phases = len(_array(arrays, f"{name}.phases", (None,)))
    if n_phases not in (count, 2 * count):
        raise ValueError(
            f"the model file is damaged: its array '{name}.phases' is float32[{n_phases}]; {count} frequencies need "
            f"[{count}] or [{2 * count}]."
        )
    shapes = {"mean": (k,), "spread": (k,), "phases": (n_phases,)}
    parts = {part: _array(arrays, f"{name}.{part}", shape) for part, shape in shapes.items()}
    if not (parts["spread"] > 0.0).all():
        raise ValueError(f"the model file is damaged: '{name}.spread' has entries that are not above 0.")
    return FourierMap(frequencies=frequencies, **parts)


def _array(arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    return checked_array(arrays, name, shape, np.float32)
