"""Outputs of all examples in one array read like the list that they were given as."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs
from casimir._outputs import Outputs, as_outputs

GIVEN = [[1, 0, 2], [2], [0, 1]]


def test_outputs_read_like_the_list_of_them() -> None:
    y = as_outputs(GIVEN)
    assert isinstance(y, Outputs)
    assert (len(y), y.flat.tolist(), y.offsets.tolist()) == (3, [1, 0, 2, 2, 0, 1], [0, 3, 4, 6])
    assert [output.tolist() for output in y] == GIVEN
    assert [y[i].tolist() for i in (-3, 1, -1)] == GIVEN
    assert [output.tolist() for output in y[1:]] == GIVEN[1:]
    assert all(output.base is y.flat for output in y)
    with pytest.raises(IndexError):
        y[3]


def test_outputs_are_joined_once() -> None:
    y = as_outputs(GIVEN)
    assert as_outputs(y) is y
    X = cs.pack([[["a"]] * len(labels) for labels in GIVEN])
    assert cs.Objective(cs.LinearChainModel(X, 3), cs.Chain(3), cs.Hamming(), y, 0.1).y is y


def test_masks_among_outputs_stay_a_list() -> None:
    mask = np.array([[True, False, True]])
    y = as_outputs([GIVEN[0], mask, GIVEN[2]])
    assert isinstance(y, list)
    assert y[1] is mask
    assert y[0].dtype == np.int64


def test_numbers_with_a_fraction_are_no_outputs() -> None:
    with pytest.raises(ValueError, match=r"y\[1\] has float64 entries"):
        as_outputs([[1, 2], [0.5]])
