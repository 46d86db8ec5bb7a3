"""Chains of many labels: full passes in float32 matrix products. python -m benchmarks.many_labels --help

A product is [edges, L] times [L, L] in float32, by NumPy's BLAS on one thread; forward, backward and the gradient of
the transitions are the work of three. With --allowed best labels and passes where few pairs of labels are allowed,
against the same without a mask. With --crfsuite N an iteration of L-BFGS on a CRF, casimir's with a certificate and
CRFsuite's, to the same objective, medians of N. The sentences and weights are random.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt

import casimir as cs
from benchmarks.clock import medians, take_turns
from benchmarks.crfsuite import Peer
from benchmarks.oracles import milliseconds
from benchmarks.table import machine, markdown
from benchmarks.tagged import with_ends
from casimir._native import core
from casimir.costs import Hamming
from casimir.estimators.span_schemes import scheme_mask
from casimir.models.linear import LinearChainModel
from casimir.problems import Combination, Truth, core_problem
from casimir.structures import Chain

BoolArray = npt.NDArray[np.bool_]
SENTENCES = {50: 1000, 200: 400, 1000: 100}
KINDS = {"hinge": (Hamming(), ("hard", 1, 0.0)), "CRF": (None, ("entropy", 1, 1.0))}


def sentences(labels: int, n: int, rng: np.random.Generator) -> tuple[list[list[list[str]]], list[Any]]:
    """Tokens of two features, and labels, of which each is there where that is possible."""
    lengths = rng.integers(8, 24, n)
    words = [[[f"w{rng.integers(2000)}", f"s{rng.integers(200)}"] for _ in range(p)] for p in lengths]
    y = rng.permutation(np.arange(lengths.sum()) % labels)
    return words, np.split(y, np.cumsum(lengths)[:-1])


def problem_of(labels: int, n: int, cost: Any, rng: np.random.Generator) -> Any:
    words, y = sentences(labels, n, rng)
    X = cs.pack(words, n_features=None)
    return core_problem(LinearChainModel(X, labels), Combination(Chain(labels), cost, y, Truth(y)))


def row(labels: int, repetitions: int) -> tuple[str, ...]:
    """Passes with gradient at one number of labels, in three products each."""
    n, actions = SENTENCES[labels], {}
    for name, (cost, smoothing) in KINDS.items():
        problem = problem_of(labels, n, cost, np.random.default_rng(labels))
        w, out = np.random.default_rng(0).normal(0.0, 0.5, problem.n_params), np.zeros(problem.n_params)
        chosen = core.Smoothing(*smoothing)
        actions[name] = lambda problem=problem, w=w, chosen=chosen, out=out: problem.full_pass(w, chosen, 1, None, out)
    edges = int(np.random.default_rng(labels).integers(8, 24, n).sum()) - n
    rng = np.random.default_rng(1)
    messages, matrix = (rng.random(shape, dtype=np.float32) for shape in ((edges, labels), (labels, labels)))
    actions["product"] = lambda: messages @ matrix
    seconds = medians(take_turns(actions, repetitions))
    shown = (f"{milliseconds(seconds[k])}, {seconds[k] / (3 * seconds['product']):.2f}" for k in KINDS)
    return (str(labels), str(edges), milliseconds(seconds["product"]), *shown)


def iterations(labels: int, count: int) -> tuple[str, ...]:
    """The median iteration of both; the first two are left out."""
    words, y = sentences(labels, SENTENCES[labels], np.random.default_rng(labels))
    n = len(words)
    model = cs.LinearChainModel(cs.pack(words, n_features=None), labels)
    objective = cs.Objective(model, cs.Chain(labels), cs.Log(), y, cs.Ridge(1.0 / n), n_threads=1)
    ends: list[float] = []

    def ours() -> float:
        ends.clear()
        cs.minimize(objective, cs.LBFGS(), count, 0.0, callbacks=[lambda *_: ends.append(time.process_time())])
        return float(np.median(np.diff(ends)[2:]))

    first = ours()
    names = [[f"l{label}" for label in labels_of] for labels_of in y]
    dense = {"feature.possible_states": True, "feature.possible_transitions": True}
    seconds, _ = Peer(with_ends(words), names).train("lbfgs", count, c1=0.0, c2=0.5, **dense)
    theirs, mine = float(np.median(seconds[2:])), (first + ours()) / 2.0
    return (str(labels), milliseconds(mine), milliseconds(theirs), f"{theirs / mine:.1f}x")


def iobes(types: int) -> BoolArray:
    """bool[4 types + 1] squared: what may follow what, in the order B-*, E-*, I-*, O, S-* of sorted labels."""
    labels = sorted(["O", *(f"{part}-{k:03d}" for part in "BEIS" for k in range(types))])
    return scheme_mask("IOBES", labels)[:-1, :-1]


def masks() -> dict[str, BoolArray]:
    some = np.random.default_rng(0).random((1000, 1000)) < 0.05
    np.fill_diagonal(some, True)
    return {"IOBES, 50 types": iobes(50), "L = 1000, 5 %": some}


def allowed_row(name: str, mask: BoolArray, repetitions: int) -> tuple[str, ...]:
    """Milliseconds with the mask, and how many times as long it takes without."""
    labels, rng = len(mask), np.random.default_rng(0)
    lengths = rng.integers(8, 24, SENTENCES[1000])
    unary, pairwise = [rng.normal(size=(p, labels)) for p in lengths], rng.normal(size=(labels, labels))
    words = [[[f"w{rng.integers(2000)}", f"s{rng.integers(200)}"] for _ in range(p)] for p in lengths]
    chains = {"masked": Chain(labels, mask), "whole": Chain(labels)}
    y = chains["masked"].max(chains["masked"].scores(unary, pairwise)).outputs
    model, w = LinearChainModel(cs.pack(words, n_features=None), labels), None
    kinds: dict[str, dict[str, Any]] = {k: {} for k in ("max of one", "max", "top-5", *KINDS)}
    for side, chain in chains.items():
        s, one = chain.scores(unary, pairwise), chain.scores(unary[:1], pairwise)
        kinds["max of one"][side] = lambda chain=chain, one=one: chain.max(one)
        kinds["max"][side] = lambda chain=chain, s=s: chain.max(s)
        kinds["top-5"][side] = lambda chain=chain, s=s: chain.topk(s, 5)
        for kind, (cost, smoothing) in KINDS.items():
            problem = core_problem(model, Combination(chain, cost, y, Truth(y)))
            w = np.random.default_rng(0).normal(0.0, 0.5, problem.n_params) if w is None else w
            kinds[kind][side] = full_pass(problem, w, core.Smoothing(*smoothing))
    found = [name, f"{mask.mean():.0%}"]
    for actions in kinds.values():
        seconds = medians(take_turns(actions, repetitions))
        found.append(f"{milliseconds(seconds['masked'])}, {seconds['whole'] / seconds['masked']:.1f}x")
    return tuple(found)


def full_pass(problem: Any, w: Any, smoothing: Any) -> Callable[[], Any]:
    out = np.zeros(problem.n_params)
    return lambda: problem.full_pass(w, smoothing, 1, None, out)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_labels", description=__doc__)
    parser.add_argument("--labels", default="50,200,1000", help="separated by commas")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--crfsuite", type=int, metavar="N", help="N iterations of L-BFGS instead")
    parser.add_argument("--allowed", action="store_true", help="chains of whose pairs few are allowed instead")
    options = parser.parse_args(arguments)
    if options.allowed:
        header = ("", "allowed", "max of one", "max", "top-5", *(f"{name} pass" for name in KINDS))
        rows = [allowed_row(name, mask, options.repetitions) for name, mask in masks().items()]
        print(f"{machine()}\n\n{markdown(header, rows)}")
        return 0
    if options.crfsuite:
        header = ("L", "casimir", "CRFsuite", "CRFsuite / casimir")
        rows = [iterations(int(k), options.crfsuite) for k in options.labels.split(",")]
        print(f"{machine()}\n\n{markdown(header, rows)}")
        return 0
    header = ("L", "edges", "product", *(f"{name} pass with gradient, in three products" for name in KINDS))
    print(f"{machine()}\n\n{markdown(header, [row(int(k), options.repetitions) for k in options.labels.split(',')])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
