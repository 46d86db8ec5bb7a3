"""Pictures with one object each: a file or pixels in memory, and the object's box where it is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._boxes import whole_boxes
from casimir.scores import IntArray
from casimir.tasks.opencv import decode_rgb

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Picture:
    """name    what to call it in tables and errors
    source  the path of an image file, or uint8[H, W, 3]: red, green, blue
    box     int64[4]: top, left, bottom, right of the object in pixels from 0, both ends inclusive; None when not known
    shape   (height, width) of the image that the box was drawn in, to be checked against the file; None when not known
    """

    name: str
    source: Path | Pixels
    box: IntArray | None = None
    shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.source, np.ndarray):
            check_pixels(self.source, self.name)
        else:
            object.__setattr__(self, "source", Path(self.source))
        if self.box is not None:
            object.__setattr__(self, "box", whole_boxes([self.box], f"the box of {self.name!r}")[0])

    def read(self) -> Pixels:
        """uint8[H, W, 3], RGB; a ValueError that names the file when it is missing or damaged."""
        if isinstance(self.source, np.ndarray):
            return self.source
        return decode_rgb(self._content(self.source), self.source)

    def digest(self) -> str:
        """A hash of the file's bytes, or of the pixels in memory: the same picture under another name has the same."""
        if isinstance(self.source, np.ndarray):
            shape = ",".join(map(str, self.source.shape)).encode()
            return hashlib.sha256(b"pixels " + shape + b":" + np.ascontiguousarray(self.source).tobytes()).hexdigest()
        return hashlib.sha256(b"file:" + self._content(self.source)).hexdigest()

    def _content(self, file: Path) -> bytes:
        try:
            return file.read_bytes()
        except OSError as error:
            raise ValueError(f"The image '{file}' cannot be read ({error.strerror}). Check the path.") from None


def pictures_of(objects: Iterable[Any]) -> list[Picture]:
    """Pictures from objects with pixels and a box, such as `casimir.datasets.objects.make_objects` gives."""
    return [Picture(f"picture {i}", o.pixels, o.box) for i, o in enumerate(objects)]


def truth_of(pictures: Sequence[Picture]) -> IntArray | None:
    """int64[n, 4]: the boxes of the objects; None unless all are known."""
    boxes = [picture.box for picture in pictures if picture.box is not None]
    return np.array(boxes, dtype=np.int64).reshape(-1, 4) if len(boxes) == len(pictures) else None


def check_pixels(pixels: Any, name: str) -> None:
    fits = isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] == 3
    if not fits or pixels.size == 0:
        given = f"{pixels.dtype}{list(pixels.shape)}" if isinstance(pixels, np.ndarray) else type(pixels).__name__
        raise ValueError(f"The pixels of {name!r} are {given}; they must be uint8[height, width, 3], in RGB.")
