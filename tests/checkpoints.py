"""Runs that are interrupted and go on, and what must be the same as without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import casimir as cs

CLOCKS = ("seconds", "cpu_seconds", "evaluation_seconds")


class InterruptAt:
    """A callback: Ctrl-C in this epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def __call__(self, row: Any, w: Any) -> None:
        if row.epoch >= self.epoch:
            raise KeyboardInterrupt


def told(result: cs.Result | Any) -> dict[str, Any]:
    """All of a result but the clocks, the weights as bytes."""
    rows = [{name: x for name, x in row.items() if name not in CLOCKS} for row in result.trace.as_dicts()]
    return {
        "w": result.w.tobytes(),
        "found": (result.objective, result.dual, result.gap, result.status),
        "rows": rows,
    }


def gone_on(
    make: Callable[[], cs.Objective], solver: Any, folder: Path, at: Sequence[int], epochs: int = 9, **options: Any
) -> Any:
    """The result of a run that is interrupted in these epochs, every part of it on an objective of its own."""
    checkpoint = cs.Checkpoint(folder, every_seconds=1e6)
    for epoch in at:
        cs.minimize(make(), solver, epochs, 0.0, callbacks=[InterruptAt(epoch)], checkpoint=checkpoint, **options)
    return cs.minimize(make(), solver, epochs, 0.0, checkpoint=checkpoint, **options)
