"""Superpixels, descriptors and graphs: shapes, invariants, the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from casimir.datasets.blobs import make_blobs
from casimir.tasks.segment import appearance, context
from casimir.tasks.segment.boundaries import N_EDGE_FEATURES, boundaries
from casimir.tasks.segment.channels import Channels
from casimir.tasks.segment.colours import colour_ratio
from casimir.tasks.segment.features import learn_features, resized_mask
from casimir.tasks.segment.fourier import FourierMap
from casimir.tasks.segment.pictures import Picture
from casimir.tasks.segment.ridge import FoldedRidge
from casimir.tasks.segment.shapes import Shapes
from casimir.tasks.segment.superpixels import Superpixels


@pytest.fixture(scope="module")
def channels(few_blobs: list[Picture]) -> Channels:
    return Channels.of(few_blobs[0].image)


@pytest.fixture(scope="module")
def superpixels(channels: Channels) -> Superpixels:
    return Superpixels.of(channels.lab)


def test_blobs_are_the_same_every_time() -> None:
    for first, second in zip(make_blobs(3, 5), make_blobs(4, 5), strict=False):
        np.testing.assert_array_equal(first.image, second.image)
        np.testing.assert_array_equal(first.mask, second.mask)
    assert not np.array_equal(make_blobs(1, 0)[0].mask, make_blobs(1, 1)[0].mask)


def test_superpixels_cover_the_image(channels: Channels, superpixels: Superpixels) -> None:
    assert superpixels.labels.shape == channels.gradient.shape
    np.testing.assert_array_equal(np.unique(superpixels.labels), np.arange(len(superpixels)))
    assert superpixels.size.sum() == superpixels.labels.size
    np.testing.assert_array_equal(Superpixels.of(channels.lab).labels, superpixels.labels)


def test_means_over_superpixels(channels: Channels, superpixels: Superpixels) -> None:
    by_hand = channels.lab[superpixels.labels == 7].mean(axis=0)
    np.testing.assert_allclose(superpixels.mean(channels.lab)[7], by_hand, rtol=1e-5)


def test_looking_around_stops_at_the_border(superpixels: Superpixels) -> None:
    row, column = np.indices(superpixels.labels.shape)
    around = superpixels.around(row * 1000 + column, 1e6)
    height, width = superpixels.labels.shape
    assert around[0].max() == 0
    assert around[8].min() == (height - 1) * 1000 + width - 1


def test_orientations_share_the_gradient(channels: Channels) -> None:
    np.testing.assert_allclose(channels.oriented.sum(axis=2), channels.gradient, atol=1e-5)


def test_a_vertical_edge_has_one_orientation() -> None:
    image = np.zeros((32, 32, 3), dtype=np.uint8)
    image[:, 16:] = 255
    total = Channels.of(image).oriented.sum(axis=(0, 1))
    assert total[0] > 0.99 * total.sum()


def test_descriptors_have_their_groups(channels: Channels, superpixels: Superpixels, few_blobs: list[Picture]) -> None:
    first = appearance.appearance(channels, superpixels)
    shapes = Shapes.of([p.mask for p in few_blobs if p.mask is not None], np.arange(12) % 3)
    score = np.linspace(-3, 3, len(superpixels), dtype=np.float32)
    second = context.context(channels.lab, superpixels, score, shapes, 0)
    for groups, importance in ((first, appearance.IMPORTANCE), (second, context.IMPORTANCE)):
        assert set(groups) == set(importance)
        assert all(len(g) == len(superpixels) and np.isfinite(g).all() for g in groups.values())


def test_a_training_picture_never_sees_shapes_of_its_own_fold() -> None:
    masks = [np.zeros((24, 32), dtype=bool), np.ones((24, 32), dtype=bool)]
    shapes = Shapes.of(masks, np.array([0, 1]))
    sure = np.ones((24, 32), dtype=np.float32)
    assert shapes.expected(sure).min() > 0.99
    assert shapes.expected(sure, fold=1).max() == 0.0


def test_colours_of_the_foreground_have_a_positive_ratio() -> None:
    lab = np.zeros((20, 20, 3), dtype=np.float32)
    lab[:, 10:] = (0.8, 0.3, -0.3)
    probability = np.where(np.arange(20) < 10, 0.1, 0.9).astype(np.float32)[None].repeat(20, axis=0)
    ratio = colour_ratio(lab, probability)
    assert ratio[:, :10].max() < 0 < ratio[:, 10:].min()


def test_edges_join_touching_superpixels_once(channels: Channels, superpixels: Superpixels) -> None:
    score = np.zeros(len(superpixels), dtype=np.float32)
    edges, cuts = boundaries(channels.lab, superpixels, score)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert cuts.shape == (len(edges), N_EDGE_FEATURES)
    assert (cuts >= 0).all()
    assert (cuts <= cuts[:, :1] + 1e-12).all(), "no feature is larger than the length"


def test_fourier_features_approximate_the_kernel(rng: np.random.Generator) -> None:
    groups = {"a": rng.normal(size=(50, 3)).astype(np.float32)}
    fourier = FourierMap.fit([groups], {"a": 1.0}, 20_000, 0.3, rng)
    z = fourier.scaled(groups, {"a": 1.0})
    features = fourier.of(z)
    kernel = np.exp(-0.3 * np.square(z[:, None] - z[None]).sum(axis=2))
    np.testing.assert_allclose(features @ features.T, kernel, atol=0.05)
    assert np.square(z).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("per_phase", [False, True])
def test_fourier_features_are_the_cosines_of_their_formula(rng: np.random.Generator, per_phase: bool) -> None:
    """With one frequency for two phases, and as in older models with one for each."""
    k, d = 5, 12
    frequencies = rng.normal(size=(k, d if per_phase else d // 2)).astype(np.float32)
    phases = rng.uniform(0.0, 6.0, d).astype(np.float32)
    zeros, z = np.zeros(k, dtype=np.float32), rng.normal(size=(7, k)).astype(np.float32)
    fourier = FourierMap(zeros, zeros + 1, frequencies, phases)
    waves = z @ (frequencies if per_phase else np.concatenate([frequencies, frequencies], axis=1)) + phases
    np.testing.assert_allclose(fourier.of(z), np.sqrt(2.0 / d) * np.cos(waves), atol=1e-5)


def test_ridge_without_a_fold_is_ridge_on_the_others(rng: np.random.Generator) -> None:
    x, target, weight = rng.normal(size=(3, 40, 5)).astype(np.float32), rng.normal(size=(3, 40)), rng.random((3, 40))
    ridge = FoldedRidge(5, 3, 0.1)
    for fold in range(3):
        ridge.add(fold, x[fold], target[fold], weight[fold])
    a, t, r = (np.concatenate(part[[0, 2]]).astype(np.float64) for part in (x, target, weight))
    expected = np.linalg.solve(a.T @ (r[:, None] * a) + 0.1 * r.sum() * np.eye(5), a.T @ (r * t))
    np.testing.assert_allclose(ridge.solve(without=1), expected, rtol=1e-4, atol=1e-5)


def test_learning_twice_gives_the_same(few_blobs: list[Picture], small_looks: None) -> None:
    first, second = (learn_features(few_blobs[:4], seed=3)[1] for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.nodes, b.nodes)
        np.testing.assert_array_equal(a.cuts, b.cuts)


def test_learning_needs_masks(few_blobs: list[Picture]) -> None:
    with pytest.raises(ValueError, match="'it' has no mask"):
        learn_features([Picture("it", few_blobs[0].image)])


def test_masks_keep_their_meaning_in_other_sizes() -> None:
    mask = np.zeros((40, 60), dtype=bool)
    mask[10:30, 20:50] = True
    small = resized_mask(mask, (20, 30))
    assert small.sum() == mask.sum() / 4
    np.testing.assert_array_equal(resized_mask(mask, (40, 60)), mask)
    assert abs(int(resized_mask(small, (40, 60)).sum()) - int(mask.sum())) < 100
