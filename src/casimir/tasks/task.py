"""What a task is: a few functions and sentences, from which the command line makes `train`, `evaluate` and `predict`.

A task is a folder `tasks/NAME` whose `task.py` has a `Task` called TASK, or an object of another package that its
entry point in the group "casimir.tasks" names. Nothing else has to know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.scores import IntArray
from casimir.solvers.names import SOLVER_NAMES

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.metrics.counts import Counts
    from casimir.solvers.run import Callback
    from casimir.tasks.training import Training


@dataclass(frozen=True)
class Opt:
    """How an option looks on the command line; its name, type and default are those of a dataclass field.

    help       a sentence
    metavar    what stands for the value, such as FILE
    choices    the words that it takes
    low, high  bounds of a number
    name       where that of the field will not do: "--class", or "--labelled/--unlabelled" for a yes or no
    only       "evaluate" or "predict", where an option of `use_options` means nothing to the other
    check      raises a ValueError for what is refused
    """

    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    name: str | None = None
    only: str | None = None
    check: Callable[[Any], Any] | None = None


def opt(help: str, default: Any = None, **look: Any) -> Any:
    """A field of a dataclass of options, such as `words: int = opt("Size of the vocabulary.", 64, metavar="N")`; `look`
    is what else `Opt` takes. A field with the default MISSING must be given."""
    return field(default=default, metadata={Opt: Opt(help, **look)})


@dataclass(frozen=True)
class NoOptions:
    """A task without options of its own."""


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
        raise ValueError(f"{given!r} is not a number such as 1e-4, or a multiple of 1/n such as 0.1/n.")
    return value / n if slash else value


_SOLVERS = f"What minimises the objective: {', '.join(SOLVER_NAMES)}."


@dataclass(frozen=True)
class Fit:
    """How to train, as the command line says it: what every task takes.

    lam  "0.001", "0.1/n", or None for the task's own default
    epochs  None is the task's own default
    """

    lam: str | None = opt(
        "Regularisation: a number, or X/n. Default: the task's own.", metavar="X", check=lambda given: lam_of(given, 1)
    )
    solver: str = opt(_SOLVERS, "auto", metavar="NAME", choices=SOLVER_NAMES)
    tol: float = opt("Certified relative gap at which to stop.", 1e-2, metavar="X", low=0.0)
    epochs: int | None = opt("Stop after this many epochs at the latest. Default: 500.", metavar="N", low=1)
    seed: int = opt("Seed of everything random.", 0, metavar="N", low=0)
    checkpoint: Path | None = opt(
        "Folder to keep in where training stands, every minute and when it is interrupted; the same command goes on "
        "from what it finds there.",
        metavar="DIR",
    )

    def training(self, n: int, callbacks: Iterable[Callback] = ()) -> Training:
        """For the `train` function of a task, on n examples."""
        from casimir.solvers.checkpoint import Checkpoint
        from casimir.tasks.training import Training

        kept = Checkpoint.of(self.checkpoint)
        return Training(lam_of(self.lam, n), self.solver, self.tol, self.epochs, self.seed, tuple(callbacks), kept)

    def part(self, name: str | None) -> Fit:
        """For one model of several: a checkpoint of its own; None: without one."""
        if self.checkpoint is None:
            return self
        return replace(self, checkpoint=None if name is None else self.checkpoint / name)


@dataclass(frozen=True)
class Given:
    """What the functions of a task know besides their data.

    options   an object of the task's `train_options` in training, of its `use_options` else
    fit       how to train
    model     the model at hand; None in training
    dev       in training: labelled data to choose settings on, where there are such
    has_data  whether there is --train; else data are made up
    role      of what is read: "train", "dev" or "test"
    encoding  of text files
    track     track(items, what) wraps what takes long to go through
    progress  progress(what) is a function of (done, total) for what takes long
    kept      `with kept(folder)`: Ctrl-C says that what is done so far is in the folder
    say       tells a line, unless it is to be quiet
    """

    options: Any
    fit: Fit = Fit()
    model: Any = None
    has_data: bool = True
    role: str = "train"
    encoding: str = "utf-8"
    track: Callable[[Iterable[Any], str], Iterable[Any]] = lambda items, what: items
    progress: Callable[[str], Callable[[int, int], None]] = lambda what: lambda done, total: None
    kept: Callable[[Path | None], AbstractContextManager[None]] = lambda folder: nullcontext()
    say: Callable[[str], None] = lambda text: None
    dev: Any = None


@dataclass(frozen=True)
class Table:
    """rows     cells; floats are shown with four digits
    note     a line below
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


