"""The command line: `casimir demo`, `casimir train ner`, `casimir evaluate`, `casimir predict`."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from casimir.cli.program import app

__all__ = ["app", "main"]

_NEW_OBJECTS = 100_000  # after which Python looks for cycles; after 700, as is usual, that is 5 % of a training


def main() -> None:
    """Entry point of the `casimir` command. What needs no more than a model does not wait for all commands to load."""
    gc.set_threshold(_NEW_OBJECTS)
    if sys.argv[1:] == ["--version"]:
        from casimir import __version__

        sys.stdout.write(f"casimir {__version__}\n")
        return
    try:
        from casimir.cli.quick import understood

        run = understood(sys.argv[1:])
        if run is not None:
            run()
            return
        from casimir.cli.program import app

        app(prog_name="casimir")
    except KeyboardInterrupt:  # before a command has begun
        sys.stderr.write("Interrupted; nothing was saved.\n")
        raise SystemExit(130) from None


def __getattr__(name: str) -> Any:
    """The commands are put together when `app` is first asked for."""
    if name == "app":
        from casimir.cli.program import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
