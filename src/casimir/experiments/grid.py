"""Makes the runs of a list that have no record yet, in this process or in several, beside whoever else does the same.

Whoever makes a run holds a lock on its file in `claims`; the system frees it when the holder ends, however it ends, and
then somebody else makes that run from its beginning. A run with a record is never made again.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from casimir.experiments.base import Places
from casimir.experiments.claims import claim
from casimir.experiments.optimum import bound_of
from casimir.experiments.records import read_record, record_path, write_record
from casimir.experiments.trials import Loaded, Trial, perform

Watch = Callable[[int, int], None]  # runs that have a record, all runs
_PAUSE = 0.1  # seconds between two looks at what others do


def complete(trials: Sequence[Trial], folder: Path, loaded: Loaded, jobs: int, watch: Watch) -> None:
    """Returns when every trial has a record in `folder`; `jobs` processes of one thread each work on it.

    loaded  keeps data from one call to the next, where this process is the only one
    """
    ordered = sorted(_unique(trials), key=lambda trial: (trial.case.source.name, -trial.case.lam_n))
    for trial in ordered:  # a record that must be refused is refused before anything runs
        path = record_path(folder, trial.key)
        if path.exists():
            read_record(path, same_version=True)
    open_trials = [trial for trial in ordered if not record_path(folder, trial.key).exists()]

    def tell() -> None:
        left = sum(not record_path(folder, trial.key).exists() for trial in open_trials)
        watch(len(ordered) - left, len(ordered))

    tell()
    if jobs == 1 or len(open_trials) <= 1:
        share(open_trials, folder, loaded, tell)
    else:
        _with_workers(open_trials, folder, loaded.places, min(jobs, len(open_trials)), tell)


def share(trials: Sequence[Trial], folder: Path, loaded: Loaded, tell: Callable[[], None]) -> None:
    """Makes the trials that nobody else is making, then waits for the others', or makes those that were given up."""
    waiting = list(trials)
    with threadpool_limits(1):
        while waiting:
            waiting = [trial for trial in waiting if not _done(trial, folder, loaded, tell)]
            if waiting:
                time.sleep(_PAUSE)


def _done(trial: Trial, folder: Path, loaded: Loaded, tell: Callable[[], None]) -> bool:
    """Whether the trial has a record, made here if nobody else is at it."""
    path = record_path(folder, trial.key)
    if path.exists():
        return True
    with claim(folder / "claims" / trial.key) as is_mine:
        if not is_mine:
            return False
        if not path.exists():
            write_record(folder, perform(trial, loaded.get(trial.case.source), bound_of(trial, folder)))
    tell()
    return True


def _unique(trials: Sequence[Trial]) -> list[Trial]:
    return list({trial.key: trial for trial in trials}.values())


# --- worker processes


def _with_workers(trials: list[Trial], folder: Path, places: Places, jobs: int, tell: Callable[[], None]) -> None:
    context = multiprocessing.get_context("spawn")  # a fork would share the locks, and threads do not survive it
    errors = context.SimpleQueue()
    workers = []
    for j in range(jobs):
        first = j * len(trials) // jobs  # each begins at another place, so that not all read the same data
        mine = trials[first:] + trials[:first]
        workers.append(context.Process(target=_work, args=(mine, folder, places, os.getpid(), errors), daemon=True))
    try:
        for worker in workers:
            worker.start()
        while any(worker.exitcode is None for worker in workers):
            if any(worker.exitcode not in (None, 0) for worker in workers):
                break
            time.sleep(_PAUSE)
            tell()
        for worker in workers:
            if worker.exitcode not in (None, 0):
                raise _error(errors, worker.exitcode)
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.terminate()
                worker.join()


def _work(trials: list[Trial], folder: Path, places: Places, parent: int, errors: Any) -> None:
    def look() -> None:
        if os.getppid() != parent:  # nobody is left to work for
            raise SystemExit(1)

    try:
        share(trials, folder, Loaded(places), look)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        try:
            errors.put(error)
        except Exception:  # it cannot be sent
            errors.put(ChildProcessError(f"{type(error).__name__}: {error}"))
        raise SystemExit(1) from None


def _error(errors: Any, code: int | None) -> BaseException:
    if not errors.empty():
        found: BaseException = errors.get()
        return found
    if code == 130:
        return KeyboardInterrupt()
    return ChildProcessError(
        f"A worker process ended with code {code}; the records made so far are kept. Run it again."
    )
