"""A BiLSTM chain: F against CPU seconds, by Adam and by prox-linear steps from the same start.

python -m benchmarks.bilstm --sentences 1500 --times 1,2,5
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
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
from casimir.torch import StructuredLoss, TorchModel, load_vector, to_vector

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
    """Batches of 32 sentences, a rate that falls to 0 by a fixed number of epochs; the clock stops for F."""
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
