"""OpenCV, which is optional."""

from __future__ import annotations

from typing import Any


def opencv() -> Any:
    """The module cv2, or an ImportError that says what to install."""
    try:
        import cv2
    except ImportError:
        raise ImportError('Segmentation reads images with OpenCV: pip install "casimir[vision]".') from None
    if not hasattr(cv2, "ximgproc"):
        raise ImportError(
            "Segmentation needs the superpixels of OpenCV's contributed modules (cv2.ximgproc), which the OpenCV that "
            'is installed does not have. Remove it, then: pip install "casimir[vision]".'
        )
    return cv2
