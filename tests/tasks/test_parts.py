"""Which data a model is trained on, and which it is reported on."""

from __future__ import annotations

import numpy as np

from casimir.tasks.parts import fold_parts


def test_folds_hold_every_example_out_once_and_never_train_on_it() -> None:
    data = [f"example {i}" for i in range(10)]
    parts = list(fold_parts(data, 4, seed=3))
    assert sorted(one for _, held_out in parts for one in held_out) == data
    assert sorted(len(held_out) for _, held_out in parts) == [2, 2, 3, 3]
    assert all(sorted([*learned, *held_out]) == data for learned, held_out in parts)
    drawn = np.random.default_rng(3).permutation(10)
    assert parts[0][1] == sorted(data[i] for i in drawn[:3])
