"""The boxes that may be predicted in each picture, with their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray

Features = npt.NDArray[Any]  # float16 or float32 [m, dim]


@dataclass(frozen=True, eq=False)
class CandidateSet:
    """names     of the n pictures
    boxes     int64[m_i, 4] each: top, left, bottom, right in pixels from 0, both ends inclusive
    features  float16 or float32 [m_i, dim] each, as the descriptor gave them; may map files, opened when asked for
    truth     int64[n, 4]: the boxes of the objects; None when they are not known
    shapes    int64[n, 2]: height and width of the pictures; None when they are not known
    """

    names: list[str]
    boxes: list[IntArray]
    features: Sequence[Features]
    truth: IntArray | None = None
    shapes: IntArray | None = None

    def __post_init__(self) -> None:
        if len(self.boxes) != len(self.names):
            raise ValueError(f"There are {len(self.names)} pictures, but {len(self.boxes)} lists of boxes.")
        for name, boxes in zip(self.names, self.boxes, strict=True):
            if len(boxes) == 0:
                raise ValueError(
                    f"{name!r} has no candidate boxes, so nothing can be predicted in it. Leave it out, or give it at "
                    "least the box of the whole picture."
                )
        for part in (self.features, self.truth, self.shapes):
            if part is not None and len(part) != len(self.names):
                raise ValueError(
                    f"There are {len(self.names)} pictures, but {len(part)} features, true boxes or shapes."
                )

    def __len__(self) -> int:
        return len(self.names)

    def select(self, examples: Sequence[int] | IntArray) -> CandidateSet:
        """The pictures with these numbers, in this order; features are not copied."""
        chosen = [int(i) for i in examples]
        rows = np.array(chosen, dtype=np.int64)
        return CandidateSet(
            [self.names[i] for i in chosen],
            [self.boxes[i] for i in chosen],
            _Chosen(self.features, chosen),
            None if self.truth is None else self.truth[rows],
            None if self.shapes is None else self.shapes[rows],
        )


class _Chosen(Sequence[Features]):
    """Some elements of a sequence, fetched when they are asked for."""

    def __init__(self, of: Sequence[Features], chosen: list[int]) -> None:
        self._of, self._chosen = of, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, i: Any) -> Any:
        return [self._of[k] for k in self._chosen[i]] if isinstance(i, slice) else self._of[self._chosen[i]]
