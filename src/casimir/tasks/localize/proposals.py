"""Candidate boxes by selective search: regions of a picture, merged step by step (van de Sande et al., 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir.scores import IntArray
from casimir.tasks.localize.pictures import Pixels, check_pixels
from casimir.tasks.opencv import opencv

LONG_SIDE = 256  # pixels; a larger picture is made smaller for the search
TOP = 1000


def propose(pixels: Pixels, top: int = TOP) -> IntArray:
    """int64[m, 4], 1 <= m <= top: distinct boxes (top, left, bottom, right), inclusive, in lexicographic order.

    OpenCV's fast mode on the picture with its long side at 256 pixels or less; boxes are in pixels of the picture as
    given. The box of the whole picture is always among them, also when nothing else stands out. OpenCV shuffles the
    boxes, preferring large regions, so there is no first thousand to keep: of more than `top` the largest are kept.
    """
    check_pixels(pixels, "picture")
    if not isinstance(top, int | np.integer) or top < 1:
        raise ValueError(f"top={top!r}; it must be a whole number of boxes, 1 or larger.")
    small = shrunk(pixels)
    boxes = _scaled(_search(small), small.shape[:2], pixels.shape[:2])
    whole = np.array([[0, 0, pixels.shape[0] - 1, pixels.shape[1] - 1]], dtype=np.int64)
    boxes = np.unique(np.concatenate([boxes, whole]), axis=0)
    if len(boxes) > top:
        area = np.prod(boxes[:, 2:] - boxes[:, :2] + 1, axis=1)
        boxes = boxes[np.sort(np.argsort(-area, kind="stable")[:top])]
    return boxes


def settings() -> dict[str, Any]:
    """What the boxes depend on besides the picture and `top`."""
    return {"search": "opencv-fast", "long_side": LONG_SIDE}


def shrunk(pixels: Pixels) -> Pixels:
    """The picture with its long side at 256 pixels; a smaller one as it is."""
    height, width = pixels.shape[:2]
    if max(height, width) <= LONG_SIDE:
        return pixels
    scale = LONG_SIDE / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    cv2 = opencv()
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))


def _search(pixels: Pixels) -> IntArray:
    """int64[m, 4]: left, top, width, height."""
    search = opencv().ximgproc.segmentation.createSelectiveSearchSegmentation()
    search.setBaseImage(np.ascontiguousarray(pixels[:, :, ::-1]))  # OpenCV's order is blue, green, red
    search.switchToSelectiveSearchFast()
    return np.asarray(search.process(), dtype=np.int64).reshape(-1, 4)


def _scaled(found: IntArray, small: tuple[int, ...], shape: tuple[int, ...]) -> IntArray:
    """Boxes of the smaller picture -> the smallest boxes of pixels of the picture that hold them."""
    scale = np.array(shape) / np.array(small)
    low, size = found[:, [1, 0]], found[:, [3, 2]]
    first = np.floor(low * scale)
    last = np.ceil((low + size) * scale) - 1
    last = np.minimum(last, np.array(shape) - 1)
    return np.concatenate([np.minimum(first, last), last], axis=1).astype(np.int64)
