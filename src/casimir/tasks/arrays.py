"""Arrays of model files, checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


def checked_array(
    arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int | None, ...], dtype: npt.DTypeLike = np.float64
) -> np.ndarray:
    """arrays[name], which must be finite and of the given dtype and shape; None stands for any size but 0."""
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"the model file is damaged: it has no array {name!r}.")
    fits = array.ndim == len(shape) and all(
        found == need or (need is None and found) for found, need in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        wanted = ", ".join("n" if need is None else str(need) for need in shape)
        raise ValueError(
            f"the model file is damaged: its array {name!r} is {array.dtype}{list(array.shape)}; it must be "
            f"{np.dtype(dtype)}[{wanted}]."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"the model file is damaged: its array {name!r} has entries that are not finite.")
    return array
