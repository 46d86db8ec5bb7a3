"""What computes the features of candidate boxes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray
from casimir.tasks.localize.pictures import Pixels

Described = npt.NDArray[np.float32]


class Descriptor(Protocol):
    """Phi(x, y) of a picture x and boxes y: cells of a grid on the box, each with the same channels.

    name       for people
    key        changes whenever the answer may: the settings and a hash of the weights
    cells      number of cells; 9 for a grid of 3 x 3, row by row
    channels   numbers per cell
    dim        cells * channels
    describe   float32[m, dim], cell by cell: `.reshape(m, cells, channels)`. Raw, not normalised, and the same for the
               same input: it is computed once and kept on disk.
    """

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def cells(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def dim(self) -> int: ...

    def describe(self, pixels: Pixels, boxes: IntArray) -> Described: ...
