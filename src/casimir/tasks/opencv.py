"""OpenCV, which is optional, and image files read and written with it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._warnings import warn

_PIXELS = 2**27  # of an image at most, unless the environment says otherwise
_COMPLAINT = "Corrupt JPEG data"
_ONE_AT_A_TIME = Lock()


def opencv() -> Any:
    """The module cv2, or an ImportError that says what to install."""
    os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(_PIXELS))  # OpenCV reads it when it is loaded
    try:
        import cv2
    except ImportError:
        raise ImportError('Images are read with OpenCV: pip install "casimir[vision]".') from None
    if not hasattr(cv2, "ximgproc"):
        raise ImportError(
            "Superpixels and selective search are in OpenCV's contributed modules (cv2.ximgproc), which the OpenCV "
            'that is installed does not have. Remove it, then: pip install "casimir[vision]".'
        )
    return cv2


def read_bytes(file: str | os.PathLike[str]) -> bytes:
    """The content of a file; an error names it."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise type(error)(f"'{file}' cannot be read ({error.strerror}). Check the path.") from None


def decode_image(data: bytes, flag: int, file: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """The pixels of an encoded image as OpenCV has them (blue, green, red). flag: one of cv2.IMREAD_*"""
    # Not cv2.imread, which cannot open every name on every system and does not say why it failed.
    pixels = decoded(opencv(), data, flag, file)
    if pixels is None:
        raise ValueError(f"'{file}' is not an image that OpenCV can read, or it is damaged.")
    return pixels


def decoded(cv2: Any, data: bytes, flag: int, file: str | os.PathLike[str]) -> npt.NDArray[Any] | None:
    """The pixels, None for what is no image; a warning names a file of which the decoder says that it is damaged."""
    if not data or is_cut(data):
        return None
    try:
        with _overheard() as said:
            pixels = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), flag)
    except cv2.error:  # such as more pixels than OpenCV is willing to read
        return None
    if said and pixels is not None:
        warn(f"'{file}' is damaged ({said[0]}); what could be read of it is used.")
    return None if pixels is None else np.asarray(pixels)


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """What the JPEG decoder writes to stderr meanwhile, of all files one after another; it says it nowhere else."""
    said: list[str] = []
    with _ONE_AT_A_TIME, tempfile.TemporaryFile() as heard:
        try:
            before = os.dup(2)
        except OSError:  # there is no stderr
            yield said
            return
        os.dup2(heard.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(before, 2)
            os.close(before)
            heard.seek(0)
            for line in heard.read().decode(errors="replace").splitlines():
                if _COMPLAINT in line:
                    said.append(line)
                else:
                    sys.stderr.write(line + "\n")


def decode_rgb(data: bytes, file: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    """uint8[H, W, 3]: red, green, blue. Grey images get three equal channels."""
    cv2 = opencv()
    return np.asarray(cv2.cvtColor(decode_image(data, cv2.IMREAD_COLOR, file), cv2.COLOR_BGR2RGB), dtype=np.uint8)


def write_image(file: str | os.PathLike[str], image: npt.NDArray[Any]) -> None:
    """An RGB image, or a mask as black and white."""
    cv2 = opencv()
    pixels = image.astype(np.uint8) * 255 if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    path = Path(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(path.suffix, pixels)[1].tobytes())
    except OSError as error:
        raise type(error)(
            f"'{path}' cannot be written ({error.strerror}). Free some space or give a folder that you may write to."
        ) from None


def is_cut(data: bytes) -> bool:
    """Whether a JPEG lacks its end: some versions of OpenCV fill the rest with grey and say nothing."""
    return data[:3] == b"\xff\xd8\xff" and data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda")
