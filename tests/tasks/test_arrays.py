"""Arrays of model files are checked before they are used."""

from __future__ import annotations

import numpy as np
import pytest

from casimir.tasks.arrays import checked_array


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (None, "has no array 'w'"),
        (np.zeros(3), r"'w' is float64\[3\]; it must be float64\[2, n\]"),
        (np.zeros((2, 0)), r"it must be float64\[2, n\]"),
        (np.zeros((2, 3), dtype=np.float32), r"'w' is float32"),
        (np.full((2, 3), np.nan), "not finite"),
    ],
)
def test_damaged_arrays_are_refused(array: np.ndarray | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"the model file is damaged: .*{message}"):
        checked_array({} if array is None else {"w": array}, "w", (2, None))


def test_a_good_array_is_given_back() -> None:
    w = np.ones((2, 3))
    assert checked_array({"w": w}, "w", (2, None)) is w
    assert checked_array({"i": np.zeros(0, dtype=np.int64)}, "i", (0,), np.int64).shape == (0,)