def label_table(title: str, unit: str, counts: Mapping[str, Counts], most: int, note: str = "") -> Table:
    """Precision, recall, F1 and support of the first labels."""
    rows = [(name, c.precision, c.recall, c.f1, c.support) for name, c in list(counts.items())[:most]]
    more = [f"and {len(counts) - most} labels more"] if len(counts) > most else []
    return Table([title, "precision", "recall", "F1", unit], rows, "\n".join(more + [note] * bool(note)))


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is called: `--help` need not wait for it."""

    def call(*given: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*given, **named)

    return call


def selected(data: Any, examples: IntArray) -> Any:
    """The examples with these numbers, in this order."""
    return data.select(examples) if hasattr(data, "select") else [data[i] for i in examples]


def random_split(data: Any, share: float, given: Given) -> tuple[Any, Any]:
    """Training and held-out examples, both in their order; the seed draws them."""
    n = len(data)
    n_out = round(share * n)
    if not 0 < n_out < n:
        raise ValueError(
            f"--held-out {share:g} of {n} examples leaves {n - n_out} to train on and {n_out} to report on; both need "
            "at least one. Use --held-out 0 to train on all of them."
        )
    order = np.random.default_rng(given.fit.seed).permutation(n)
    return selected(data, np.sort(order[: n - n_out])), selected(data, np.sort(order[n - n_out :]))


@dataclass(frozen=True)
class Task:
    """Texts:
    name, title   `casimir train NAME`; how help texts call it
    about         what `train` does, in paragraphs
    data          what --train names
    scores        what `evaluate` shows
    writes        what `predict` writes
    units         what is counted, such as "sentences"
    examples      commands, for the help of `train`

    Functions, each with the `Given` of the command:
    read(path, labelled, given) -> data     labelled: for training and evaluation
    made_up() -> (data, dev data or None)   what is used without --train
    train(data, given, callbacks) -> model
    write(model, data, given, output) -> text, or None where files were written
    decode(meta, arrays) -> model           for `casimir.load`; the kind of the model folder is the task's name

    And where a task has them:
    score(model, data, given) -> scores     `columns` are their attributes, by title; JSON has their to_dict(), or else
                                 the fields of a dataclass. Without it: model.evaluate(data)
    train_options, use_options   dataclasses with the options of `train`, and of `evaluate` and `predict`
    is_text                      whether files are text, so that there is --encoding
    check(given, pictures)       refuses, before anything is read, what would be refused later
    held_out                     the share of --train to report on where nothing else is said; None: nothing
    split(data, share, given) -> data, held-out data    share None: `held_out`
    prepare(data, given) -> data for training, such as features, once for the model and its baselines
    baselines(data, given) -> {name: model}     simpler models, trained and saved beside the model
    featurise(model, data, given) -> data for `score`, `compare` and `pictures`, once for all models
    compare(model, data, given) -> {name: scores}   of simple methods that need no training
    calibrate(model, dev, given)                after training: probabilities that are right on dev data
    watch(dev, data, given) -> {name: function of the current weights or predictor}, shown while training
    details(scores) -> tables    more about the scores of the model
    figures(model) -> what is said about the model in JSON
    pictures(folder, results, given) -> files   results: (model, featurised held-out data) each
    from_pack(given, callbacks) -> model         trained on the pack that the options name; None: they name none
    report(model, data, given) -> a page with save(path), for `casimir report`
    """

    name: str
    title: str
    about: str
    data: str
    scores: str
    writes: str
    units: str
    columns: Mapping[str, str]
    read: Callable[[Path, bool, Given], Any]
    made_up: Callable[[], tuple[Any, Any]]
    train: Callable[[Any, Given, tuple[Any, ...]], Any]
    write: Callable[[Any, Any, Given, Path | None], str | None]
    decode: Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], Any]
    score: Callable[[Any, Any, Given], Any] = lambda model, data, given: model.evaluate(data)
    examples: tuple[str, ...] = ()
    train_options: type = NoOptions
    use_options: type = NoOptions
    is_text: bool = True
    held_out: float | None = None
    check: Callable[[Given, Path | None], None] = lambda given, pictures: None
    split: Callable[[Any, float | None, Given], tuple[Any, Any]] | None = None
    prepare: Callable[[Any, Given], Any] = lambda data, given: data
    baselines: Callable[[Any, Given], dict[str, Any]] | None = None
    featurise: Callable[[Any, Any, Given], Any] = lambda model, data, given: data
    compare: Callable[[Any, Any, Given], Mapping[str, Any]] = lambda model, data, given: {}
    watch: Callable[[Any, Any, Given], Mapping[str, Callable[[Any], float]]] = lambda dev, data, given: {}
    calibrate: Callable[[Any, Any, Given], None] = lambda model, dev, given: None
    details: Callable[[Any], list[Table]] = lambda scores: []
    figures: Callable[[Any], dict[str, Any]] = lambda model: {}
    pictures: Callable[[Path, Sequence[tuple[Any, Any]], Given], list[Path]] | None = None
    report: Callable[[Any, Any, Given], Any] | None = None
    from_pack: Callable[[Given, tuple[Any, ...]], Any] = lambda given, callbacks: None

    @classmethod
    def of(cls, module: Mapping[str, Any], **others: Any) -> Task:
        """A task whose functions are those of a module, its `globals()`, that have the names above. `decode` is
        `decode_model` of the module `model` beside it, unless it is told."""
        own = {one.name: module[one.name] for one in fields(cls) if callable(module.get(one.name))}
        decode = later(module["__name__"].rpartition(".")[0] + ".model", "decode_model")
        return cls(**{"decode": decode, **own, **others})
