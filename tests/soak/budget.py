"""How long an attack goes on: a fixed small number of tries in the normal suite, minutes by SOAK_MINUTES."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator


def tries(short: int, share: float) -> Iterator[int]:
    """0, 1, ..., short - 1; with SOAK_MINUTES as many more as fit into this share of them.

    A number is the seed of its try, so that one try can be repeated: SOAK_FIRST=n starts there.
    """
    minutes, first = float(os.environ.get("SOAK_MINUTES", "0")), int(os.environ.get("SOAK_FIRST", "0"))
    until, number = time.monotonic() + 60.0 * minutes * share, first
    while number - first < short or time.monotonic() < until:
        yield number
        number += 1
    if minutes:
        print(f"{number - first} tries from {first}")


def examples(short: int) -> int:
    """How many examples hypothesis tries of a test: a fixed number, or as many as fit into some of the minutes."""
    return short * max(1, round(2.0 * float(os.environ.get("SOAK_MINUTES", "0"))))
