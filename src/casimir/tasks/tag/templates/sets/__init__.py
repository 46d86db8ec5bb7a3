"""The feature sets as texts of templates, which users may copy and change."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def text_of(name: str) -> str:
    """The templates of a set, such as "default"."""
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
