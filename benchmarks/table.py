"""Rows of the result and their table in Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from casimir._native import isa_level

HEADER = ("what", "CRFsuite (same run)", "casimir", "ratio", "target", "reached?")


@dataclass(frozen=True)
class Row:
    """One line of the table; `reached` is None where nothing was measured; `numbers` go to JSON, `note` below."""

    what: str
    crfsuite: str
    casimir: str
    ratio: str
    target: str
    reached: bool | None
    note: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = "-" if self.reached is None else "yes" if self.reached else "**no**"
        return self.what, self.crfsuite, self.casimir, self.ratio, self.target, verdict

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def failed(what: str, target: str, error: BaseException) -> Row:
    """The row of a measurement that could not be made."""
    return Row(what, "-", f"failed: {type(error).__name__}: {error}".replace("|", "/"), "-", target, None)


def render(rows: Sequence[Row]) -> str:
    """A Markdown table, columns aligned, and the notes below it."""
    notes = [f"- {row.what}: {row.note}" for row in rows if row.note]
    return "\n".join([markdown(HEADER, [row.cells for row in rows]), *(["", *notes] if notes else [])])


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with aligned columns."""
    cells = [header, *rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(header))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def machine() -> str:
    """CPU model, number of CPUs, instruction set level in use."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} CPUs, core level {isa_level}, Python {platform.python_version()}"


def ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 0.1 else f"{1e3 * seconds:.0f} ms"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x"
