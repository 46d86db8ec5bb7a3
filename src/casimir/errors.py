"""Errors that callers may want to catch by name."""

from __future__ import annotations

from typing import Any


class Intractable(ValueError):
    """An oracle that a structure cannot offer in reasonable time; the message says what to use instead."""


class Diverged(FloatingPointError):
    """A run whose weights became infinite. `result` has the best point and the trace up to then, or is None."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class BrokenCertificate(ArithmeticError):
    """A lower bound that lies above the objective: nothing that was reported of the run can be relied on."""
