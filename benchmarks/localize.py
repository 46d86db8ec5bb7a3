"""Object localization on PASCAL VOC: certified gaps, cross-validation, prox-linear steps against SGD.

python -m benchmarks.localize --data VOCdevkit/VOC2012 --weights alexnet.npz --cache features/
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import casimir as cs
from benchmarks.clock import seconds_of
from benchmarks.table import machine, markdown
from casimir.solvers.sgd import sgd_epoch
from casimir.tasks.localize import AlexNet, CandidateSet, EluScore, LocalizeModel, collect, read_voc, train
from casimir.tasks.localize.features import FeatureMap
from casimir.tasks.localize.metrics import LocalizeScores, best_candidates
from casimir.tasks.parts import fold_parts

# class -> (lam n -> [dual, primal]), of another program on the same features
BRACKETS = {
    "sheep": {10: (0.9095, 0.9096), 1: (0.6695, 0.6699)},
    "cow": {10: (0.9018, 0.9020), 1: (0.6506, 0.6510)},
    "aeroplane": {10: (0.7954, 0.7956), 1: (0.5694, 0.5698)},
}
CORLOC = {"sheep": "0.63", "cow": "0.59-0.63", "aeroplane": "0.78", "cat": "0.59"}
SCHEDULES: dict[str, Callable[[float], Any]] = {
    "const": cs.Constant,
    "t^-1/2": cs.InverseRoot,
    "t^-1": cs.Inverse,
}
GAMMAS = {"const": (0.003, 0.01, 0.03, 0.1), "t^-1/2": (0.1, 0.3, 1.0, 3.0), "t^-1": (10.0, 30.0, 100.0, 300.0)}
ROUNDING = 5e-5  # the known figures have four digits
MOST_EPOCHS = 2000


@dataclass(frozen=True, eq=False)
class Data:
    """A class's candidates; `descriptor` made them."""

    name: str
    candidates: CandidateSet
    descriptor: AlexNet

    def first_part(self, share: float = 0.75) -> CandidateSet:
        """The first images of default_rng(0).permutation."""
        n = len(self.candidates)
        return self.candidates.select(np.random.default_rng(0).permutation(n)[: round(share * n)])


def objectives(data: Data, lam_n: float, score: str = "linear") -> tuple[Callable[[], cs.Objective], int]:
    """A maker of objectives with lam = lam_n / n on the paper's features, and n."""
    part = data.first_part()
    assert part.truth is not None
    features = FeatureMap(data.descriptor.cells, data.descriptor.channels, "paper")
    rows, offsets = features.stacked(part)
    y = [np.array([j]) for j in best_candidates(part.boxes, part.truth)]
    cost = cs.IoU([boxes.astype(np.float64) for boxes in part.boxes])

    def make() -> cs.Objective:
        if score == "elu":
            model: Any = EluScore(features.cells, features.channels).model(rows, offsets)
        else:
            model = cs.LinearCandidateModel.of_rows(rows, offsets)
        return cs.Objective(model, cs.Candidates(), cost, y, lam_n / len(part))

    return make, len(part)


# --- certified gaps


def bracket_rows(data: Data) -> list[tuple[str, ...]]:
    rows = []
    for lam_n in (10, 1):
        make, _ = objectives(data, lam_n)
        low, high = BRACKETS.get(data.name, {}).get(lam_n, (0.0, np.inf))
        known = f"[{low:.4f}, {high:.4f}]" if np.isfinite(high) else "-"
        for name, solver in (("BCFW", cs.BCFW()), ("DualProximal (auto)", cs.DualProximal())):
            found: list[cs.Result] = []
            seconds = seconds_of(lambda s=solver, m=make, f=found: f.append(cs.minimize(m(), s, MOST_EPOCHS, 1e-3)))
            result = found[0]
            overlaps = result.dual <= high + ROUNDING and low - ROUNDING <= result.objective
            bracket = f"[{result.dual:.4f}, {result.objective:.4f}]"
            passes = [str(first_below(result.trace, gap)) for gap in (1e-2, 1e-3)]
            verdict = ("yes" if overlaps else "**no**") if known != "-" else "-"
            rows.append((data.name, f"{lam_n}/n", name, bracket, known, verdict, *passes, f"{seconds:.2f} s"))
    return rows


