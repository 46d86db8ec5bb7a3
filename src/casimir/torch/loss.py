"""Structured losses as a torch module: the oracles of a structure behind scores that a network computes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from casimir._threads import at_most
from casimir._validate import positive_float, positive_int
from casimir.costs import Cost
from casimir.smoothing import Entropy, Hard, Smoothing
from casimir.structures.base import Structure
from casimir.torch.function import LossFunction, Problem
from casimir.torch.marginals import Marginals, marginals_of
from casimir.torch.nodes import Nodes
from casimir.torch.targets import as_given, read_targets

Method = TypeVar("Method", bound=Callable[..., Any])

_REDUCTIONS = ("mean", "sum", "none", "token_mean")


def _outside_of_torch(method: Method) -> Method:
    """A method whose oracles are not torch's to compile or to transform, but use no more threads than torch."""

    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with at_most(torch.get_num_threads()):
                return method(*args, **kwargs)
        except RuntimeError as error:
            if "data pointer" not in str(error):
                raise
            raise RuntimeError(
                "torch.func (grad, vmap, jacrev, ...) cannot go through StructuredLoss, whose oracles are outside of "
                "torch. Use loss.backward() or torch.autograd.grad."
            ) from None

    disable: Any = torch.compiler.disable
    kept: Method = disable(run)
    return kept


class TopOutputs(NamedTuple):
    """The k best outputs of every example, best first.

    value    [B, k], -inf where an example has fewer than k outputs
    outputs  int64 [B, k, ...], ignore_index where there is nothing; a list of [k_i, ...] where the scores were a list
    """

    value: Tensor
    outputs: Tensor | list[Tensor]


def _stacked(ranks: Sequence[Tensor], count: int) -> Tensor:
    """[count, ...]"""
    return torch.stack(list(ranks))[:count]


