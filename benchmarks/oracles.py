"""Every oracle of every structure: time against size, the price of top-K, and targets. python -m benchmarks.oracles"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import medians, take_turns
from benchmarks.instances import FAMILIES, Family, Instance, grid_edges, grid_parts
from benchmarks.table import machine, markdown

ARGUMENTS: dict[str, tuple[Any, ...]] = {"max": (), "topk": (5,), "expect": (1.0,), "max_marginals": ()}
KS = (1, 5, 20, 100)
MANY = (10, 50, 100, 200, 500, 1000, 2000)
LAZY = ("chain", "tree", "junction")  # further outputs are deviations, found without another pass


def call(instance: Instance, oracle: str, *arguments: Any) -> Callable[[], object]:
    structure, s = instance
    return lambda: getattr(structure, oracle)(s, *arguments)


def time_against_size(family: Family, repetitions: int) -> list[tuple[str, ...]]:
    """One row per oracle: milliseconds per example at each size, and a of the fit time ~ size^a to the larger sizes."""
    rows = []
    for oracle, sizes in family.sizes.items():
        instances = {size: family.make(size, family.batch, np.random.default_rng(size)) for size in sizes}
        actions = {str(size): call(instances[size], oracle, *ARGUMENTS[oracle]) for size in sizes}
        measured = medians(take_turns(actions, repetitions))
        seconds = [measured[str(size)] / family.batch for size in sizes]
        larger = slice(len(sizes) // 2 - 1, None)
        slope = np.polyfit(np.log(sizes[larger]), np.log(np.maximum(seconds[larger], 1e-9)), 1)[0]
        shown = ", ".join(f"{size}: {milliseconds(t)}" for size, t in zip(sizes, seconds, strict=True))
        name = {"topk": "top-5", "expect": "exp", "max_marginals": "max-marginals"}.get(oracle, oracle)
        rows.append((family.name, name, family.unit, shown, f"{slope:.2f}"))
    return rows


def price_of_topk(family: Family, repetitions: int) -> tuple[str, ...]:
    """topk / max for each K."""
    seconds = topk_seconds(family, repetitions)
    return (family.name, str(family.k_size), *(f"{seconds[str(k)] / seconds['max']:.2f}x" for k in KS))


def topk_seconds(family: Family, repetitions: int) -> dict[str, float]:
    instance = family.make(family.k_size, 2 * family.batch, np.random.default_rng(0))
    actions = {"max": call(instance, "max")} | {str(k): call(instance, "topk", k) for k in KS}
    return medians(take_turns(actions, repetitions))


def time_against_k(family: Family, repetitions: int) -> tuple[str, ...]:
    """Milliseconds per example for many outputs, and a of the fit time ~ K^a to K >= 100."""
    n = 2
    instance = family.make(family.k_size, n, np.random.default_rng(0))
    measured = medians(take_turns({str(k): call(instance, "topk", k) for k in MANY}, repetitions))
    seconds = {k: measured[str(k)] / n for k in MANY}
    many = [k for k in MANY if k >= 100]
    slope = np.polyfit(np.log(many), np.log([seconds[k] for k in many]), 1)[0]
    return (family.name, str(family.k_size), *(milliseconds(seconds[k]) for k in MANY), f"{slope:.2f}")


def against_pymaxflow(side: int, repetitions: int) -> tuple[str, ...]:
    """One cut of a grid: our max from Scores on, checks included; PyMaxflow builds its graph and runs its max-flow."""
    import maxflow

    edges = grid_edges(side, side)
    unary, strength = grid_parts(side, edges, np.random.default_rng(0))
    ours = call(FAMILIES["graphcut"].make(side, 1, np.random.default_rng(0)), "max")
    source, sink = np.maximum(unary[:, 1], 0.0), np.maximum(-unary[:, 1], 0.0)

    def theirs() -> float:
        graph = maxflow.Graph[float](side * side, len(edges))
        nodes = graph.add_nodes(side * side)
        graph.add_edges(nodes[edges[:, 0]], nodes[edges[:, 1]], strength, strength)
        graph.add_grid_tedges(nodes, source, sink)
        return float(graph.maxflow())

    value = float(np.asarray(ours().value)[0])  # type: ignore[attr-defined]
    assert abs(value - (source.sum() - theirs())) < 1e-6, "the two do not agree on the cut"
    seconds = medians(take_turns({"ours": ours, "theirs": theirs}, repetitions))
    ratio = seconds["ours"] / seconds["theirs"]
    shown = f"{milliseconds(seconds['ours'])} / {milliseconds(seconds['theirs'])}"
    return f"GraphCut max / PyMaxflow, {side} x {side}", shown, f"{ratio:.2f}x", "<= 2x", verdict(ratio, 2.0)


def in_cuts(what: str, family: str, size: int, limit: float, repetitions: int) -> tuple[str, ...]:
    """All max-marginals in units of one max."""
    instance = FAMILIES[family].make(size, 3, np.random.default_rng(0))
    actions = {"tables": call(instance, "max_marginals"), "one": call(instance, "max")}
    seconds = medians(take_turns(actions, repetitions))
    ratio = seconds["tables"] / seconds["one"]
    shown = f"{milliseconds(seconds['tables'])} / {milliseconds(seconds['one'])}"
    return what, shown, f"{ratio:.1f}x", f"<= {limit:g}x", verdict(ratio, limit)


def against_scipy(p: int, repetitions: int) -> tuple[str, ...]:
    from scipy.optimize import linear_sum_assignment

    structure, s = FAMILIES["matching"].make(p, 3, np.random.default_rng(0))
    matrices = [s.unary(i) for i in range(len(s))]
    actions: dict[str, Callable[[], object]] = {
        "ours": lambda: structure.max(s),
        "theirs": lambda: [linear_sum_assignment(weights, maximize=True) for weights in matrices],
    }
    seconds = medians(take_turns(actions, repetitions))
    ratio = seconds["ours"] / seconds["theirs"]
    shown = f"{milliseconds(seconds['ours'])} / {milliseconds(seconds['theirs'])}"
    return f"Matching max / SciPy's assignment, p = {p}", shown, f"{ratio:.2f}x", "-", "-"


def tree_top5(repetitions: int) -> tuple[str, ...]:
    seconds = topk_seconds(FAMILIES["tree"], repetitions)
    ratio = seconds["5"] / seconds["max"]
    shown = f"{milliseconds(seconds['5'])} / {milliseconds(seconds['max'])}"
    return "Tree top-5 / max, 200 nodes, 9 labels", shown, f"{ratio:.2f}x", "<= 3x", verdict(ratio, 3.0)


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def verdict(ratio: float, limit: float) -> str:
    return "yes" if ratio <= limit else "**no**"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oracles", description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES), help="only these, separated by commas")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the tables there too")
    options = parser.parse_args(arguments)
    chosen = options.families.split(",")
    unknown = [name for name in chosen if name not in FAMILIES]
    if unknown:
        parser.error(f"no family is called {unknown[0]!r}; there are {', '.join(FAMILIES)}.")
    os.environ["CASIMIR_NUM_THREADS"] = "1"  # CPU time of one thread
    repetitions, tables = options.repetitions, {}
    targets: list[tuple[str, ...]] = []
    if "tree" in chosen:
        targets.append(tree_top5(repetitions))
    if "graphcut" in chosen:
        targets.append(against_pymaxflow(100, repetitions))
        targets.append(in_cuts("GraphCut max-marginals / max, 30 x 30", "graphcut", 30, 20.0, repetitions))
    if "matching" in chosen:
        targets.append(in_cuts("Matching max-marginals / max, p = 100", "matching", 100, 30.0, repetitions))
        targets.append(against_scipy(100, repetitions))
    tables["Targets"] = (("what", "CPU time", "ratio", "target", "reached?"), targets)
    sizes = [row for name in chosen for row in time_against_size(FAMILIES[name], repetitions)]
    tables["Time against size"] = (("structure", "oracle", "size", "CPU time", "exponent"), sizes)
    prices = [price_of_topk(FAMILIES[name], repetitions) for name in chosen]
    tables["Top-K / max"] = (("structure", "size", *(f"K = {k}" for k in KS)), prices)
    lazy = [time_against_k(FAMILIES[name], repetitions) for name in chosen if name in LAZY]
    if lazy:
        tables["Time against K"] = (("structure", "size", *(f"K = {k}" for k in MANY), "exponent"), lazy)
    print(machine())
    for title, (header, rows) in tables.items():
        print(f"\n## {title}\n\n{markdown(header, rows)}")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "tables": tables}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
