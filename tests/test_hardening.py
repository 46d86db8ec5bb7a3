"""The built modules have what makes a mistake in them hard to use: read from their ELF files."""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from sanitizers import has_sanitizer

from casimir import _cpu
from casimir._native import core

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ELF files only")

PT_DYNAMIC, PT_STACK, PT_RELRO = 2, 0x6474E551, 0x6474E552
DT_FLAGS, DT_FLAGS_1, EXECUTABLE = 30, 0x6FFFFFFB, 1
BIND_NOW, NOW = 8, 1


@dataclass(frozen=True)
class Module:
    segments: dict[int, int]  # type -> flags
    dynamic: dict[int, int]  # tag -> value
    data: bytes


def read(file: Path) -> Module:
    data = file.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", "64 bits, little-endian"
    [start] = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments, dynamic = {}, {}
    for number in range(count):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, start + number * size)
        segments[kind] = flags
        if kind == PT_DYNAMIC:
            dynamic = dict(struct.iter_unpack("<QQ", data[offset : offset + length // 16 * 16]))
    return Module(segments, dynamic, data)


def modules() -> list[Path]:
    """Those of all levels beside the one that is in use."""
    own = Path(str(core.__file__))
    return [*sorted(own.parent.glob("_core_v*.so")), Path(_cpu.__file__)]


@pytest.mark.parametrize("file", modules(), ids=lambda file: file.name.partition(".")[0])
def test_modules_are_hardened(file: Path) -> None:
    module = read(file)
    if has_sanitizer(module.data):
        pytest.skip("built with a sanitizer")
    assert PT_RELRO in module.segments, "tables of addresses are read-only"
    flags = module.dynamic.get(DT_FLAGS, 0) & BIND_NOW or module.dynamic.get(DT_FLAGS_1, 0) & NOW
    assert flags, "they are filled in at the start, so that all of them are"
    assert not module.segments[PT_STACK] & EXECUTABLE
    if file.name.startswith("_core"):
        assert b"__stack_chk_fail" in module.data, "the stack is protected"
