"""`casimir experiment`: list, run, plot and table of the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casimir.cli.console import INTERRUPTED, clear_ends, counted, err, out, say, write_json
from casimir.cli.parameters import Json, Quiet

if TYPE_CHECKING:  # what is loaded when a command runs
    from rich.console import Console

    from casimir.experiments.grids import AnyRow, Grid
    from casimir.experiments.results import Results
    from casimir.experiments.tuning import Search

_EVERY = 10.0  # seconds between lines
RUN_EXAMPLES = """Examples:

casimir experiment run smoke --out out/

casimir experiment run ner-solvers --data data/ --out out/ --jobs 2

casimir experiment run ner-solvers --data data/ --out out/ --seeds 3 --only method=sgd,bcfw,lam=1/n

casimir experiment run ner-solvers --data data/ --out out/ --tune"""

ResultFolder = Annotated[Path, typer.Argument(metavar="DIR", help="What `run` wrote to.", show_default=False)]

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME", help="Experiments. Default: all in DIR.", show_default=False)
]


def list_experiments(json: Json = False) -> None:
    """List the experiments."""
    with clear_ends():
        from casimir.experiments.registry import SMOKE, find, names

        found = [find(name)[0] for name in names() if name != SMOKE]
        if json:
            write_json({"experiments": [{"name": e.name, "title": e.title, "figure": e.figure} for e in found]})
            return
        for e in found:
            parts = ((len(e.cases), "case"), (len(e.methods), "method"), (e.seeds, "seed"))
            size = " x ".join(f"{number} {part}" + "s" * (number > 1) for number, part in parts)
            say(out(), f"{e.name}: {size}" + (f", {e.figure}" if e.figure else ""), "bold")
            say(out(), f"  {e.title}")
        say(out(), SMOKE, "bold")
        say(out(), "  A tiny version of each on embedded data")


def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See `casimir experiment list`.", show_default=False)],
    target: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for records.", show_default=False)],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", envvar="CASIMIR_DATA", help="Folder with the data sets.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs of every method. Default: the experiment's own.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Processes, of one thread each.")] = 1,
    tune: Annotated[bool, typer.Option("--tune", help="Find the methods' parameters anew first.")] = False,
    only: Annotated[
        str | None, typer.Option(metavar="KEY=A,B,...", help="A part of it: method=sgd,bcfw,lam=1/n.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run an experiment; runs that DIR already has are not made again.

    Every finished run is one record in DIR, written at once. A run that was cut off, even by kill -9, goes on where it
    was with the same command, and several commands may work on one DIR at the same time.
    """
    with clear_ends():
        from casimir import experiments

        try:
            found = experiments.run(
                name, out=target, data=data, seeds=seeds, jobs=jobs, tune=tune, only=only, watcher=Watch(quiet)
            )
        except KeyboardInterrupt:
            say(err(), f"Interrupted; finished runs are in {target}, and the same command goes on.", "yellow")
            raise SystemExit(INTERRUPTED) from None
        _show(found, json)
        say(err(), f"Records are in {target}; next: casimir experiment plot {target}", "green")


def plot(
    folder: ResultFolder,
    names: Names = None,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the pictures. Default: DIR/plots.")] = None,
) -> None:
    """Draw the experiments in DIR as PNG and SVG: means and standard deviations over seeds.

    Side by side: oracle calls without full gradients, as in the paper; with them; CPU seconds. The zero line is the
    certified optimum.
    """
    with clear_ends():
        from casimir.experiments import plot as draw

        for file in draw(folder, to, names or ()):
            say(out(), str(file))


def table(
    folder: ResultFolder,
    names: Names = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write Markdown.")] = False,
    json: Json = False,
) -> None:
    """Final values of the experiments in DIR: means and standard deviations over seeds; what the runs took."""
    with clear_ends():
        from casimir.experiments.grids import markdown as as_markdown
        from casimir.experiments.results import load_results
        from casimir.experiments.views import rows_in

        found = load_results(folder, names or ())
        if markdown:
            typer.echo(as_markdown([row for results in found for row in rows_in(results)]), nl=False)
        else:
            _show(found, json)


def _show(found: Sequence[Results], json: bool) -> None:
    """Final values, then what the runs took."""
    from casimir.experiments.costs import Cost, cost_grid, costs_of
    from casimir.experiments.views import rows_in

    rows = [row for results in found for row in rows_in(results)]
    if json:
        costs = [cost.to_dict() for results in found for cost in costs_of(results)]
        write_json({"rows": [row.to_dict() for row in rows], "costs": costs})
    else:
        show_rows(out(), rows)
        _show_grids(out(), Cost.note, [cost_grid(found)])


def show_rows(console: Console, rows: Sequence[AnyRow]) -> None:
    """Tables in lines that are never cut, in several parts on a narrow terminal, under what their columns mean."""
    from casimir.experiments.grids import by_kind

    for note, grids in by_kind(rows):
        _show_grids(console, note, grids)


def _show_grids(console: Console, note: str, grids: Sequence[Grid]) -> None:
    say(console, f"{note}\n")
    for grid in grids:
        say(console, grid.title, "bold")
        for part in grid.aligned(console.width if console.is_terminal else None):
            for k, line in enumerate(part):
                say(console, line, None if k else "dim")
            say(console, "")


class Watch:
    """How far every grid is, and what tuning found."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self.progress: Callable[[int, int], None] = lambda done, total: None

    def stage(self, name: str) -> None:
        if not self._quiet:
            self.progress = counted(name, _EVERY, tell_end=True)

    def tuned(self, searches: Sequence[Search]) -> None:
        if self._quiet:
            return
        for name in dict.fromkeys(search.method.name for search in searches):
            mine = [search for search in searches if search.method.name == name]
            runs = sum(len(search.found) * len(search.seeds) for search in mine)
            say(err(), f"{name}: {runs} tuning runs", "bold")
            for search in mine:
                values = {knob: search.params(search.best)[knob] for knob in search.method.knobs}
                say(err(), f"  {search.case.name}: {values}")
