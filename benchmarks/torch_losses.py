"""A CRF loss and its gradient beside torch-struct and pytorch-crf. python -m benchmarks.torch_losses"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

import casimir as cs
from benchmarks.clock import medians, take_turns
from benchmarks.table import machine, markdown
from casimir.torch import StructuredLoss

TARGET = 5.0  # for the first row
BATCHES = ((64, 30, 9, False), (64, 30, 9, True), (16, 30, 9, False), (64, 100, 20, False))
Loss = Callable[[Tensor, Tensor], Tensor]


class Batch:
    """Chains with shared transitions, in float32."""

    def __init__(self, size: int, length: int, labels: int, masked: bool) -> None:
        generator = torch.Generator().manual_seed(0)
        self.unary = torch.randn(size, length, labels, generator=generator)
        self.pairwise = torch.randn(labels, labels, generator=generator)
        self.target = torch.randint(labels, (size, length), generator=generator)
        self.lengths = torch.full((size,), length)
        if masked:
            self.lengths = torch.randint(length // 3, length + 1, (size,), generator=generator)
            self.lengths[0] = length
        self.mask = torch.arange(length) < self.lengths[:, None]
        self.masked = masked


def ours(batch: Batch) -> Loss:
    loss = StructuredLoss(cs.Chain(len(batch.pairwise)), reduction="sum")
    mask = batch.mask if batch.masked else None
    return lambda unary, pairwise: loss(unary, batch.target, mask, pairwise=pairwise)


def pytorch_crf(batch: Batch) -> Loss:
    from torchcrf import CRF

    crf = CRF(len(batch.pairwise), batch_first=True)
    torch.nn.init.zeros_(crf.start_transitions)
    torch.nn.init.zeros_(crf.end_transitions)
    del crf.transitions
    mask = batch.mask if batch.masked else None

    def loss(unary: Tensor, pairwise: Tensor) -> Tensor:
        crf.transitions = pairwise
        return -crf(unary, batch.target, mask)

    return loss


def torch_struct(batch: Batch) -> Loss:
    """Its chains score pairs [B, T - 1, to, from], the first unary scores in the first pair."""
    from torch_struct import LinearChainCRF

    def potentials(unary: Tensor, pairwise: Tensor) -> Tensor:
        pairs = unary[:, 1:, :, None] + pairwise.T
        first = torch.zeros_like(pairs)
        first[:, 0] = unary[:, 0, None, :]
        return pairs + first

    parts = LinearChainCRF.struct.to_parts(batch.target, len(batch.pairwise), lengths=batch.lengths)

    def loss(unary: Tensor, pairwise: Tensor) -> Tensor:
        scores = potentials(unary, pairwise)
        partition = LinearChainCRF(scores, lengths=batch.lengths).partition
        return partition.sum() - (scores * parts).sum()

    return loss


SIDES = {"casimir": ours, "torch-struct": torch_struct, "pytorch-crf": pytorch_crf}


def actions(batch: Batch) -> dict[str, Callable[[], object]]:
    """Forward and backward of every side; they must agree on the loss and on both gradients."""
    made = {}
    results = {}
    for name, side in SIDES.items():
        loss = side(batch)
        unary, pairwise = batch.unary.clone().requires_grad_(), batch.pairwise.clone().requires_grad_()

        def action(loss: Loss = loss, unary: Tensor = unary, pairwise: Tensor = pairwise) -> tuple[Tensor, ...]:
            unary.grad = pairwise.grad = None
            value = loss(unary, pairwise)
            value.backward()
            return value.detach(), unary.grad, pairwise.grad

        made[name], results[name] = action, action()
    for name, result in results.items():
        for mine, other in zip(results["casimir"], result, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-3, msg=lambda m, name=name: f"{name}: {m}")
    return made


def rows(threads: str, repetitions: int) -> list[tuple[str, ...]]:
    """One row per batch: CPU milliseconds of each side and the two ratios."""
    found = []
    for size, length, labels, masked in (
        (64, 30, 9, False),
        (64, 30, 9, True),
        (16, 30, 9, False),
        (64, 100, 20, False),
    ):
        seconds = medians(take_turns(actions(Batch(size, length, labels, masked)), repetitions))
        what = f"{size} chains, length {length}, {labels} labels{', masked' if masked else ''}"
        shown = [f"{1e3 * seconds[name]:.2f} ms" for name in SIDES]
        ratios = [seconds[name] / seconds["casimir"] for name in list(SIDES)[1:]]
        reached = "yes" if min(ratios) >= TARGET else "**no**"
        found.append((what, threads, *shown, *(f"{ratio:.1f}x" for ratio in ratios), reached))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_losses", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=51)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the table there too")
    parser.add_argument("--threads", choices=["1", "default"], help="run one of the two, and print its rows as JSON")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # those of the other two
    if options.threads is not None:
        if options.threads == "1":
            torch.set_num_threads(1)
        print(json.dumps(rows(options.threads, options.repetitions)))
        return 0
    table = []
    for threads in ("1", "default"):
        command = [sys.executable, "-m", "benchmarks.torch_losses", "--threads", threads]
        setting = {"CASIMIR_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} if threads == "1" else {}
        command += ["--repetitions", str(options.repetitions)]
        done = subprocess.run(command, env=os.environ | setting, check=True, capture_output=True, text=True)
        table += json.loads(done.stdout)
    header = ("CRF loss, forward + backward, CPU time", "threads", *SIDES)
    header += (*(f"{name} / casimir" for name in list(SIDES)[1:]), f">= {TARGET:g}x?")
    print(f"{machine()}, torch {torch.__version__}\n\n{markdown(header, table)}")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "header": header, "rows": table}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
