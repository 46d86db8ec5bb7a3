"""A line on stderr that tells how far training has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from casimir.solvers import TraceRow

if TYPE_CHECKING:  # rich is loaded when there is something to show
    from rich.console import Console
    from rich.progress import Progress as Bar

Metric = Callable[[Any], float]
_BESIDE = 4  # columns of the live line that its text does not have: what turns, and blanks


class Progress:
    """A callback of `SequenceTagger.fit`: one live line on a terminal, else a line per evaluation. Use it in a `with`.

    metrics   name -> function of the current predictor, such as {"dev F1": ...}
    console   where to write; None is stderr

    `last` holds the metrics of the last evaluation. `more` gives what else a line tells; a training may set it.
    """

    def __init__(self, metrics: Mapping[str, Metric] | None = None, console: Console | None = None) -> None:
        from rich.console import Console

        self._metrics = dict(metrics or {})
        self._console = console if console is not None else Console(stderr=True)
        self._bar: Bar | None = None
        self.last: dict[str, float] = {}
        self.more: Callable[[], Sequence[str]] = tuple

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            from rich.progress import Progress as Bar
            from rich.progress import SpinnerColumn, TextColumn

            columns = (
                SpinnerColumn(finished_text=" "),
                TextColumn("{task.description}"),
                TextColumn(" {task.elapsed:.0f} s"),
            )
            self._bar = Bar(*columns, console=self._console, refresh_per_second=8)
            self._bar.add_task("training")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], total=1, completed=1)  # the line stays, without the spinner
            self._bar.stop()
            self._bar = None

    def __call__(self, row: TraceRow, predictor: Any) -> None:
        self.last = {name: metric(predictor) for name, metric in self._metrics.items()}
        if self._bar is not None:
            fits = len(self._line(row, styled=False)) + _BESIDE <= self._console.width
            self._bar.update(self._bar.task_ids[0], description=self._line(row, styled=True, short=not fits))
        else:
            self._console.print(self._line(row, styled=False), highlight=False, markup=False, soft_wrap=True)

    def _line(self, row: TraceRow, *, styled: bool, short: bool = False) -> str:
        name, value = ("certified gap", row.gap) if row.prox_gradient is None else ("prox-gradient", row.prox_gradient)
        name, objective = (name.split()[-1], "F") if short else (name, "objective")
        measure = f"{name} [bold]{value:.1e}[/]" if styled else f"{name} {value:.1e}"
        parts = [f"epoch {row.epoch:2d}", f"{objective} {row.objective:.5f}", measure]
        parts += [f"{name} {value:.4f}" for name, value in self.last.items()]
        parts += self.more()
        return "  ".join(parts) if styled else "  ".join([*parts, f"{row.seconds:.1f} s"])