def first_below(trace: cs.Trace, gap: float) -> int | str:
    return next((row.epoch for row in trace if row.gap <= gap), "-")


# --- cross-validation


def cross_validate(
    fit: Callable[[CandidateSet], LocalizeModel], candidates: CandidateSet, folds: int, seed: int
) -> dict[str, LocalizeScores]:
    """Scores of models that have not seen the pictures, and of the baselines, over all folds."""
    parts = [fit(learned).evaluate(held_out) for learned, held_out in fold_parts(candidates, folds, seed)]
    return {name: pooled([part[name] for part in parts]) for name in parts[0]}


def pooled(parts: Sequence[LocalizeScores]) -> LocalizeScores:
    """Scores of several folds as one: means over all images. AP is the images' mean of the folds' APs, since scores of
    models that were trained apart are not on one scale."""
    sizes = np.array([part.n for part in parts], dtype=np.float64)
    aps = [part.ap for part in parts]
    known = [ap for ap in aps if ap is not None]

    def mean(values: Sequence[float]) -> float:
        return float(np.average(values, weights=sizes))

    return LocalizeScores(
        mean([part.corloc for part in parts]),
        mean(known) if len(known) == len(aps) else None,
        mean([part.mean_iou for part in parts]),
        int(sizes.sum()),
    )


def fold_rows(data: Data, seeds: Sequence[int]) -> list[tuple[str, ...]]:
    """Means over seeds of 4-fold cross-validation, by features: the default, without neighbours, and the paper's."""
    rows = []
    scores: dict[str, LocalizeScores] = {}
    for name in ("full", "geometry", "paper"):

        def fit(part: CandidateSet, features: str = name) -> Any:
            return train(part, data.descriptor, features=features)

        runs = [cross_validate(fit, data.candidates, 4, seed) for seed in seeds]
        ours = [run["casimir"] for run in runs]
        spread = ", ".join(f"{one.corloc:.3f}" for one in ours)
        mean = [float(np.mean([getattr(one, what) for one in ours])) for what in ("corloc", "ap", "mean_iou")]
        rows.append((data.name, name, f"{mean[0]:.3f} ({spread})", f"{mean[1]:.3f}", f"{mean[2]:.3f}"))
        scores = runs[0]
    rows += [
        (data.name, name, f"{one.corloc:.3f}", "-", f"{one.mean_iou:.3f}")
        for name, one in scores.items()
        if name != "casimir"
    ]
    rows.append((data.name, "to reach", CORLOC.get(data.name, "-"), "-", "-"))
    return rows


# --- prox-linear steps against SGD


def nonlinear_rows(data: Data, passes: int, seeds: Sequence[int], say: Callable[[str], None]) -> list[tuple[str, ...]]:
    """The objective of the elu score after `passes` n oracle calls; gamma_0 of SGD is the best of its grid.

    All calls of the solver inside ProxLinear count. SGD is shown twice: with an evaluation per epoch, as `minimize`
    makes it, and with all calls spent on steps.
    """
    make, n = objectives(data, 1.0, "elu")
    rows = []
    for seed in seeds:
        w0 = EluScore(data.descriptor.cells, data.descriptor.channels).start(seed)
        case = (data.name, str(seed), f"{make().value(w0):.3f}")
        result = cs.minimize(make(), cs.ProxLinear(), passes, 1e-4, seed, [Budget(passes * n)], w0=w0)
        values = result.trace["objective"]
        say(f"{' '.join(case)} ProxLinear(): {np.round(values, 4).tolist()}")
        falls = "yes" if np.all(np.diff(values) <= 0.0) else "no"
        calls, note = f"{result.trace[-1].oracle_calls / n:.0f} n", f"{len(values)} steps; monotone: {falls}"
        rows.append((*case, "ProxLinear()", f"{result.objective:.4f}", calls, note))
        for name, schedule in SCHEDULES.items():
            tried = {gamma: sgd_values(make(), schedule(gamma), passes, seed, w0) for gamma in GAMMAS[name]}
            note = ", ".join(f"{gamma:g}: {full:.4f}" for gamma, (_, full) in tried.items())
            say(f"{' '.join(case)} SGD {name}: {note}")
            half, full = (min(values) for values in zip(*tried.values(), strict=True))
            rows.append((*case, f"SGD {name}", f"{half:.4f}", f"{passes} n, evaluations included", ""))
            rows.append((*case, f"SGD {name}", f"{full:.4f}", f"{passes} n without evaluations", f"gamma_0 {note}"))
    return rows


