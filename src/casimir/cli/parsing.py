"""How the parser of command lines shows help, and how it refuses: in one sentence, as commands do.

The classes of click that it is made of are, in later versions, typer's own.
"""

from __future__ import annotations

from textwrap import fill
from typing import Any

from typer.core import TyperCommand, TyperGroup

from casimir.cli.console import INTERRUPTED, err, is_of_parser, say


class Program(TyperGroup):
    """All commands."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        if not standalone_mode:
            return super().main(*args, **extra)
        try:
            code = super().main(*args, **extra)
        except Exception as error:
            if not is_of_parser(error):
                raise
            _refuse(error)
            raise SystemExit(getattr(error, "exit_code", 2)) from None
        if code == INTERRUPTED:  # before a command has begun
            say(err(), "Interrupted; nothing was saved.", "yellow")
        raise SystemExit(code if isinstance(code, int) else 0)


def _refuse(error: Any) -> None:
    """Says what is wrong with a command line, and where to read on; a command without anything shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    words = " ".join(error.format_message().split())
    end = "" if words.endswith((".", "?")) else "."
    path = "casimir" if error.ctx is None else error.ctx.command_path
    say(err(), f"error: {words}{end} See `{path} --help`.", "bold red")


class Command(TyperCommand):
    """A command whose epilog is paragraphs with an empty line between two of them: commands to try, which break between
    words alone, as names of files may have hyphens. Arguments are shown by name, without the types of Python."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [_bare(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                name, text = record
                is_argument = parameter.param_type_name == "argument"
                rows[parameter.param_type_name].append((name.partition(" <")[0] if is_argument else name, text))
        for kind, records in rows.items():
            if records:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        indent = "  "
        for paragraph in (self.epilog or "").split("\n\n"):
            formatter.write_paragraph()
            broken = fill(
                paragraph,
                formatter.width,
                initial_indent=indent,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            formatter.write(broken + "\n")


def _bare(piece: str) -> str:
    """{DIR} as DIR."""
    return piece.replace("{", "").replace("}", "") if piece.startswith("{") else piece
