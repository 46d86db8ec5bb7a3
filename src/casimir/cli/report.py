"""What commands tell: how training ended, and scores as tables for readers and as numbers for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from casimir.cli.console import say
from casimir.tasks.task import Table, Task
from casimir.tasks.training import Run

if TYPE_CHECKING:  # rich is loaded when there is something to show
    from rich.console import Console
    from rich.table import Table as RichTable

_NOTHING = "-"  # where a score does not exist


@dataclass(frozen=True)
class Section:
    """Scores on one part of the data, by method, the model first.

    name    in JSON: "dev", "test", "heldout" or "cross_validation"
    folds   of the model, by fold
    """

    name: str
    title: str
    scores: Mapping[str, Any]
    folds: Sequence[Any] = ()

    def figures(self) -> dict[str, Any]:
        (_, ours), *others = self.scores.items()
        told = _plain(ours)
        if others:
            told["baselines"] = {name: _plain(scores) for name, scores in others}
        if self.folds:
            told["folds"] = [_plain(scores) for scores in self.folds]
        return told

    def show(self, console: Console, task: Task) -> None:
        ours = next(iter(self.scores.values()))
        details = [] if self.folds else task.details(ours)
        columns = {
            title: attribute
            for title, attribute in task.columns.items()
            if any(_cell(scores, attribute) != _NOTHING for scores in self.scores.values())
        }
        rows = [[name, *(_cell(scores, one) for one in columns.values())] for name, scores in self.scores.items()]
        tables = [Table(["", *columns], rows), *details] if len(rows) > 1 or not details else details
        for k, table in enumerate(tables):
            console.print()
            if k == 0:  # a title of the table itself would be cut at the table's width, paths too
                say(console, self.title, "bold")
            console.print(figure_table(table, ours_first=k == 0 and len(rows) > 1))
            if table.note:
                console.print(table.note)


def _plain(scores: Any) -> dict[str, Any]:
    """By name: what `to_dict` tells, or else the fields of a dataclass; means over folds are by name already."""
    if isinstance(scores, Mapping):
        return dict(scores)
    return dict(scores.to_dict()) if hasattr(scores, "to_dict") else asdict(scores)


def _cell(scores: Any, attribute: str) -> Any:
    value = scores.get(attribute) if isinstance(scores, Mapping) else getattr(scores, attribute)
    return _NOTHING if value is None else value


def show_run(console: Console, run: Run, title: str | None = None) -> None:
    """How training ended."""
    from rich.table import Table as RichTable

    table = RichTable(
        title=title, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False
    )
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


def figure_table(table: Table, ours_first: bool = False) -> RichTable:
    """A plain table: the first column is text, floats get four digits. Where the first row is ours it stands out."""
    from rich.table import Table as RichTable

    shown = RichTable(header_style="bold", box=None, pad_edge=False)
    for k, name in enumerate(table.columns):
        shown.add_column(name, justify="right" if k else "left")
    for k, row in enumerate(table.rows):
        cells = (f"{c:.4f}" if isinstance(c, float) else f"{c:,}" if isinstance(c, int) else str(c) for c in row)
        shown.add_row(*cells, style="bold" if k == 0 and ours_first else None)
    return shown
