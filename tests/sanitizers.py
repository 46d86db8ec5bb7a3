"""Whether the core was built with a sanitizer, whose own memory and checks some tests would see."""

from __future__ import annotations

from pathlib import Path

from casimir._native import core


def has_sanitizer(data: bytes) -> bool:
    """Of the bytes of a module."""
    return b"__asan_init" in data or b"__tsan_init" in data


def core_has_sanitizer() -> bool:
    return has_sanitizer(Path(str(core.__file__)).read_bytes())
