"""Options that several commands take, and how their values are checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from casimir.solvers.choose import SOLVER_NAMES


def one_of(names: tuple[str, ...]) -> Callable[[str | None], str | None]:
    """A callback that refuses other words."""

    def check(given: str | None) -> str | None:
        if given is not None and given not in names:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(names)}.")
        return given

    return check


def _check_lam(given: str | None) -> str | None:
    lam_of(given, 1)
    return given


def lam_of(given: str | None, n: int) -> float | None:
    """ "0.001" is itself, "0.1/n" is 0.1 / n, None is the default."""
    if given is None:
        return None
    number, slash, rest = given.partition("/")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf") or (slash and rest.strip() != "n"):
        raise typer.BadParameter(f"{given!r} is not a number such as 1e-4, or a multiple of 1/n such as 0.1/n.")
    return value / n if slash else value


Pictures = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for pictures of held-out results.")]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the files, such as latin-1.")]
Json = Annotated[bool, typer.Option("--json", help="Write the results to stdout as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Model folder.", show_default=False)]
Target = Annotated[Path, typer.Option("--model", metavar="DIR", help="Folder to save to.", show_default=False)]
Lam = Annotated[
    str | None,
    typer.Option(metavar="X", callback=_check_lam, help="Regularisation: a number, or X/n. Default: the task's own."),
]
Solver = Annotated[str, typer.Option(metavar="NAME", callback=one_of(SOLVER_NAMES), help=", ".join(SOLVER_NAMES) + ".")]
Tol = Annotated[float, typer.Option(min=0.0, metavar="X", help="Certified relative gap at which to stop.")]
Epochs = Annotated[int, typer.Option(min=1, metavar="N", help="Stop after this many epochs at the latest.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of everything random.")]
