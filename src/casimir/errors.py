"""Errors that callers may want to catch by name."""

from __future__ import annotations


class Intractable(ValueError):
    """An oracle that a structure cannot offer in reasonable time; the message says what to use instead."""
