"""The live line of a training fits on its terminal."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from casimir.progress import Progress


def last_line(width: int, more: list[str]) -> str:
    """What a terminal so wide shows at the end."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=width, color_system=None)
    row: Any = SimpleNamespace(epoch=119, objective=1.455568, gap=8.2e-3, prox_gradient=None, seconds=1234.5)
    with Progress(console=console) as progress:
        progress.more = lambda: more
        progress(row, None)
    return shown.getvalue().rsplit("epoch", 1)[1]


@pytest.mark.parametrize(
    ("width", "words"), [(80, ["F 1.45557", "gap 8.2e-03"]), (120, ["objective", "certified gap"])]
)
def test_a_live_line_leaves_nothing_of_its_figures_out(width: int, words: list[str]) -> None:
    more = ["1.48 k tokens/s", "177 MB moved"]
    line = last_line(width, more)
    assert "…" not in line
    for said in (*words, *more):
        assert said in line
    assert ("certified" in line) == (width == 120)


def test_without_more_figures_a_terminal_of_80_columns_has_the_whole_words() -> None:
    assert "objective 1.45557  certified gap 8.2e-03" in last_line(80, [])
