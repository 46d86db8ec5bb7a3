"""How every task is trained, evaluated and used: the same steps in the same order, whatever the task."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from casimir.cli.console import (
    INTERRUPTED,
    counted,
    err,
    kept,
    out,
    say,
    track,
    write_json,
    write_result,
)
from casimir.cli.options import Manner, Using
from casimir.cli.parallel import Stop, side_by_side
from casimir.cli.report import Section, show_run
from casimir.persistence import check_target
from casimir.persistence.load import load, load_with_kind
from casimir.tasks.parts import Parts, Wanted, fold_parts, read_parts
from casimir.tasks.registry import task_of, tasks
from casimir.tasks.task import Fit, Given, Task
from casimir.tasks.text import numbered

BASELINES = "baselines"  # the folder in a model folder that holds simpler models


def train(task: Task, options: Any, fit: Fit, wanted: Wanted, manner: Manner) -> None:
    """Train, save, then report; after Ctrl-C the best model so far is saved and nothing else is done."""
    given = replace(_given(options, manner), fit=fit, has_data=wanted.train is not None)
    clock = _Clock()
    check_target(manner.model)
    _check_apart(fit.checkpoint, manner.model)
    _check_pictures(manner.pictures)
    if getattr(options, "pack", None) is None:
        wanted.check()
    task.check(given, manner.pictures)
    if getattr(options, "pack", None) is not None:
        return _train_on_pack(task, wanted, given, manner, clock)
    parts = read_parts(task, wanted, given)
    given = replace(given, dev=parts.dev)
    prepared = task.prepare(parts.train, given)
    metrics = {} if parts.dev is None else task.watch(parts.dev, parts.train, given)
    from casimir.progress import Progress

    with nullcontext() if manner.quiet else Progress(metrics, err()) as progress:
        model = task.train(prepared, given, () if progress is None else (progress,))
    interrupted = model.run.status == "interrupted"
    if parts.dev is not None and not interrupted:
        task.calibrate(model, parts.dev, given)
    model.save(manner.model)
    shutil.rmtree(manner.model / BASELINES, ignore_errors=True)  # of the model that was there before
    sections: list[Section] = []
    drawn: list[str] = []
    if not interrupted:
        with _saved_already(manner):
            sections, drawn = _report(task, model, prepared, parts, wanted, given, manner)
    _tell(task, model, sections, drawn, f"Trained on {_count(task, parts.train)}", manner, clock)
    _tell_saved(fit, manner, interrupted=interrupted)


def _train_on_pack(task: Task, wanted: Wanted, given: Given, manner: Manner, clock: _Clock) -> None:
    """The same of sentences that stay on disk: there are no simpler models to compare with, nor folds."""
    from casimir.progress import Progress

    if wanted.folds is not None or wanted.held_out is not None:
        raise ValueError("--folds and --held-out need the sentences in memory. Give --dev or --test with --pack.")
    named = {"dev": wanted.dev, "test": wanted.test}
    reported = {k: task.read(path, True, replace(given, role=k)) for k, path in named.items() if path is not None}
    given = replace(given, dev=reported.get("dev"))
    with nullcontext() if manner.quiet else Progress({}, err()) as progress:
        model = task.from_pack(given, () if progress is None else (progress,))
    interrupted = model.run.status == "interrupted"
    if given.dev is not None and not interrupted:
        task.calibrate(model, given.dev, given)
    model.save(manner.model)
    shutil.rmtree(manner.model / BASELINES, ignore_errors=True)
    sections = []
    with _saved_already(manner):
        for name, data in () if interrupted else reported.items():
            scores = _scores(task, model, {}, task.featurise(model, data, given), given)
            sections.append(Section(name, f"{_count(task, data)}, {name} data", scores))
    _tell(task, model, sections, [], f"Trained on the pack {given.options.pack}", manner, clock)
    _tell_saved(given.fit, manner, interrupted=interrupted)


@contextmanager
def _saved_already(manner: Manner) -> Iterator[None]:
    """Ctrl-C says where the model is."""
    try:
        yield
    except KeyboardInterrupt:
        say(err(), f"Interrupted after training; the model is in {manner.model}", "yellow")
        raise SystemExit(INTERRUPTED) from None


def _tell_saved(fit: Fit, manner: Manner, *, interrupted: bool) -> None:
    say(err(), f"Saved {'the best model so far' if interrupted else 'the model'} to {manner.model}", "green")
    if interrupted:
        if fit.checkpoint is not None:
            say(err(), f"The same command goes on from the checkpoint in {fit.checkpoint}", "green")
        raise SystemExit(INTERRUPTED)


def _check_apart(checkpoint: Path | None, model: Path) -> None:
    """A folder that holds other things is not overwritten by a model: say so before training."""
    if checkpoint is not None and checkpoint.resolve().is_relative_to(model.resolve()):
        raise ValueError(
            f"The checkpoint in '{checkpoint}' and the model in '{model}' need folders of their own. Give another "
            "--checkpoint."
        )


def evaluate(using: Using, file: Path, json: bool, options: Mapping[str, Any]) -> None:
    """Scores of a model, and of the same simpler methods that `train` compared it with."""
    task, model, given = _loaded(using, options)
    data = task.read(file, True, given)
    others = {path.name: load(path) for path in sorted((using.model / BASELINES).glob("*")) if path.is_dir()}
    scores = _scores(task, model, others, task.featurise(model, data, given), given)
    section = Section("", f"{_count(task, data)} in {'stdin' if str(file) == '-' else file}", scores)
    if json:
        write_json({"model": str(using.model), "file": str(file), **section.figures()})
    else:
        section.show(out(), task)


def predict(using: Using, file: Path, output: Path | None, options: Mapping[str, Any]) -> None:
    """What a model predicts for new data."""
    task, model, given = _loaded(using, options)
    data = task.read(file, False, given)
    text = task.write(model, data, given, output)
    if text is None:
        say(err(), f"Wrote the results of {_count(task, data)} into {output}", "green")
    else:
        write_result(text, using.encoding, output, f"Wrote the results of {_count(task, data)} to")


def report(using: Using, file: Path, output: Path) -> None:
    """A page about a model on labelled data."""
    task, model, given = _loaded(using, {})
    if task.report is None:
        able = _listed([one.name for one in tasks().values() if one.report is not None])
        raise ValueError(
            f"There are reports on models of `casimir train {able}`; this one is of `casimir train {task.name}`. Use "
            "`casimir evaluate`."
        )
    if model.run.epochs == 0:
        raise ValueError(
            f"'{using.model}' holds a baseline, for which nothing was optimised: there is nothing to report on."
        )
    data = task.read(file, True, given)
    task.report(model, data, given).save(output)
    say(err(), f"Wrote a report on {_count(task, data)} to {output}", "green")


# --- training


def _report(
    task: Task, model: Any, prepared: Any, parts: Parts, wanted: Wanted, given: Given, manner: Manner
) -> tuple[list[Section], list[str]]:
    """Scores on all parts, and the files of pictures."""
    others: dict[str, Any] = {}
    if not manner.no_baselines and task.baselines is not None:
        given.say("Training simpler models, to compare")
        others = task.baselines(prepared, _part(given, None))
        for name, simpler in others.items():
            simpler.save(manner.model / BASELINES / name)
    sections, seen = [], []
    for name, data in parts.reported.items():
        featurised = task.featurise(model, data, given)
        title = {"dev": "dev data", "test": "test data", "heldout": "held-out data"}[name]
        scores = _scores(task, model, others, featurised, given)
        sections.append(Section(name, f"{_count(task, data)}, {title}", scores))
        seen.append((model, featurised))
    if wanted.folds is not None:
        section, seen = _cross_validate(task, parts.train, wanted.folds, bool(others), given, manner)
        sections.append(section)
    return sections, _draw(task, manner.pictures, seen, given)


def _cross_validate(
    task: Task, data: Any, folds: int, compares: bool, given: Given, manner: Manner
) -> tuple[Section, list[tuple[Any, Any]]]:
    given.say(f"Training {folds} more models, each without one fold")
    jobs = manner.jobs or 1
    inner = given if jobs == 1 else replace(given, **_telling(quiet=True))  # bars would run into each other
    work = [
        partial(_fold, task, learned, held_out, compares, _part(inner, f"fold-{k}"))
        for k, (learned, held_out) in enumerate(fold_parts(data, folds, given.fit.seed))
    ]
    done = side_by_side(work, min(jobs, folds), given.track, "folds")
    by_fold, seen = [scores for scores, _ in done], [shown for _, shown in done]
    means = {name: _mean([fold[name] for fold in by_fold], task) for name in by_fold[0]}
    ours = [next(iter(fold.values())) for fold in by_fold]
    title = f"{_count(task, data)}, means over {folds} folds"
    return Section("cross_validation", title, means, ours), seen


def _fold(
    task: Task, learned: Any, held_out: Any, compares: bool, given: Given, stop: Stop | None
) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """The scores of one fold; its model with the featurised data that they are of."""
    prepared = task.prepare(learned, given)
    model = task.train(prepared, given, () if stop is None else (stop,))
    if model.run.status == "interrupted":
        raise KeyboardInterrupt
    others = task.baselines(prepared, _part(given, None)) if compares and task.baselines is not None else {}
    featurised = task.featurise(model, held_out, given)
    return _scores(task, model, others, featurised, given), (model, featurised)


def _part(given: Given, name: str | None) -> Given:
    """For one model of several, its own checkpoint; None: no checkpoint, since it takes no time."""
    return replace(given, fit=given.fit.part(name))


def _mean(scores: Sequence[Any], task: Task) -> dict[str, float | None]:
    """Of every column, over folds; None where a fold has none."""
    found: dict[str, float | None] = {}
    for name in task.columns.values():
        values = [getattr(one, name) for one in scores]
        found[name] = None if None in values else float(np.mean(values))
    return found


def _draw(task: Task, folder: Path | None, seen: list[tuple[Any, Any]], given: Given) -> list[str]:
    if folder is None or task.pictures is None or not seen:
        return []
    try:
        files = task.pictures(folder, seen, given)
    except OSError as error:  # such as a full disk: the figures are not lost with the pictures
        say(err(), f"note: {error}", "yellow")
        return []
    given.say(f"Drew pictures of {len(files) - 1} results into {folder}; overview.png shows all of them")
    return [str(file) for file in files]


def _tell(
    task: Task, model: Any, sections: list[Section], drawn: list[str], title: str, manner: Manner, clock: _Clock
) -> None:
    spent = clock.spent()
    if manner.json:
        told: dict[str, Any] = {"pictures": drawn} if manner.pictures is not None else {}
        told |= {section.name: section.figures() for section in sections}
        write_json({"model": str(manner.model), **model.run.to_dict(), **task.figures(model), **spent, **told})
        return
    show_run(out(), model.run, title)
    for section in sections:
        section.show(out(), task)
    if not manner.quiet:
        peak = f", {spent['peak_memory'] / 1e6:,.0f} MB at most" if "peak_memory" in spent else ""
        say(err(), f"In all {spent['wall_seconds']:.1f} s, {spent['cpu_seconds']:.1f} s of CPU time{peak}")


class _Clock:
    """What a command takes from its beginning on."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()

    def spent(self) -> dict[str, float]:
        wall, cpu, peak = time.perf_counter() - self._wall, time.process_time(), _peak_memory()
        return {"wall_seconds": wall, "cpu_seconds": cpu, **({} if peak is None else {"peak_memory": peak})}


