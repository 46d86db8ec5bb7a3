"""Options of commands: those that several share, and those that a task's dataclass declares."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from casimir.solvers.choose import SOLVER_NAMES
from casimir.tasks.task import Opt, lam_of


def one_of(names: tuple[str, ...]) -> Callable[[str | None], str | None]:
    """A callback that refuses other words."""

    def check(given: str | None) -> str | None:
        if given is not None and given not in names:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(names)}.")
        return given

    return check


def _check_lam(given: str | None) -> str | None:
    try:
        lam_of(given, 1)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return given


Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the files, such as latin-1.")]
Json = Annotated[bool, typer.Option("--json", help="Write the results to stdout as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Model folder.", show_default=False)]
Target = Annotated[Path, typer.Option("--model", metavar="DIR", help="Folder to save to.", show_default=False)]
Lam = Annotated[
    str | None,
    typer.Option(metavar="X", callback=_check_lam, help="Regularisation: a number, or X/n. Default: the task's own."),
]
Solver = Annotated[
    str,
    typer.Option(
        metavar="NAME", callback=one_of(SOLVER_NAMES), help=f"What minimises the objective: {', '.join(SOLVER_NAMES)}."
    ),
]
Tol = Annotated[float, typer.Option(min=0.0, metavar="X", help="Certified relative gap at which to stop.")]
Epochs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Stop after this many epochs at the latest. Default: 500.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of everything random.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Threads, and folds at a time. Default: all CPUs, one fold at a time."),
]
Dev = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Labelled data to watch, to choose settings on and to report on."),
]
Test = Annotated[Path | None, typer.Option(metavar="FILE", help="Labelled data to report on in the end.")]
HeldOut = Annotated[
    float | None,
    typer.Option(metavar="X", help="Share of the data to report on, drawn by the seed; 0 trains on all of it."),
]
Folds = Annotated[
    int | None, typer.Option(min=2, metavar="N", help="Train on all data, and report by cross-validation.")
]
NoBaselines = Annotated[bool, typer.Option("--no-baselines", help="Train no simpler models to compare with.")]
Pictures = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for pictures of held-out results.")]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="What to read, in the format of the training data; - is stdin.", show_default=False
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write. Default: stdout.")
]
Page = Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")]


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


Declared = tuple[dataclasses.Field[Any], Any, Opt]  # an option's field, its type and how it looks


def declared(options: type) -> dict[str, Declared]:
    """The options of a dataclass by name."""
    hints = typing.get_type_hints(options, include_extras=True)
    found = {}
    for one in dataclasses.fields(options):
        kind, *rest = typing.get_args(hints[one.name])
        found[one.name] = one, kind, next(opt for opt in rest if isinstance(opt, Opt))
    return found


def parameters_of(options: type) -> list[inspect.Parameter]:
    """What a dataclass declares as parameters of a command."""
    return [parameter_of(*one) for one in declared(options).values()]


def parameter_of(field: dataclasses.Field[Any], kind: Any, opt: Opt, title: str = "") -> inspect.Parameter:
    """`title` begins the help."""
    text = f"{title}: {opt.help[0].lower()}{opt.help[1:]}" if title else opt.help
    choices = one_of(opt.choices) if opt.choices else None
    metavar = opt.metavar or ("|".join(opt.choices) if opt.choices else None)
    dashed = f"--{field.name.replace('_', '-')}"
    names = [opt.name or dashed] if opt.name or _is_flag(kind) else []
    shown = typer.Option(*names, help=text, metavar=metavar, callback=choices, min=opt.low, max=opt.high)
    return parameter(field.name, Annotated[kind, shown], field.default)


def _is_flag(kind: Any) -> bool:
    return kind is bool


def with_signature(
    run: Callable[..., None], name: str, about: str, parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """`run(**given)` as a function that typer can read."""

    def command(**given: Any) -> None:
        run(**given)

    command.__name__, command.__doc__ = name.replace("-", "_"), about
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def split_options(options: type, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The task's own options as an object, and the rest."""
    names = {one.name for one in dataclasses.fields(options)}
    return options(**{name: given[name] for name in names}), {k: v for k, v in given.items() if k not in names}
