"""Small modules and their inputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import casimir as cs

LABELS = 3
LENGTHS = [4, 1, 3, 2, 5]
PARENTS = [[-1, 0, 0, 1], [-1], [1, -1, 1], [-1, 0], [-1, 0, 1, -1, 3]]


class ChainNet(nn.Module):
    """tanh features, unary scores and either shared transitions or transitions that depend on the input."""

    def __init__(self, own_edges: bool = False, edges_per_node: int = 1) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 5)
        self.unary = nn.Linear(5, LABELS)
        self.pairwise = nn.Parameter(torch.randn(LABELS, LABELS))
        self.own_edges, self.skip = own_edges, edges_per_node
        self.dropout = nn.Dropout(0.5)

    def forward(self, inputs: list[Tensor]) -> tuple[list[Tensor], Tensor | list[Tensor]]:
        unary = [self.unary(self.dropout(torch.tanh(self.hidden(x)))) for x in inputs]
        if not self.own_edges:
            return unary, self.pairwise
        return unary, [self.pairwise * torch.sin(x[self.skip :, :1, None]) for x in inputs]


class LSTMNet(nn.Module):
    """An LSTM over padded sequences of word numbers, or one in both directions over packed ones."""

    def __init__(self, packed: bool) -> None:
        super().__init__()
        self.packed = packed
        self.embed = nn.Embedding(11, 4)
        self.lstm = nn.LSTM(4, 3, bidirectional=packed, batch_first=True)
        self.unary = nn.Linear(6 if packed else 3, LABELS)
        self.pairwise = nn.Parameter(torch.zeros(LABELS, LABELS))

    def forward(self, words: list[Tensor]) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([len(w) for w in words])
        padded = self.embed(nn.utils.rnn.pad_sequence(words, batch_first=True))
        if self.packed:
            packed = nn.utils.rnn.pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
            hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        else:
            hidden, _ = self.lstm(padded)
        return self.unary(hidden), self.pairwise


class RowNet(nn.Module):
    """A score per row, [..., 4] -> [...]."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 3)
        self.out = nn.Linear(3, 1)

    def forward(self, rows: Tensor) -> Tensor:
        return self.out(nn.functional.elu(self.hidden(rows)))[..., 0]


class ListOf(nn.Module):
    """Another module for each entry of a list."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, inputs: list[Tensor]) -> list[Tensor]:
        return [self.module(x) for x in inputs]


def vectors(dtype: torch.dtype = torch.float64, seed: int = 0) -> list[Tensor]:
    """One [p_i, 4] per example."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(p, 4, generator=generator, dtype=torch.float64).to(dtype) for p in LENGTHS]


def matrices(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """One [p_i, p_i, 4] per example."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(p, p, 4, generator=generator, dtype=torch.float64).to(dtype) for p in LENGTHS]


def words() -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randint(11, (p,), generator=generator) for p in LENGTHS]


def tree() -> cs.Tree:
    return cs.Tree(PARENTS, LABELS)
