"""Clocks, and repetitions that take turns so that a busy machine disturbs all sides alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

Action = Callable[[], object]
Clock = Callable[[], float]


def seconds_of(action: Action, clock: Clock = time.process_time) -> float:
    """CPU seconds that one call takes, or seconds by another clock."""
    start = clock()
    action()
    return clock() - start


def take_turns(
    actions: Mapping[str, Action], repetitions: int, clock: Clock = time.process_time
) -> dict[str, list[float]]:
    """Seconds of every repetition by name: a, b, c, a, b, c, ... after one round that is not counted."""
    for action in actions.values():
        action()
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repetitions):
        for name, action in actions.items():
            seconds[name].append(seconds_of(action, clock))
    return seconds


def medians(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in seconds.items()}
