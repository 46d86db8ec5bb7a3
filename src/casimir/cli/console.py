"""What the commands share: where output goes, and how errors, warnings and Ctrl-C end."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import textwrap
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casimir.tasks.text import encoded, write_text

if TYPE_CHECKING:  # rich is loaded when there is something to show
    from rich.console import Console
    from rich.progress import Progress

INTERRUPTED, TERMINATED = 130, 143  # 128 + SIGINT and 128 + SIGTERM, what shells expect
_DEBUG = "CASIMIR_DEBUG"
_BARS: list[Progress] = []  # of what a command counts


@cache
def out() -> Console:
    """Results."""
    from rich.console import Console

    return Console(highlight=False)


@cache
def err() -> Console:
    """Progress, notes and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(console: Console, text: str, style: str | None = None, hang: int = 0) -> None:
    """One line as it is, without markup. A terminal gets it broken between words; paths stay in one piece.

    hang  by how much more than the first the lines begin that it is broken into
    """
    if console.is_terminal:
        text = "\n".join(broken(line, console.width, hang) for line in text.split("\n"))
    console.print(text, style=style, markup=False, soft_wrap=True)


def broken(line: str, width: int, hang: int = 0) -> str:
    """The line in pieces of at most so many characters, where it has blanks to break at; all begin where it does, or
    `hang` characters behind."""
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip(" "))] + hang * " "
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@contextmanager
def clear_ends() -> Iterator[None]:
    """Any error ends in one sentence and exit code 2, Ctrl-C in 130; warnings become notes, each told once.

    A run that the system ends, by SIGTERM, ends like one after Ctrl-C, but in 143.
    """

    told = set[str]()

    def note(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            say(err(), f"note: {message}", "yellow")

    _write_anything()
    with _terminable(), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        try:
            yield
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except Exception as error:
            if is_of_parser(error):
                raise
            _stop_bars()
            if debugging():
                say(err(), traceback.format_exc())
            say(err(), f"error: {sentence_of(error)}", "bold red")
            _let_go_of_output()
            raise SystemExit(2) from None
        except KeyboardInterrupt:
            _stop_bars()
            say(err(), "Interrupted; nothing was saved.", "yellow")
            raise SystemExit(INTERRUPTED) from None
        finally:
            _stop_bars()


def _stop_bars() -> None:
    """Bars of what was not done to its end hide the cursor, and would be drawn again below what is said."""
    while _BARS:
        _BARS.pop().stop()


_EXPECTED = (ValueError, TypeError, OSError, ImportError, ArithmeticError, MemoryError)


def sentence_of(error: Exception) -> str:
    """What is said of an error: its own words where it has them, its kind where it is not one that casimir raises.

    Those of the system about files come with names, and with a number that Python puts in front; ours go without."""
    own = error.strerror if isinstance(error, OSError) and error.filename is None else None
    words = " ".join((own or str(error)).split())
    if isinstance(error, _EXPECTED) and words:
        return words
    if isinstance(error, MemoryError):
        return "there is not enough memory."
    kind = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"{kind}. This should not happen; `casimir --debug ...` shows where it did."


def is_of_parser(error: Exception) -> bool:
    """Whether the parser of command lines raised it, which tells of it as well; not loaded where it is not needed."""
    return type(error).__module__.split(".")[0] in ("typer", "click")


def debugging() -> bool:
    """Whether tracebacks are wanted: after `casimir --debug`."""
    return _DEBUG in os.environ


def debug() -> None:
    """From now on tracebacks are shown, in processes of this one too."""
    os.environ[_DEBUG] = "1"


def _let_go_of_output() -> None:
    """What stdout does not take, as on a full disk, is given up: Python would try again at its end, and exit by 120."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does, so that the best model so far is saved; a second signal of either ends at once."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    told = []

    def stop(number: int, _: Any) -> None:
        told.append(number)
        for one in before:  # a save that is cut short leaves the old model, or the new one
            signal.signal(one, signal.SIG_DFL)
        raise KeyboardInterrupt

    heard = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, stop) for one in heard}
    try:
        yield
    except SystemExit:
        if signal.SIGTERM in told:
            raise SystemExit(TERMINATED) from None
        raise
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _write_anything() -> None:
    """Characters that a terminal's encoding lacks become "?", instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def write_result(text: str, encoding: str, output: Path | None, done: str) -> None:
    """Predictions: to the file `output`, and then say what was done, or to stdout; the bytes are the same."""
    if output is not None and str(output) != "-":
        write_text(output, text, encoding)
        say(err(), f"{done} {output}", "green")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(encoded(text, "stdout", encoding))


def write_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=not _writes_unicode()) + "\n")


def _writes_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def track(items: Iterable[Any], what: str) -> Iterator[Any]:
    """The items; how many are done is told on stderr."""
    given = list(items)
    tell = counted(what)
    for done, item in enumerate(given):
        tell(done, len(given))
        yield item
    tell(len(given), len(given))


def counted(what: str, every: float = 5.0, tell_end: bool = False) -> Callable[[int, int], None]:
    """A function of (done, total): a bar on a terminal, else a line every few seconds, and at the end if wanted."""
    if err().is_terminal:
        return _bar(what)
    began = told = time.monotonic()
    first = -1

    def tell(done: int, total: int) -> None:
        nonlocal told, first
        now, first = time.monotonic(), done if first < 0 else first
        if now - told > every and first < done < total:
            told, left = now, (now - began) / (done - first) * (total - done)
            say(err(), f"{what}: {done:,} / {total:,}, about {left:.0f} s left")
        elif tell_end and done == total:
            say(err(), f"{what}: {done:,} / {total:,}")

    return tell


def _bar(what: str) -> Callable[[int, int], None]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err(), transient=True)
    task = bar.add_task(what, total=None)
    bar.start()
    _BARS.append(bar)

    def move(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if done >= total:
            bar.stop()

    return move


@contextmanager
def kept(folder: Path | None) -> Iterator[None]:
    """Ctrl-C before there is a model says that what is in the folder is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is None:
            raise
        say(
            err(),
            f"Interrupted; the features so far are in {folder}, and the same command goes on from there.",
            "yellow",
        )
        raise SystemExit(INTERRUPTED) from None
