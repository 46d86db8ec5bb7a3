"""The CRF loss in PyTorch against a scan in JAX of a few lines: python -m benchmarks.jax_scan. JAX comes from PyPI.

Forward and backward, gradients of all scores, CPU time, one thread each; JAX computes in float32, compiled beforehand.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("CASIMIR_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import numpy as np
import torch

import casimir as cs
from benchmarks.clock import medians, take_turns
from benchmarks.oracles import milliseconds
from benchmarks.table import machine, markdown
from casimir.torch import StructuredLoss

SHAPES = ((64, 30, 9), (16, 30, 50), (16, 30, 200), (64, 30, 200))


def jax_loss(u, transitions, y):  # type: ignore[no-untyped-def]
    """sum_i log sum_y exp(score) - score(y_i); messages are products with exp(T)."""
    potential = jnp.exp(transitions)

    def step(carry, row):  # type: ignore[no-untyped-def]
        message, logs = carry
        message = (message @ potential) * jnp.exp(row - row.max(1, keepdims=True))
        total = message.sum(1, keepdims=True)
        return (message / total, logs + jnp.log(total[:, 0]) + row.max(1)), None

    top = u[:, 0].max(1, keepdims=True)
    start = jnp.exp(u[:, 0] - top)
    (last, logs), _ = jax.lax.scan(step, (start, top[:, 0]), jnp.swapaxes(u[:, 1:], 0, 1))
    score = jnp.take_along_axis(u, y[..., None], 2).sum() + transitions[y[:, :-1], y[:, 1:]].sum()
    return (logs + jnp.log(last.sum(1))).sum() - score


def row(n: int, length: int, labels: int, repetitions: int) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    u, transitions = rng.normal(size=(n, length, labels)), rng.normal(size=(labels, labels))
    y = rng.integers(labels, size=(n, length))
    unary, pairwise = (torch.tensor(a, dtype=torch.float32, requires_grad=True) for a in (u, transitions))
    targets, loss = torch.tensor(y), StructuredLoss(cs.Chain(labels), reduction="sum")
    compiled = jax.jit(jax.value_and_grad(jax_loss, argnums=(0, 1)))
    arrays = jnp.asarray(u, jnp.float32), jnp.asarray(transitions, jnp.float32), jnp.asarray(y)

    def ours() -> tuple[object, ...]:
        unary.grad = pairwise.grad = None
        value = loss(unary, targets, None, pairwise=pairwise)
        value.backward()
        return value.detach(), unary.grad, pairwise.grad

    def theirs() -> tuple[object, ...]:
        value, gradients = jax.block_until_ready(compiled(*arrays))
        return value, *gradients

    for a, b in zip(ours(), theirs(), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-3)
    seconds = medians(take_turns({"ours": ours, "theirs": theirs}, repetitions))
    shown = (milliseconds(seconds["ours"]), milliseconds(seconds["theirs"]))
    return (f"{n} x {length} x {labels}", *shown, f"{seconds['ours'] / seconds['theirs']:.2f}x")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jax_scan", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=31)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    header = ("chains x length x labels", "casimir", "JAX", "casimir / JAX")
    print(f"{machine()}, JAX {jax.__version__}\n")
    print(markdown(header, [row(*shape, options.repetitions) for shape in SHAPES]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
