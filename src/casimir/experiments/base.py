"""What an experiment is: cases x methods x seeds, a small frozen object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from casimir.experiments.rules import LowestObjective, Rule
from casimir.objective import Objective
from casimir.penalties import Penalty, Ridge
from casimir.scores import FloatArray
from casimir.solvers.base import Solver

if TYPE_CHECKING:
    from casimir.experiments.results import Results

Params = Mapping[str, float]
Metric = Callable[[FloatArray], float]
FIRST_SEED = 100  # of final runs; tuning seeds count from 0, and constants of the solvers were chosen on seeds below 30
SMALL_NAME = "-smoke"  # how the names of tiny versions end
SMALL_CASES, SMALL_PASSES, SMALL_SEEDS = 2, 6, 2


@dataclass(frozen=True)
class Places:
    """data   the user's folder with data sets, or None
    cache  a folder for what takes long to compute from them, such as features of pictures
    """

    data: Path | None
    cache: Path


@dataclass(frozen=True, eq=False)
class Data:
    """What a source gives once it is read.

    objective  with n_threads=1 and any penalty: cases set lam
    metrics    name -> function of w, such as F1 on held-out data
    start      seed -> float64[d], where solvers start; None: at 0
    penalty    lam -> R; None: Ridge(lam)
    """

    objective: Objective
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    start: Callable[[int], FloatArray] | None = None
    penalty: Callable[[float], Penalty] | None = None


@dataclass(frozen=True)
class Source:
    """Data that cases share; `load` is called once in a process.

    files   what the data folder must have; () where nothing is needed
    small   the embedded stand-in for smoke tests; None: this one is small
    convex  whether the objective is, so that its optimum can be certified
    """

    name: str
    load: Callable[[Places], Data]
    files: tuple[str, ...] = ()
    small: Source | None = None
    convex: bool = True


@dataclass(frozen=True)
class Size:
    """What a method may know of a case: the number of examples and lam."""

    n: int
    lam: float


@dataclass(frozen=True)
class Case:
    """min_w F(w) on the data of a source with R(w) = lam |w|^2 / 2, or the source's own penalty, lam = lam_n / n."""

    source: Source
    lam_n: float

    @property
    def name(self) -> str:
        """The source and the regularisation."""
        return f"{self.source.name} {self.lam}"

    @property
    def lam(self) -> str:
        """The regularisation as text, such as 0.1/n."""
        return f"{self.lam_n:g}/n"

    def size(self, n: int) -> Size:
        """The size of a problem of n examples."""
        return Size(n, self.lam_n / n)

    def objective(self, data: Data) -> Objective:
        """F on the data, with the penalty of this case; what runs before have found out is not known to it.

        Runs would have other counts otherwise, by which of them came first.
        """
        found = data.objective.with_penalty((data.penalty or Ridge)(self.lam_n / data.objective.n_active))
        found.known_of_losses = {}
        return found

    def small(self) -> Case:
        """The same on the source's small version, where it has one."""
        return self if self.source.small is None else replace(self, source=self.source.small)


@dataclass(frozen=True)
class Knob:
    """A parameter to tune on the grid guess * factor^k, k = -1, 0, 1 and on where an end wins."""

    guess: float
    factor: float = 2.0

    def value(self, k: int) -> float:
        """The k-th value of the grid; the guess is that of 0."""
        return self.guess * self.factor**k


@dataclass(frozen=True)
class Method:
    """A solver with its parameters.

    make    make(size, **params) -> a solver, or a name such as "auto"
    label   in plots and tables; "": the name
    fixed   parameters that are given
    knobs   parameters that are tuned
    tuned   name of a case -> values of the knobs that tuning found there
    evaluate_every  epochs from one row of the trace to the next; None: as the experiment says. Methods whose epochs are
                    cheap may report less often than others in the same experiment
    """

    name: str
    make: Callable[..., Solver | str]
    label: str = ""
    fixed: Params = field(default_factory=dict)
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    tuned: Mapping[str, Params] = field(default_factory=dict)
    evaluate_every: int | None = None

    @property
    def title(self) -> str:
        """What stands in plots and tables."""
        return self.label or self.name

    @property
    def guesses(self) -> dict[str, float]:
        """The values of the knobs before tuning."""
        return {name: knob.guess for name, knob in self.knobs.items()}

    def is_tuned(self, case: Case) -> bool:
        """Whether there is nothing left to tune on that case."""
        return not self.knobs or case.name in self.tuned

    def params(self, case: Case) -> dict[str, float]:
        """The tuned values where they are known, the guesses elsewhere."""
        return {**self.fixed, **self.tuned.get(case.name, self.guesses)}

    def with_guesses(self) -> Method:
        """The same with nothing to tune."""
        return replace(self, fixed={**self.fixed, **self.guesses}, knobs={}, tuned={})


class View(Protocol):
    """How the results of an experiment are shown; `views.Curves` unless it says otherwise."""

    def rows(self, results: Results) -> list[Any]:
        """The rows of its tables: dataclasses of one class, as `tables.Row` is."""
        ...

    def figures(self, results: Results) -> dict[str, Any]:
        """Matplotlib figures by the end of their file's name."""
        ...


@dataclass(frozen=True)
class Experiment:
    """passes          a run ends after passes * n oracle calls, full gradients and evaluations left out, and after 4 *
                    passes epochs, for solvers that make full gradients alone
    figure          of the paper, such as "fig:plot_all_ner"; "": none
    seeds           how many final runs, from FIRST_SEED on
    metrics         those of the source that are columns of the trace
    evaluate_every  epochs from one row of the trace to the next
    evaluate_every_tuning   the same for tuning runs, where reports cost much; a run ends at a row. None: as in
                    final runs
    tol             certified gap at which a run ends before its budget
    calls           a run also ends after so many oracle calls, full gradients counted; None: no such limit
    target          a run also ends when F - F* <= target, F* certified; where a method has a parameter eps, that is its
                    target. None: no such end
    rule            which of the tuning runs is best
    view            how results are shown; None: as curves over seeds and a table of final values
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    methods: tuple[Method, ...]
    passes: int
    figure: str = ""
    seeds: int = 10
    metrics: tuple[str, ...] = ()
    evaluate_every: int = 1
    evaluate_every_tuning: int | None = None
    tol: float = 0.0
    calls: int | None = None
    target: float | None = None
    rule: Rule = LowestObjective()
    view: View | None = None

    def __post_init__(self) -> None:
        for what, names in (("case", [c.name for c in self.cases]), ("method", [m.name for m in self.methods])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{self.name} has two {what}s called {twice[0]!r}; every {what} needs its own name.")

    def small(self) -> Experiment:
        """A version on embedded data that takes seconds: first cases, few passes, nothing to tune."""
        return replace(
            self,
            name=f"{self.name}{SMALL_NAME}",
            title=f"{self.title}, tiny",
            cases=tuple({case.name: case for case in (c.small() for c in self.cases)}.values())[:SMALL_CASES],
            methods=tuple(replace(method.with_guesses(), evaluate_every=None) for method in self.methods),
            passes=SMALL_PASSES,
            seeds=SMALL_SEEDS,
            evaluate_every=1,
        )


def described(solver: Any) -> str:
    """A solver as text that is the same in every process."""
    text = solver if isinstance(solver, str) else repr(solver)
    if " at 0x" in text:
        raise ValueError(
            f"{text} has no description of its own, so its records could not be found again. Make functions of k "
            "frozen dataclasses with __call__."
        )
    return text