@dataclass(frozen=True)
class Budget:
    """A callback that ends a run after so many oracle calls."""

    calls: int

    def __call__(self, row: cs.TraceRow, w: np.ndarray) -> bool:
        return row.oracle_calls >= self.calls


def sgd_values(objective: cs.Objective, schedule: Any, epochs: int, seed: int, w0: np.ndarray) -> tuple[float, float]:
    """The lowest F that SGD without averaging meets in half of the epochs and in all, looked at every ten epochs."""
    n, rng, w = objective.n_examples, np.random.default_rng(seed), w0.copy()
    half = best = np.inf
    problem, penalty, loss = objective.problem(cs.Hard()), objective.penalty, objective.loss
    for k in range(epochs):
        gamma = schedule.steps(np.arange(k * n + 1, (k + 1) * n + 1), penalty.strong_convexity)
        try:
            sgd_epoch(problem, rng.permutation(n), gamma, penalty, loss, w)
        except FloatingPointError:  # the step size was too large
            break
        if (k + 1) % 10 == 0 or k + 1 == epochs:
            best = min(best, objective.value(w))
            half = best if k + 1 <= epochs // 2 else half
    return float(half), float(best)


# --- the command

TABLES = {
    "brackets": (
        "Certified gaps",
        ("class", "lam", "solver", "[dual, primal]", "known", "overlap?", "1e-2", "1e-3", "CPU"),
    ),
    "folds": ("4-fold cross-validation", ("class", "what", "CorLoc", "AP", "mean IoU")),
    "nonlinear": ("The elu score, lam = 1/n", ("class", "seed", "start", "solver", "F", "oracle calls", "note")),
}


def main(arguments: list[str] | None = None) -> int:
    root = Path(os.environ.get("CASIMIR_DATA", "."))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.localize", description=__doc__)
    parser.add_argument("--data", type=Path, default=root / "VOCdevkit" / "VOC2012", metavar="DIR")
    parser.add_argument("--weights", type=Path, default=root / "weights" / "alexnet_features.npz", metavar="FILE")
    parser.add_argument("--cache", type=Path, default=Path("bench-output") / "features", metavar="DIR")
    parser.add_argument("--classes", default=",".join(BRACKETS), help="separated by commas")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"some of {', '.join(TABLES)}")
    parser.add_argument("--seeds", type=int, default=3, help="permutations of the cross-validation")
    parser.add_argument("--passes", type=int, default=200, help="oracle calls per image for the elu score")
    parser.add_argument("--starts", default="0", help="seeds of the elu score's random starts, separated by commas")
    options = parser.parse_args(arguments)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    descriptor, starts = AlexNet(options.weights), [int(seed) for seed in options.starts.split(",")]
    makers: dict[str, Callable[[Data], list[tuple[str, ...]]]] = {
        "brackets": bracket_rows,
        "folds": lambda data: fold_rows(data, range(options.seeds)),
        "nonlinear": lambda data: nonlinear_rows(data, options.passes, starts, say),
    }
    chosen = options.tables.split(",")
    rows: dict[str, list[tuple[str, ...]]] = {table: [] for table in chosen}
    for name in options.classes.split(","):
        say(f"features of {name}")
        data = Data(name, collect(read_voc(options.data, name), descriptor, cache=options.cache), descriptor)
        for table in chosen:
            say(f"{table} of {name}")
            rows[table] += makers[table](data)
    print(machine())
    for table in chosen:
        title, header = TABLES[table]
        print(f"\n### {title}\n\n{markdown(header, rows[table])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
