"""What fit does to hold little: features renumbered in place, weights kept without zeros."""

from __future__ import annotations

import numpy as np
import pytest
from problems import chain_parts

import casimir as cs
import casimir.solvers.dual_proximal as dual_proximal
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


def _weights(n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    w = np.where(rng.random(n) < share, rng.normal(size=n), 0.0)
    w[:3] = -0.0, 0.0, 5e-324
    return w


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("n", [3, 64, 1000, 4096, 9001])
def test_kept_weights_come_back_bit_by_bit(n: int, share: float) -> None:
    w = _weights(n, share, np.random.default_rng(0))
    kept = Kept.of(w)
    w_before, w[:] = w.copy(), 7.0
    np.testing.assert_array_equal(kept.vector().view(np.int64), w_before.view(np.int64))
    kept.write(w)
    np.testing.assert_array_equal(w.view(np.int64), w_before.view(np.int64))


def test_kept_weights_need_little_memory_where_most_are_zero() -> None:
    rng = np.random.default_rng(0)
    assert Kept.of(_weights(10**5, 0.1, rng)).nbytes < 0.13 * 8e5
    assert Kept.of(_weights(10**5, 1.0, rng)).nbytes < 1.03 * 8e5


@pytest.mark.parametrize(("share", "other"), [(0.0, 0.3), (0.1, 0.1), (0.4, 1.0), (1.0, 0.1)])
def test_sums_with_kept_weights_are_those_of_arrays(share: float, other: float) -> None:
    rng = np.random.default_rng(1)
    v, y = _weights(9001, share, rng), _weights(9001, other, rng)
    kept, total = Kept.of(v), 0.3 * v - 1.7 * y
    near = {"rtol": 1e-14, "atol": 1e-14}
    np.testing.assert_allclose(kept.products_of_sum(0.3, -1.7, y), [total @ total, total @ y], rtol=1e-12)
    changed = y.copy()
    kept.add_to(changed, 0.3, -1.7)
    np.testing.assert_allclose(changed, total, **near)
    kept.mix(0.3, -1.7, y)
    np.testing.assert_allclose(kept.vector(), total, **near)


def test_sums_with_kept_weights_have_the_same_bits_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    v, y = _weights(400_001, 0.2, rng), _weights(400_001, 0.5, rng)
    found = []
    for threads in (1, 2, 3, 7):
        kept, changed = Kept.of(v, threads), y.copy()
        products = kept.products_of_sum(0.3, -1.7, y)
        kept.add_to(changed, 0.3, -1.7)
        kept.mix(0.3, -1.7, y)
        np.testing.assert_array_equal(kept.vector(), changed)
        found.append((products, changed))
    for products, changed in found[1:]:
        assert products == found[0][0]
        np.testing.assert_array_equal(changed, found[0][1])


@pytest.mark.parametrize("lam", [0.1, 1e-4])
def test_the_solver_does_the_same_with_kept_vectors_and_with_arrays(
    lam: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = chain_parts(n=30, n_labels=3).objective(lam)
    kept = cs.minimize(objective, cs.DualProximal(), epochs=60, tol=0.0)
    monkeypatch.setattr(dual_proximal, "_keeps", lambda *_: False)
    arrays = cs.minimize(objective, cs.DualProximal(), epochs=60, tol=0.0)
    assert len(kept.trace) == len(arrays.trace) > 2
    np.testing.assert_allclose(kept.trace["dual"], arrays.trace["dual"], rtol=1e-9)
    np.testing.assert_allclose(kept.w, arrays.w, atol=1e-9)
