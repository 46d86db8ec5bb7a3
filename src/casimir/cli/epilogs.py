"""How help texts end: with commands to try, which break between words alone, as names of files may have hyphens."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    import click


class WithExamples(TyperCommand):
    """A command whose epilog is paragraphs with an empty line between two of them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes it, never cutting a word."""
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
