"""Features of candidates: lengths, where boxes lie, what is near them."""

from __future__ import annotations

import numpy as np
import pytest

from casimir._boxes import iou
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.features import KINDS, FeatureMap
from casimir.tasks.localize.geometry import KNOTS, N_CROWD, N_PLACES, crowd, hats, neighbours, overlaps, places

SHAPE = np.array([30, 40])


def random_boxes(m: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, [[[30, 40]]], size=(m, 2, 2)), axis=1)
    return ends.reshape(m, 4)


# --- geometry


def test_hats_interpolate_linearly_between_knots() -> None:
    v = np.array([0.0, 0.2, 0.5, 0.97, 1.0, -3.0, 7.0])
    codes = hats(v)
    assert codes.shape == (7, KNOTS)
    np.testing.assert_allclose(codes.sum(axis=1), 1.0)
    np.testing.assert_allclose(codes @ np.linspace(0, 1, KNOTS), np.clip(v, 0, 1), atol=1e-12)
    assert (np.count_nonzero(codes > 1e-12, axis=1) <= 2).all()


def test_places_of_boxes() -> None:
    whole, corner = places(np.array([[0, 0, 9, 19], [0, 10, 4, 19]]), np.array([10, 20]))
    knots = np.linspace(0, 1, KNOTS)
    aspect = 0.5 + np.log2(0.5) / 4
    np.testing.assert_allclose(whole[:-4].reshape(6, KNOTS) @ knots, [1, 1, 1, 0.5, 0, aspect])
    np.testing.assert_allclose(corner[:-4].reshape(6, KNOTS) @ knots, [0.5, 0.5, 0.5, 0.25, 0.5, aspect])
    assert whole[-4:].tolist() == [0.5, 0.5, 0.5, 0.5]
    assert corner[-4:].tolist() == [0.5, 0, 0, 0.5]


def test_places_do_not_tell_left_from_right() -> None:
    boxes = random_boxes(20)
    mirrored = np.stack([boxes[:, 0], 39 - boxes[:, 3], boxes[:, 2], 39 - boxes[:, 1]], axis=1)
    np.testing.assert_allclose(places(boxes, SHAPE)[:, :-4], places(mirrored, SHAPE)[:, :-4], atol=1e-12)


def test_numbers_about_boxes_are_bounded_at_the_borders_too() -> None:
    edges = np.array([[0, 0, 29, 39], [0, 0, 0, 0], [29, 39, 29, 39], [0, 0, 0, 39], [0, 39, 29, 39]])
    boxes = np.concatenate([edges, random_boxes(50)])
    about = np.concatenate([places(boxes, SHAPE), crowd(*overlaps(boxes))], axis=1)
    assert about.shape == (55, N_PLACES + N_CROWD)
    assert about.min() >= 0.0
    assert about.max() <= 1.0 + 1e-12
    one = crowd(*overlaps(edges[:1]))
    np.testing.assert_allclose(one, 1.0)  # a candidate alone agrees with itself


def test_overlaps_are_those_of_single_pairs() -> None:
    boxes = random_boxes(12)
    ratio, share = overlaps(boxes)
    np.testing.assert_allclose(ratio, iou(boxes[:, None], boxes[None]))
    np.testing.assert_allclose(np.diag(share), 1.0)
    ratio, share = overlaps(np.array([[0, 0, 9, 9], [0, 0, 4, 9], [20, 20, 21, 21]]))
    np.testing.assert_allclose(ratio, [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(share, [[1, 0.5, 0], [1, 1, 0], [0, 0, 1]])


def test_crowd_counts_candidates() -> None:
    boxes = np.array([[0, 0, 9, 9], [0, 0, 9, 7], [0, 0, 1, 1], [20, 20, 29, 29]])
    counts = np.expm1(crowd(*overlaps(boxes)) * np.log(5))
    np.testing.assert_allclose(counts[0, :4], [2, 2, 3, 1])
    np.testing.assert_allclose(counts[2, :4], [1, 1, 1, 3])
    np.testing.assert_allclose(counts[3], 1.0)
    np.testing.assert_allclose(counts[0, 4], 1 + 0.8**4 + 0.04**4)


def test_neighbours_average_what_overlaps() -> None:
    ratio, _ = overlaps(np.array([[0, 0, 9, 9], [0, 0, 4, 9], [20, 20, 21, 21]]))
    rows = np.eye(3, dtype=np.float32)
    weight = 1 / 17
    expected = [[1 - weight, weight, 0], [weight, 1 - weight, 0], [0, 0, 1]]
    np.testing.assert_allclose(neighbours(rows, ratio), expected, rtol=1e-6)


# --- the features


def test_descriptors_get_the_length_one() -> None:
    given = np.array([[3.0, 4.0], [0.0, 0.0], [30000.0, 40000.0]], dtype=np.float16)
    boxes = np.array([[0, 0, 1, 1]] * 3)
    rows = FeatureMap(2, 1, "paper").rows(given, boxes, None)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0], [0.6, 0.8]], atol=1e-3)
    raw = FeatureMap(2, 1, "raw").rows(given, boxes, None)
    np.testing.assert_array_equal(raw, given.astype(np.float32))
    rooted = FeatureMap(2, 1, "geometry").rows(np.array([[9.0, -16.0]]), boxes[:1], [8, 8])
    np.testing.assert_allclose(rooted.reshape(2, -1)[:, 0], [0.6, -0.8], rtol=1e-6)
    with pytest.raises(ValueError, match="one of full, geometry, paper, raw"):
        FeatureMap(2, 1, "max")
    with pytest.raises(ValueError, match=r"are \[3, 2\]; 3 boxes need \[3, 4\]"):
        FeatureMap(2, 2).rows(given, boxes, [8, 8])


