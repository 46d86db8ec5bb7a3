"""Small tables: rows for programs, text for a terminal, HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, overload


@dataclass(frozen=True, repr=False)
class Table(Sequence[tuple[Any, ...]]):
    """A sequence of rows.

    columns  names
    rows     a tuple of cells each

    >>> print(Table(("from", "weight"), [("O", 1.5), ("B-LOC", -0.25)]))
    from    weight
    O        1.500
    B-LOC   -0.250
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, key: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, key: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, key: int | slice) -> tuple[Any, ...] | list[tuple[Any, ...]]:
        return self.rows[key]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict per row, as pandas.DataFrame takes them."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def __str__(self) -> str:
        cells = [list(self.columns), *([_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = self._numbers()
        lines = (
            "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True))
            for row in cells
        )
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        ends = [' style="text-align:right"' if right else ' style="text-align:left"' for right in self._numbers()]
        head = "".join(f"<th{end}>{escape(name)}</th>" for name, end in zip(self.columns, ends, strict=True))
        body = (
            "<tr>" + "".join(f"<td{end}>{escape(_text(c))}</td>" for c, end in zip(row, ends, strict=True)) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"

    def _numbers(self) -> list[bool]:
        """Which columns hold numbers."""
        return [bool(self.rows) and isinstance(self.rows[0][j], int | float) for j in range(len(self.columns))]


def _text(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
