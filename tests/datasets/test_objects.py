"""The made-up images with one object each."""

from __future__ import annotations

import numpy as np

from casimir.datasets.objects import load_objects, make_objects


def test_images_depend_on_the_seed_and_their_number_alone() -> None:
    one, longer, other = make_objects(2, seed=3), make_objects(3, seed=3), make_objects(2, seed=4)
    for a, b in zip(one, longer, strict=False):
        np.testing.assert_array_equal(a.pixels, b.pixels)
        np.testing.assert_array_equal(a.box, b.box)
    assert one[0].pixels.shape != other[0].pixels.shape or np.any(one[0].pixels != other[0].pixels)


def test_every_image_has_a_box_of_a_good_size() -> None:
    for image in make_objects(20):
        height, width, channels = image.pixels.shape
        top, left, bottom, right = image.box
        assert image.pixels.dtype == np.uint8
        assert channels == 3
        assert 96 <= height <= 160
        assert 96 <= width <= 160
        assert 0 <= top < bottom < height
        assert 0 <= left < right < width
        assert 0.2 < (bottom - top + 1) / height < 0.65
        assert 0.2 < (right - left + 1) / width < 0.65


def test_the_object_is_warm_and_dark() -> None:
    for image in make_objects(5):
        top, left, bottom, right = image.box
        middle = image.pixels[(3 * top + bottom) // 4 : (top + 3 * bottom) // 4, (3 * left + right) // 4 : right]
        red, _, blue = middle.reshape(-1, 3).astype(float).T
        assert 0.2 < np.mean(red > blue + 60) < 0.8


def test_the_two_parts_share_no_image() -> None:
    objects = load_objects()
    assert (len(objects.train), len(objects.heldout)) == (120, 80)
    assert len({image.pixels.tobytes() for image in objects.train + objects.heldout}) == 200
