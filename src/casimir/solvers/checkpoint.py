"""Checkpoints of `minimize`: where a run stands is kept in a folder, and the same run goes on from there."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from casimir import __version__
from casimir._warnings import warn
from casimir.objective import Objective
from casimir.persistence import checkpoint_file
from casimir.persistence.fingerprint import fingerprint
from casimir.persistence.state import encode

_SHARE = 50.0  # writing takes at most one part in so many of the time
_WHAT = {
    "casimir": "version of casimir",
    "data": "training data, labels or weights of examples",
    "loss": "loss or structure",
    "penalty": "penalty",
    "solver": "solver",
    "tol": "tol",
    "seed": "seed",
    "start": "w0",
    "every": "evaluate_every",
}


@dataclass(frozen=True)
class Checkpoint:
    """Where `minimize` keeps what it needs to go on after an interruption.

    path           a folder, which is made if there is none
    every_seconds  how often; less often where writing would take more than a fiftieth of the time. 0: after every epoch

    A run that finds a checkpoint of its own there goes on from it, bit for bit as if it had not been interrupted. One
    of another run is refused. What is written is whole or not there at all.
    """

    path: str | os.PathLike[str]
    every_seconds: float = 60.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise TypeError(f"path={self.path!r}; it must be a folder, such as 'run1'.")
        if isinstance(self.every_seconds, bool) or not isinstance(self.every_seconds, Real):
            raise TypeError(f"every_seconds={self.every_seconds!r}; it must be a number, 0 or larger.")
        if not 0.0 <= self.every_seconds < float("inf"):
            raise ValueError(f"every_seconds={self.every_seconds}; it must be finite, 0 or larger.")

    @classmethod
    def of(cls, given: Any) -> Checkpoint | None:
        """A checkpoint, the folder of one, or None."""
        return given if given is None or isinstance(given, Checkpoint) else cls(given)

    def part(self, name: str) -> Checkpoint:
        """For one run of several that belong together: a folder of its own inside."""
        return Checkpoint(Path(self.path) / name, self.every_seconds)


def part_of(checkpoint: Checkpoint | None, name: str) -> Checkpoint | None:
    """The same where there may be none."""
    return None if checkpoint is None else checkpoint.part(name)


def key_of(
    objective: Objective, solver: Any, tol: float, seed: Any, start: np.ndarray, every: int
) -> dict[str, dict[str, str]]:
    """What a run is given, by name: a digest of each, and what an error says of it."""
    rng = seed.bit_generator.state if isinstance(seed, np.random.Generator) else seed
    of_data = (objective.model, objective.y, objective.sample_weight, objective.offset)
    of_loss = (objective.loss, objective.structure, objective.native)
    given = {
        "casimir": (__version__, __version__),
        "data": (of_data, f"{objective.n_examples} examples and {objective.n_params} weights"),
        "loss": (of_loss, type(objective.loss).__name__),
        "penalty": (objective.penalty, _short(objective.penalty)),
        "solver": (solver, _short(solver)),
        "tol": (float(tol), f"{tol:g}"),
        "seed": (rng, str(seed) if isinstance(seed, int | np.integer) else "a generator"),
        "start": (start, "w0" if start.any() else "0"),
        "every": (every, str(every)),
    }
    return {name: {"digest": fingerprint(value), "shown": shown} for name, (value, shown) in given.items()}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 and " at 0x" not in text else type(value).__name__


class Keeper:
    """Reads and writes the checkpoint of one run, and holds signals back until it is written."""

    def __init__(self, checkpoint: Checkpoint, key: dict[str, dict[str, str]], solver: str) -> None:
        self._checkpoint, self._key, self._solver = checkpoint, key, solver
        self._folder = Path(checkpoint.path).absolute()
        checkpoint_file.check_folder(self._folder)
        self._found = self._read()
        self._last, self._cost = time.monotonic(), 0.0
        self._has_warned = self._is_checked = False
        self._told: list[tuple[Any, int, FrameType | None]] = []

    def take(self) -> Any:
        """The state to go on from, or None; it is not kept here any longer."""
        found, self._found = self._found, None
        return found

    def is_due(self) -> bool:
        """Whether it is time to write, or a signal waits for it."""
        every = self._checkpoint.every_seconds
        wait = max(every, _SHARE * self._cost) if every else 0.0
        return bool(self._told) or time.monotonic() - self._last >= wait

    def check(self, state: Any) -> None:
        """A TypeError where the solver's state cannot be written, before the first epoch."""
        if not self._is_checked:
            encode(state)
            self._is_checked = True

    def refuse(self) -> TypeError:
        """What is raised where a solver never rests."""
        return TypeError(
            f"{self._solver} tells nobody its state, so there can be no checkpoint of it: it must call monitor.rest "
            "between two epochs. Leave checkpoint out, or take a solver of casimir."
        )

    def write(self, state: Any) -> None:
        """A checkpoint that cannot be written does not end the run."""
        began = time.monotonic()
        try:
            checkpoint_file.write(self._folder, self._key, state)
        except (OSError, MemoryError, TypeError, ValueError) as error:
            if not self._has_warned:
                self._has_warned = True
                warn(
                    f"No checkpoint could be written to '{self._checkpoint.path}' ({checkpoint_file.reason(error)}); "
                    "training goes on, and it is tried again.",
                    RuntimeWarning,
                )
        self._last = time.monotonic()
        self._cost = self._last - began

    def deliver(self) -> None:
        """Signals that have waited go to those who would have had them at once."""
        while self._told:
            self._deliver_first()

    def _deliver_first(self) -> None:
        handler, number, frame = self._told.pop(0)
        handler(number, frame)

    @contextmanager
    def holding_signals(self) -> Iterator[None]:
        """Ctrl-C, and SIGTERM where Python handles it, wait for the end of the epoch; a second one does not wait."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
            yield
            return
        handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
        before = {one: handler for one, handler in handlers.items() if callable(handler)}

        def restore() -> None:
            for one, handler in before.items():
                if signal.getsignal(one) is hold:  # who is told may have put another one there
                    signal.signal(one, handler)

        def hold(number: int, frame: FrameType | None) -> None:
            handler: Any = before[signal.Signals(number)]
            self._told.append((handler, number, frame))
            if len(self._told) > 1:
                restore()
                try:
                    self._deliver_first()
                finally:  # to whoever is to have it after the first
                    self._told.clear()
                    os.kill(os.getpid(), number)

        for one in before:
            signal.signal(one, hold)
        try:
            yield
        finally:
            restore()
        self.deliver()  # those that came after the last epoch

    def _read(self) -> Any:
        place = f"The checkpoint in '{self._checkpoint.path}'"
        begin = "remove it to begin anew"
        try:
            found = checkpoint_file.read(self._folder)
            if found is None:
                return None
            key, state = found
            for name, what in _WHAT.items():
                was, now = key.get(name, {"digest": "", "shown": "none"}), self._key[name]
                if was["digest"] != now["digest"]:
                    more = f": {was['shown']} then, {now['shown']} now" if was["shown"] != now["shown"] else ""
                    raise ValueError(
                        f"{place} is of a run with another {what}{more}; give what that run was given, or another "
                        "folder."
                    )
            return state()
        except checkpoint_file.Unreadable as error:
            raise ValueError(f"{place} {error}; {begin}, or give another folder.") from None
        except OSError as error:
            raise OSError(
                error.errno,
                f"{place} cannot be read ({checkpoint_file.reason(error)}). Check its permissions, or {begin}.",
            ) from error
