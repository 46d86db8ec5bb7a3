"""Labels that write spans: which of them may follow one another, and which scheme they are in.

IOB1    I inside; B only where a span follows another of the same type at once
IOB2    B first, I inside (also called BIO)
IOBES   B first, I inside, E last, S for a single token
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.metrics import schemes

BoolArray = npt.NDArray[np.bool_]
Tag = tuple[str, str]  # prefix and type; ("O", "") outside of spans

_EDGE: Tag = ("", "")  # before the first token and behind the last
_OPEN = ("B", "I")


def _iob1(left: Tag, right: Tag) -> bool:
    return right[0] != "B" or (left[0] in _OPEN and left[1] == right[1])


def _iob2(left: Tag, right: Tag) -> bool:
    return right[0] != "I" or (left[0] in _OPEN and left[1] == right[1])


def _iobes(left: Tag, right: Tag) -> bool:
    opened, goes_on = left[0] in _OPEN, right[0] in ("I", "E")
    return (opened and goes_on and left[1] == right[1]) or not (opened or goes_on)


_RULES: dict[str, Callable[[Tag, Tag], bool]] = {"IOB2": _iob2, "IOB1": _iob1, "IOBES": _iobes}
SCHEMES = {"IOB1": "IOB1", "IOB2": "IOB2", "BIO": "IOB2", "IOBES": "IOBES", "BIOES": "IOBES"}


def write_spans(classes: Sequence[Any]) -> bool:
    """Whether labels look like spans: all are O or a prefix B, I, E, S with a type, and not all are O."""
    return schemes.write_spans([classes])


def scheme_mask(scheme: str, classes: Sequence[str]) -> BoolArray:
    """bool[L + 1, L + 1] (from, to): what may follow what; the last row is the start, the last column the end."""
    follows, tags = _RULES[scheme], [*map(schemes.parse_tag, classes), _EDGE]
    return np.array([[follows(left, right) for right in tags] for left in tags], dtype=np.bool_)


def detect(classes: Sequence[str], seen: npt.NDArray[np.int64]) -> str:
    """The scheme that the fewest neighbours break, IOB2 before IOB1 where they tie; E or S anywhere means IOBES.

    seen  int64[L + 1, L + 1]: how often one label follows another, start and end as in `scheme_mask`
    """
    if any(label[0] in "ES" for label in classes):
        return "IOBES"
    return min(("IOB2", "IOB1"), key=lambda scheme: int(seen[~scheme_mask(scheme, classes)].sum()))
