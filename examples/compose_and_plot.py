"""Linear model x Chain x Hinge(Hamming) x Ridge, put together by hand, and two solvers in one picture.

    python examples/compose_and_plot.py [PICTURE]

Writes convergence.png, or PICTURE. Needs matplotlib: pip install "casimir[plot]".
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

import casimir as cs
from casimir.datasets import load_news
from casimir.tasks.ner import extract, read_conll


def objective() -> cs.Objective:
    """The structural SVM of the embedded news corpus with the paper's features; a fresh one counts from 0."""
    corpus = read_conll(load_news().train)
    labels = sorted({tag for tags in corpus.labels for tag in tags})
    y = [np.array([labels.index(tag) for tag in tags]) for tags in corpus.labels]
    X = cs.pack(extract(corpus.sentences, "paper"), n_features=None)
    model = cs.LinearChainModel(X, len(labels))
    return cs.Objective(model, cs.Chain(len(labels)), cs.Hinge(cs.Hamming()), y, cs.Ridge(1 / len(X)))


def main(picture: str = "convergence.png") -> None:
    solvers = {
        "Casimir(SVRG(L2(k=5)))": cs.Casimir(cs.SVRG(cs.L2(k=5))),
        "DualProximal()": cs.DualProximal(),
    }
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for name, solver in solvers.items():
        problem = objective()
        result = cs.minimize(problem, solver, epochs=20, tol=1e-2)
        passes = result.trace["oracle_calls"] / problem.n_examples
        axes.semilogy(passes, result.trace["gap"], marker="o", markersize=3, label=name)
        print(
            f"{name}: {result.status} after {passes[-1]:.0f} passes, F = {result.objective:.5f}, gap {result.gap:.1e}"
        )
    axes.set(xlabel="oracle calls / n", ylabel="certified relative gap")
    axes.legend(frameon=False)
    figure.savefig(picture, dpi=150)
    print(f"wrote {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
