"""The figures of a run, for readers and for scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from casimir.tasks.training import Run


@dataclass(frozen=True)
class Report:
    """figures  what --json writes
    show     writes the same for readers
    """

    figures: Mapping[str, Any] = field(default_factory=dict)
    show: Callable[[Console], None] = lambda console: None


def show_run(console: Console, run: Run, title: str | None = None) -> None:
    """How training ended."""
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False)
    table.add_column("", style="dim")
    table.add_column("")
    ended = {"converged": "certified", "epochs": "all epochs used"}.get(run.status, run.status)
    table.add_row("objective", f"{max(run.objective, 0.0):.6f}")  # rounding may leave -1e-17
    if run.convex:
        table.add_row("relative duality gap", f"{run.gap:.2e}  ({ended})")
    elif run.prox_gradient is None:
        table.add_row("ended", f"{ended}; no certificate, as the score is not linear")
    else:
        table.add_row("prox-gradient norm", f"{run.prox_gradient:.2e}  ({ended}; no certificate)")
    table.add_row("oracle calls", f"{run.oracle_calls:,}  in {run.epochs} epochs")
    table.add_row("seconds", f"{run.seconds:.1f}  (training alone)")
    console.print(table)


def figure_table(title: str, columns: list[str], rows: list[tuple[Any, ...]]) -> Table:
    """A plain table: the first column is text, floats get four digits. The first row is ours and stands out."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(name, justify="right" if k else "left")
    for k, row in enumerate(rows):
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        table.add_row(*cells, style="bold" if k == 0 and len(rows) > 1 else None)
    return table
