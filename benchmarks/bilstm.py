"""A BiLSTM chain: F against CPU seconds, by Adam and by prox-linear steps from the same start.

python -m benchmarks.bilstm --sentences 300 --seconds 6 --times 5
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import casimir as cs
from benchmarks.table import machine, markdown
from casimir.datasets import load_news
from casimir.scores import FloatArray
from casimir.solvers.base import Solver
from casimir.tasks.ner import read_conll
from casimir.torch import StructuredLoss, TorchModel, to_vector

WIDTHS = (25, 15, 10)  # of the embeddings of the views of a word
LAM_N = 0.1
RATES = (1e-3, 3e-3, 1e-2)  # of Adam
LOSSES = {"log": cs.Log(), "hinge": cs.Hinge(cs.Hamming())}


def views(word: str) -> tuple[str, ...]:
    """What the network sees of a word: itself, its last letters and its case."""
    case = "".join("A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in word)
    return word.lower(), word[-3:].lower(), case[:2] + case[-1:]


class Network(nn.Module):
    """Embeddings -> BiLSTM -> unary scores [B, T, L], and transitions [L, L]."""

    def __init__(self, sizes: Sequence[int], n_labels: int) -> None:
        super().__init__()
        self.embed = nn.ModuleList(nn.Embedding(size, width) for size, width in zip(sizes, WIDTHS, strict=True))
        for table in self.embed:
            nn.init.normal_(table.weight, std=0.1)
        self.lstm = nn.LSTM(sum(WIDTHS), 32, batch_first=True, bidirectional=True)
        self.score = nn.Linear(64, n_labels)
        self.pairwise = nn.Parameter(torch.zeros(n_labels, n_labels))

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        embedded = torch.cat([table(x[..., k]) for k, table in enumerate(self.embed)], dim=-1)
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.score(hidden), self.pairwise


def collate(xs: list[Tensor]) -> tuple[Tensor, Tensor]:
    return nn.utils.rnn.pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs])


@dataclass(frozen=True, eq=False)
class Task:
    """The embedded news corpus in numbers, and a network that was not trained."""

    xs: list[Tensor]
    ys: list[np.ndarray]
    sizes: list[int]
    n_labels: int

    @classmethod
    def of(cls, sentences: int) -> Task:
        corpus = read_conll(load_news().train)
        words = [[views(word) for word in s.words] for s in corpus.sentences[:sentences]]
        columns = zip(*(view for sentence in words for view in sentence), strict=True)
        tables = [{view: j for j, view in enumerate(sorted(set(column)))} for column in columns]
        xs = [torch.tensor([[t[v] for t, v in zip(tables, view, strict=True)] for view in s]) for s in words]
        labels = corpus.labels[:sentences]
        names = {name: j for j, name in enumerate(sorted({label for tags in labels for label in tags}))}
        ys = [np.array([names[label] for label in tags]) for tags in labels]
        return cls(xs, ys, [len(t) for t in tables], len(names))

    @property
    def lam(self) -> float:
        return LAM_N / len(self.xs)

    def network(self, seed: int) -> Network:
        torch.manual_seed(seed)
        return Network(self.sizes, self.n_labels)

    def objective(self, network: Network, loss: Any) -> cs.Objective:
        structure, lengths = cs.Chain(self.n_labels), np.array([len(x) for x in self.xs])
        model = TorchModel(network, self.xs, structure, collate=collate, lengths=lengths)
        return cs.Objective(model, structure, loss, self.ys, self.lam)


Curve = list[tuple[float, float]]  # CPU seconds, F


def adam(task: Task, loss: str, seed: int, rate: float, seconds: float) -> Curve:
    """Batches of 32 sentences, a rate that falls with the time that is left; the clock stops for F."""
    network = task.network(seed)
    objective = task.objective(network, LOSSES[loss])
    of_batch = StructuredLoss(cs.Chain(task.n_labels), *([cs.Hamming()] if loss == "hinge" else []))
    targets = [torch.tensor(y) for y in task.ys]
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    curve, spent = [(0.0, objective.value(to_vector(network)))], 0.0
    while spent < seconds:
        began = time.process_time()
        for batch in torch.randperm(len(task.xs)).split(32):
            for group in optimizer.param_groups:
                group["lr"] = rate * max(1.0 - spent / seconds, 0.05)
            x, lengths = collate([task.xs[i] for i in batch])
            unary, pairwise = network(x, lengths)
            target = nn.utils.rnn.pad_sequence([targets[i] for i in batch], True, of_batch.ignore_index)
            optimizer.zero_grad()
            square = sum((p**2).sum() for p in network.parameters())
            (of_batch(unary, target, pairwise=pairwise) + 0.5 * task.lam * square).backward()
            optimizer.step()
        spent += time.process_time() - began
        curve.append((spent, objective.value(to_vector(network))))
    return curve


def by_solver(task: Task, loss: str, seed: int, solver: Solver, seconds: float) -> Curve:
    """F at the end of every epoch, or prox-linear step, until the time is over. A step is not cut short."""
    objective = task.objective(task.network(seed), LOSSES[loss])
    start = objective.model.start()
    curve = [(0.0, objective.value(start))]

    def note(row: cs.TraceRow, w: FloatArray) -> bool:
        curve.append((row.cpu_seconds + row.evaluation_seconds, row.objective))
        return curve[-1][0] >= seconds

    cs.minimize(objective, solver, 10_000, 0.0, seed, [note], w0=start)
    return curve


def best_adam(task: Task, loss: str, seed: int, seconds: float) -> tuple[str, Curve]:
    """The rate of the grid that ends lowest."""
    curves = {f"Adam, rate {rate:g}": adam(task, loss, seed, rate, seconds) for rate in RATES}
    return min(curves.items(), key=lambda item: item[1][-1][1])


SOLVERS: dict[str, dict[str, Solver]] = {
    "log": {"ProxLinear()": cs.ProxLinear(), "LBFGS() on F": cs.LBFGS()},
    "hinge": {
        "ProxLinear()": cs.ProxLinear(),
        "ProxLinear(Casimir(LBFGS()), inner_epochs=8)": cs.ProxLinear(cs.Casimir(cs.LBFGS()), inner_epochs=8),
        "LBFGS(mu=0.1) on F": cs.LBFGS(mu=0.1),
    },
}


def reached(curve: Curve, seconds: float) -> str:
    """The lowest F up to then; where the first step takes longer, its end."""
    within = [value for spent, value in curve if spent <= seconds]
    return f"{min(within):.3f}" if len(within) > 1 else f"{curve[1][1]:.3f} after {curve[1][0]:.0f} s, one step"


def rows_of(task: Task, loss: str, seed: int, seconds: float, times: int) -> list[tuple[str, ...]]:
    """Adam has its seconds, the others `times` as many."""
    name, curve = best_adam(task, loss, seed, seconds)
    rows = [(loss, name, reached(curve, 0.5 * seconds), f"{curve[-1][1]:.3f}", "-", str(len(curve) - 1))]
    for name, solver in SOLVERS[loss].items():
        curve = by_solver(task, loss, seed, solver, times * seconds)
        print(name, [(round(spent, 1), round(value, 3)) for spent, value in curve], file=sys.stderr, flush=True)
        found = (reached(curve, part * seconds) for part in (0.5, 1.0, float(times)))
        rows.append((loss, name, *found, str(len(curve) - 1)))
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bilstm", description=__doc__)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=6.0, help="CPU seconds of Adam")
    parser.add_argument("--times", type=int, default=5, help="how much longer the others may take")
    parser.add_argument("--losses", default=",".join(LOSSES), help="separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    task = Task.of(options.sentences)
    rows = [
        row
        for loss in options.losses.split(",")
        for row in rows_of(task, loss, options.seed, options.seconds, options.times)
    ]
    t = options.seconds
    header = ("loss", "solver", f"F at {t / 2:g} s", f"{t:g} s", f"{t * options.times:g} s", "epochs or steps")
    print(f"{machine()}\n{options.sentences} sentences; {start_of(task, options.seed)}\n\n{markdown(header, rows)}")
    return 0


def start_of(task: Task, seed: int) -> str:
    """How many weights there are, and F before training."""
    w = to_vector(task.network(seed))
    values = (f"{name} {task.objective(task.network(seed), loss).value(w):.2f}" for name, loss in LOSSES.items())
    return f"{len(w)} weights; F at the start: {', '.join(values)}"


if __name__ == "__main__":
    raise SystemExit(main())