def _peak_memory() -> int | None:
    """In bytes; None on systems that do not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# --- scores


def _scores(task: Task, model: Any, others: Mapping[str, Any], featurised: Any, given: Given) -> dict[str, Any]:
    """By method: the model, trained baselines, simple methods."""
    return {
        "casimir": task.score(model, featurised, given),
        **{name: task.score(simpler, featurised, given) for name, simpler in others.items()},
        **task.compare(model, featurised, given),
    }


# --- what is given


def _given(options: Any, using: Using, model: Any = None) -> Given:
    return Given(options, model=model, encoding=using.encoding, kept=kept, **_telling(using.quiet))


def _telling(quiet: bool) -> dict[str, Any]:
    """How a task tells what it does; where it is to be quiet, as `Given` does without a command line."""
    loud = {"track": track, "progress": counted, "say": lambda text: say(err(), text)}
    return {one.name: one.default if quiet else loud[one.name] for one in fields(Given) if one.name in loud}


def _loaded(using: Using, options: Mapping[str, Any]) -> tuple[Task, Any, Given]:
    kind, model = load_with_kind(using.model)
    task = task_of(kind)
    if task is None:
        raise ValueError(
            f"'{using.model}' holds a {type(model).__name__}, which belongs to no task of the command line. Use "
            "casimir.load in Python, or give a folder made by `casimir train`."
        )
    return task, model, _given(_use_options(task, options), using, model)


def _use_options(task: Task, given: Mapping[str, Any]) -> Any:
    """The task's own; an option of another task is refused, not ignored."""
    own = asdict(task.use_options())
    for name in (one for one in given if one not in own):
        owners = [one for one in tasks().values() if name in asdict(one.use_options())]
        if given[name] != asdict(owners[0].use_options())[name]:
            raise ValueError(
                f"--{name.replace('_', '-')} is for models of `casimir train {_listed([one.name for one in owners])}`; "
                f"this one is of `casimir train {task.name}`. Leave it out."
            )
    return task.use_options(**{name: given[name] for name in own if name in given})


def _listed(names: list[str]) -> str:
    """ "a`, `b` and `c", to stand between two ticks."""
    *most, last = names
    return "`, `".join(most) + f"` and `{last}" if most else last


def _count(task: Task, data: Any) -> str:
    return numbered(len(data), task.units)


def _check_pictures(folder: Path | None) -> None:
    """Before hours of work, whether there can be such a folder."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"'{folder}' is a file; pictures are written into a folder. Give another --pictures.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"There can be no folder '{folder}' ({error.strerror}). Give another --pictures.") from None
