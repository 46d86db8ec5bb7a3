"""Tables as text: what any kind of row comes to in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True)
class Grid:
    """A title, the names of the columns, and lines of as many cells; the first column is a name."""

    title: str
    header: list[str]
    lines: list[list[str]]

    def markdown(self) -> str:
        lines = [self.header, ["---"] * len(self.header), *self.lines]
        return f"### {self.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def aligned(self, width: int | None = None) -> list[list[str]]:
        """Tables of a header and lines, in columns of one width; None: there is one.

        A table of more than `width` characters becomes several below one another, each with the names and as many of
        the other columns as fit, one at the least.
        """
        lines = [self.header, *self.lines]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.header))]
        groups: list[list[int]] = [[]]
        for k in range(1, len(widths)):
            needed = widths[0] + sum(2 + widths[j] for j in (*groups[-1], k))
            if width is not None and groups[-1] and needed > width:
                groups.append([])
            groups[-1].append(k)
        return [
            ["  ".join([line[0].ljust(widths[0]), *(line[k].rjust(widths[k]) for k in group)]) for line in lines]
            for group in groups
        ]


class AnyRow(Protocol):
    """A dataclass of figures that knows how rows of its kind are written."""

    note: ClassVar[str]  # what the columns mean
    experiment: str

    def to_dict(self) -> dict[str, Any]: ...

    @classmethod
    def grids(cls, rows: Sequence[Any]) -> list[Grid]: ...


def by_kind(rows: Sequence[AnyRow]) -> list[tuple[str, list[Grid]]]:
    """The note and the grids of rows that follow one another and are of one class."""
    groups = [list(group) for _, group in groupby(rows, type)]
    return [(group[0].note, group[0].grids(group)) for group in groups]


def markdown(rows: Sequence[AnyRow]) -> str:
    return "\n\n".join(grid.markdown() for _, grids in by_kind(rows) for grid in grids) + "\n"
