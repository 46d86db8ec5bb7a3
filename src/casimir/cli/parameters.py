"""Options as typer reads them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any

import typer

from casimir.cli.console import clear_ends
from casimir.cli.options import declared
from casimir.tasks.task import Opt

Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the files, such as latin-1.")]
Json = Annotated[bool, typer.Option("--json", help="Write the results to stdout as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of everything random.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Model folder.", show_default=False)]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="What to read, in the format of the training data; - is stdin, for text.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write. Default: stdout.")
]
Page = Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")]


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def parameters_of(options: type, **helps: str) -> list[inspect.Parameter]:
    """What a dataclass declares as parameters of a command; `helps` are other help texts."""
    return [
        parameter_of(field, kind, dataclasses.replace(opt, help=helps.get(name, opt.help)))
        for name, (field, kind, opt) in declared(options).items()
    ]


def parameter_of(field: dataclasses.Field[Any], kind: Any, opt: Opt, title: str = "") -> inspect.Parameter:
    """`title` begins the help."""
    starts_small = opt.help[0].lower() + opt.help[1:]
    text = f"{title}: {opt.help if opt.help[:2].isupper() else starts_small}" if title else opt.help
    metavar = opt.metavar or ("|".join(opt.choices) if opt.choices else None)
    dashed = f"--{field.name.replace('_', '-')}"
    names = (opt.name or dashed).split() if opt.name or kind is bool else []
    shown = typer.Option(*names, help=text, metavar=metavar, callback=_checked(opt), min=opt.low, max=opt.high)
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return parameter(field.name, Annotated[kind, shown], default)


def _checked(opt: Opt) -> Callable[[Any], Any] | None:
    """A callback that refuses other words than the choices, and what the option's own check refuses."""
    if not opt.choices and opt.check is None:
        return None

    def check(given: Any) -> Any:
        if given is not None and opt.choices and given not in opt.choices:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(opt.choices)}.")
        try:
            if given is not None and opt.check is not None:
                opt.check(given)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return given

    return check


def command(
    name: str, about: str, parameters: list[inspect.Parameter], run: Callable[[dict[str, Any]], None]
) -> Callable[..., None]:
    """`run(given)` as a function that typer can read."""

    def command(**given: Any) -> None:
        with clear_ends():
            run(given)

    command.__name__, command.__doc__ = name.replace("-", "_"), about
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command
