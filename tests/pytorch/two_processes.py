"""One of the processes of a training by DistributedDataParallel: two_processes.py RANK WORLD FILE OUT."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

import casimir as cs
from casimir.torch import StructuredLoss

B, T, L, WIDTH, STEPS = 6, 7, 4, 5, 5


class Tagger(nn.Module):
    """Scores, transitions and the loss in one module, so that all parameters are used in `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Linear(WIDTH, L, dtype=torch.float64)
        self.transitions = nn.Parameter(torch.zeros(L, L, dtype=torch.float64))
        self.loss = StructuredLoss(cs.Chain(L))

    def forward(self, x: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        return self.loss(self.network(x), target, mask, pairwise=self.transitions)


def batch() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.rand(B, T) < 0.8
    mask[:, 0] = True
    return torch.randn(B, T, WIDTH, dtype=torch.float64), torch.randint(L, (B, T)), mask


def train(rank: int, world: int, wrap: Any) -> list[Tensor]:
    """The parameters after a few steps, each process on its share of the batch."""
    parts = [part[rank::world] for part in batch()]
    torch.manual_seed(1)
    model = Tagger()
    wrapped = wrap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(STEPS):
        optimizer.zero_grad()
        wrapped(*parts).backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def main() -> None:
    rank, world = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=world, timeout=timedelta(seconds=100)
    )
    found = train(rank, world, DistributedDataParallel)
    torch.save(found, f"{sys.argv[4]}{rank}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