@pytest.mark.parametrize("kind", KINDS)
def test_features_have_the_shape_they_say_and_are_bounded(kind: str) -> None:
    boxes, features = random_boxes(15), FeatureMap(4, 3, kind)
    given = np.random.default_rng(1).normal(size=(15, 12)).astype(np.float16) * 100
    given[3] = 0.0
    rows = features.rows(given, boxes, SHAPE)
    assert rows.dtype == np.float32
    assert rows.shape == (15, 4 * features.n_channels)
    assert np.isfinite(rows).all()
    if kind != "raw":
        assert np.linalg.norm(rows, axis=1).max() <= 1.75  # 1 + 1 + 0.3^2 (6 + 1 + 5), and the root
    np.testing.assert_array_equal(rows, features.rows(given.copy(), boxes.copy(), SHAPE.copy()))


def test_every_cell_has_its_own_channels_those_of_neighbours_and_the_places() -> None:
    boxes, given = random_boxes(6), np.random.default_rng(1).random((6, 12), dtype=np.float32)
    rows = FeatureMap(4, 3).rows(given, boxes, SHAPE).reshape(6, 4, -1)
    own = np.sqrt(given) / np.linalg.norm(np.sqrt(given), axis=1, keepdims=True)
    ratio, share = overlaps(boxes)
    np.testing.assert_allclose(rows[:, :, :3], own.reshape(6, 4, 3), rtol=1e-5)
    np.testing.assert_allclose(rows[:, :, 3:6], neighbours(own, ratio).reshape(6, 4, 3), rtol=1e-5)
    about = np.concatenate([places(boxes, SHAPE), crowd(ratio, share)], axis=1)
    for cell in range(4):
        np.testing.assert_allclose(rows[:, cell, 6:], about * 0.15, rtol=1e-6)
    fewer = FeatureMap(4, 3, "geometry").rows(given, boxes, SHAPE).reshape(6, 4, -1)
    np.testing.assert_array_equal(fewer, np.delete(rows, [3, 4, 5], axis=2))


def test_the_order_of_candidates_only_orders_their_features() -> None:
    boxes, given = random_boxes(9), np.random.default_rng(1).random((9, 12), dtype=np.float32)
    order, features = np.random.default_rng(2).permutation(9), FeatureMap(4, 3)
    rows = features.rows(given, boxes, SHAPE)
    np.testing.assert_allclose(features.rows(given[order], boxes[order], SHAPE), rows[order], rtol=1e-5, atol=1e-7)


def test_features_of_all_pictures_lie_in_one_array() -> None:
    boxes = [np.array([[0, 0, 1, 1], [0, 0, 2, 2]]), np.array([[1, 1, 3, 3]])]
    blocks = [np.ones((2, 4), dtype=np.float16), np.full((1, 4), 3.0, dtype=np.float32)]
    candidates = CandidateSet(["a", "b"], boxes, blocks, shapes=np.array([[4, 4], [5, 5]]))
    features = FeatureMap(4, 1)
    rows, offsets = features.stacked(candidates)
    assert rows.dtype == np.float32
    assert offsets.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(rows[2:], features.rows(blocks[1], boxes[1], [5, 5]))
    without = CandidateSet(["a", "b"], boxes, blocks)
    assert FeatureMap(4, 1, "paper").stacked(without)[0].shape == (3, 4)
    with pytest.raises(ValueError, match="how large their pictures are"):
        features.stacked(without)
