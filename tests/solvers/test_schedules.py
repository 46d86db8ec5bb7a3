"""Step sizes by their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs

T = np.array([1, 2, 4, 9, 10, 100])


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (cs.Constant(0.3), 0.3 + 0.0 * T),
        (cs.StepDecay(0.3, 5.0), 0.3 / np.array([1, 1, 1, 2, 3, 21])),
        (cs.InverseRoot(0.3), 0.3 / np.sqrt(T)),
        (cs.Inverse(0.3), 0.3 / T),
        (cs.Pegasos(), 1.0 / (0.2 * T)),
    ],
)
def test_steps(schedule: object, expected: np.ndarray) -> None:
    steps = schedule.steps(T, 0.2)  # type: ignore[attr-defined]
    assert steps.dtype == np.float64
    np.testing.assert_allclose(steps, expected, rtol=1e-15)


def test_pegasos_needs_regularisation() -> None:
    with pytest.raises(ValueError, match=r"needs lam > 0\. Use Constant"):
        cs.Pegasos().steps(T, 0.0)
