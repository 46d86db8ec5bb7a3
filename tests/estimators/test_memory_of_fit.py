"""What fit does to hold little: features renumbered in place, weights kept without zeros."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.compact import UsedFeatures
from casimir.solvers.kept import Kept

SENTENCES = [[["Ada", "title"], ["ran"]], [["a"], ["cat"], ["ran"]]] * 4
TAGS = [["N", "V"], ["D", "N", "V"]] * 4


def test_features_that_the_caller_packed_stay_as_they_are() -> None:
    packed = cs.pack(SENTENCES)
    indices = packed.indices.copy()
    by_hand, by_fit = (cs.SequenceTagger().fit(X, TAGS) for X in (packed, SENTENCES))
    np.testing.assert_array_equal(packed.indices, indices)
    np.testing.assert_array_equal(by_hand.coef_, by_fit.coef_)


def test_numbers_in_place_are_those_of_a_copy() -> None:
    kept, given = cs.pack(SENTENCES), cs.pack(SENTENCES)
    (features, copy), (same, in_place) = UsedFeatures.of(kept), UsedFeatures.of(given, overwrite=True)
    assert copy.indices is not kept.indices
    np.testing.assert_array_equal(in_place.indices, copy.indices)
    np.testing.assert_array_equal(same.used, features.used)
    assert len(given.indices) == 0


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_kept_weights_come_back_bit_by_bit(share: float) -> None:
    rng = np.random.default_rng(0)
    w = np.where(rng.random(1000) < share, rng.normal(size=1000), 0.0)
    w[:3] = -0.0, 0.0, 5e-324
    kept = Kept.of(w)
    w_before, w[:] = w.copy(), 7.0
    np.testing.assert_array_equal(kept.vector().view(np.int64), w_before.view(np.int64))
    assert (kept.there is None) == (share > 0.5)