class StructuredLoss(nn.Module):
    """loss_i = f_mu(scores_i + cost(y_i, .)) - score_i(y_i), f_mu the smoothed max over all outputs.

    structure   Chain, Matching, Candidates or any other structure. None where it comes with each batch, such as Tree
    cost        None, or a cost such as Hamming() that is added to the scores of wrong outputs
    smoothing   Hard() is the max, L2() and Entropy() smooth it by mu. None is Entropy() without a cost, Hard() with one
    mu          the amount of smoothing
    reduction   "mean" over examples, "sum", "none" for one loss per example, "token_mean" for the sum over the number
                of rows (positions of a chain)
    ignore_index  a target that is left out, like a masked one

    Without a cost and with mu = 1, Entropy() is the negative log-likelihood of a CRF; Hamming() and Hard() give the
    structural hinge loss. Gradients are exact, marginals minus the parts of y_i, and come with the forward pass.

    Scores are padded tensors, or lists with one tensor per example:

        structure    scores          pairwise                                 target, decoded outputs
        Chain        [B, T, L]       [L, L] (from, to) or [B, T - 1, L, L]    [B, T] labels
        Tree         [B, T, L]       [L, L] or [B, T, L, L] (label, parent's) [B, T] labels
        Matching     [B, P, Q]                                                [B, P] columns
        Candidates   [B, M]                                                   [B] numbers of candidates
        others       as their `layout` says, see casimir.structures.TensorLayout

    What the mask leaves out, and every row whose target is ignore_index, is not there: a chain joins the positions on
    both sides of a hole, a matching has no such row, a candidate is not in the list. An example of which nothing is
    left has loss 0, does not count in the mean, and is decoded as ignore_index. Masked scores may be anything, NaN too,
    and have gradient 0.

    The oracles run on the CPU in float64: the kept scores are gathered once, and gradients scattered once, in the
    precision and on the device of the scores. There is no second derivative, and torch.compile goes around the loss;
    torch.func cannot go through it.
    """

    def __init__(
        self,
        structure: Structure | None = None,
        cost: Cost | None = None,
        smoothing: Smoothing | None = None,
        mu: float = 1.0,
        reduction: str = "mean",
        ignore_index: int = -100,
    ) -> None:
        super().__init__()
        for name, given in (("structure", structure), ("cost", cost), ("smoothing", smoothing)):
            if isinstance(given, type):
                raise TypeError(f"{name} is the class {given.__name__}; make one, such as {given.__name__}(...).")
        if structure is not None and not callable(getattr(structure, "max", None)):
            raise TypeError(
                f"structure is a {type(structure).__name__}; it must be a structure such as Chain(n_labels)."
            )
        if cost is not None and not callable(getattr(cost, "parts", None)):
            raise TypeError(f"cost is a {type(cost).__name__}; it must be None or a cost such as Hamming().")
        if smoothing is None:
            smoothing = Entropy() if cost is None else Hard()
        if not callable(smoothing):
            raise TypeError(f"smoothing={smoothing!r}; it must be Hard(), L2() or Entropy().")
        self.structure, self.cost, self.smoothing = structure, cost, smoothing
        self.mu, self.reduction, self.ignore_index = positive_float(mu, "mu"), reduction, int(ignore_index)

    @property
    def reduction(self) -> str:
        """How the losses of examples become one number; may be set anew."""
        return self._reduction

    @reduction.setter
    def reduction(self, reduction: str) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(f"reduction={reduction!r}; it must be one of {', '.join(map(repr, _REDUCTIONS))}.")
        self._reduction = reduction

    @_outside_of_torch
    def forward(
        self,
        scores: Any,
        target: Any,
        mask: Any = None,
        *,
        lengths: Any = None,
        pairwise: Any = None,
        start: Tensor | None = None,
        stop: Tensor | None = None,
        structure: Structure | None = None,
        cost: Cost | None = None,
    ) -> Tensor:
        """The loss of a batch, a scalar, or [B] with reduction "none".

        mask         bool[B, T], True where there is something; anywhere, not only at the end, where the layout has
                     holes. For matrices also [B, P, Q], which leaves out columns too; for lists a list of bool[p_i]
        lengths      int[B] instead of a mask: the first rows are there
        pairwise     see above; None is zero. A transition into position t of a chain is pairwise[:, t - 1]
        start, stop  [L], added to the first and the last position of a chain
        structure, cost   those of this batch, where they belong to its examples: Tree(parents, L), IoU(boxes). Their
                     rows are those that are left, counted without holes
        """
        nodes, targets = read_targets(self._nodes(scores, mask, lengths, structure), target, self.ignore_index)
        problem = Problem.of(nodes, pairwise, start, stop)
        settings = (targets, self.cost if cost is None else cost, self.smoothing, self.mu)
        apply: Any = LossFunction.apply
        losses: Tensor = apply(problem, settings, *problem.tensors)
        if self.reduction == "none":
            return losses
        weights = targets.weights
        counted = {"mean": weights.sum(), "sum": 1.0, "token_mean": nodes.rows.counts @ weights}
        return losses.sum() / max(float(counted[self.reduction]), 1.0)

    @_outside_of_torch
    @torch.no_grad()
    def decode(self, scores: Any, mask: Any = None, **parts: Any) -> Any:
        """The best outputs, int64 in the shape of the targets with ignore_index where the mask is off; no cost.

        Takes lengths, pairwise, start, stop and structure as the loss does. Scores that are a list give a list, unless
        all outputs have the same size, as those of Candidates.
        """
        problem = self._problem(scores, mask, **parts)
        best = problem.structure.max(problem.scores).outputs if len(problem.chosen) else []
        return as_given(problem.nodes, best, self.ignore_index)

    @_outside_of_torch
    @torch.no_grad()
    def topk(self, scores: Any, k: int, mask: Any = None, **parts: Any) -> TopOutputs:
        """The k best outputs and their scores; arguments as those of decode."""
        k, problem = positive_int(k, "k"), self._problem(scores, mask, **parts)
        nodes, left = problem.nodes, problem.chosen
        values, found, counts = np.full((len(nodes), k), -np.inf), [], np.zeros(len(nodes), dtype=np.int64)
        if len(left):
            top = problem.structure.topk(problem.scores, k)
            values[left], found, counts[left] = top.value, top.outputs, [len(y) for y in top.outputs]
        # Outputs are put back rank by rank; where an example has fewer, its last one stands in and is removed.
        rows = ([y[min(j, len(y) - 1)] for y in found] for j in range(k))
        ranks = [as_given(nodes, outputs, self.ignore_index) for outputs in rows]
        value = torch.from_numpy(values).to(nodes.tensor)
        if not all(isinstance(rank, Tensor) for rank in ranks):
            lists = zip(*ranks, strict=True)
            return TopOutputs(value, [_stacked(y, n) for y, n in zip(lists, counts.tolist(), strict=True)])
        outputs = torch.stack([rank for rank in ranks if isinstance(rank, Tensor)], dim=1)
        outputs[torch.arange(k) >= torch.from_numpy(counts)[:, None]] = self.ignore_index
        return TopOutputs(value, outputs)

    @_outside_of_torch
    def marginals(
        self,
        scores: Any,
        mask: Any = None,
        *,
        smoothing: Smoothing | None = None,
        mu: float | None = None,
        **parts: Any,
    ) -> Marginals:
        """The gradient of f_mu(scores), without cost: with Entropy the probability of every part.

        smoothing and mu are those of the loss unless given; other arguments as those of decode. Gradients go back
        through them, exactly, with L2() for all structures and with Entropy() for Chain, Tree, Candidates and
        Enumerated; elsewhere a backward pass raises an error, and .detach() or torch.no_grad() gives the values.
        """
        problem = self._problem(scores, mask, **parts)
        return marginals_of(problem, self.smoothing if smoothing is None else smoothing, self.mu if mu is None else mu)

    def extra_repr(self) -> str:
        return (
            f"{self.structure!r}, cost={self.cost!r}, smoothing={self.smoothing!r}, mu={self.mu:g}, "
            f"reduction={self.reduction!r}"
        )

    def _problem(
        self,
        scores: Any,
        mask: Any,
        *,
        lengths: Any = None,
        pairwise: Any = None,
        start: Tensor | None = None,
        stop: Tensor | None = None,
        structure: Structure | None = None,
    ) -> Problem:
        return Problem.of(self._nodes(scores, mask, lengths, structure), pairwise, start, stop)

    def _nodes(self, scores: Any, mask: Any, lengths: Any, structure: Structure | None) -> Nodes:
        structure = self.structure if structure is None else structure
        if structure is None:
            raise ValueError(
                "This StructuredLoss was made without a structure; give the one of the batch, such as "
                "loss(scores, target, structure=Tree(parents, n_labels))."
            )
        return Nodes(structure, scores, mask, lengths)
