"""Tables of experiments as text: one in a file, several of the same rows on a narrow terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from casimir.cli.experiment import _show_grids
from casimir.experiments.grids import Grid

HEADER = ["method", "runs", "excess", "all calls"]
GRID = Grid("news", HEADER, [["SGD", "2", "3.51", "4.6180 ± 0.0059"], ["Casimir-SVRG", "10", "0.1", "-"]])


def test_a_table_has_columns_of_one_width() -> None:
    (table,) = GRID.aligned()
    assert table == [
        "method        runs  excess        all calls",
        "SGD              2    3.51  4.6180 ± 0.0059",
        "Casimir-SVRG    10     0.1                -",
    ]
    assert GRID.aligned(len(table[0])) == [table]


@pytest.mark.parametrize("width", range(1, 43))
def test_a_narrow_table_is_in_parts_that_have_all_columns_once_and_the_names_always(width: int) -> None:
    parts = GRID.aligned(width)
    assert len(parts) > 1
    columns = [column for part in parts for column in part[0].removeprefix("method").split("  ") if column]
    assert [one.strip() for one in columns] == HEADER[1:]
    for part in parts:
        assert [line[:12].strip() for line in part] == ["method", "SGD", "Casimir-SVRG"]
        n_columns = sum(name in part[0].split("  ") or f" {name}" in part[0] for name in HEADER[1:])
        assert n_columns == 1 or max(map(len, part)) <= width


@pytest.mark.parametrize("width", [30, 44])
def test_no_line_of_a_table_is_broken_on_a_terminal(width: int) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    _show_grids(console, "what it means", [GRID])
    shown = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    expected = [line for part in GRID.aligned(width) for line in part]
    assert [line for line in shown if line in expected] == expected
    assert max(map(len, shown)) <= width
