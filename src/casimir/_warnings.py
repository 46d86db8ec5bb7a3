"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning whose place is the first caller outside of casimir."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("casimir."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
