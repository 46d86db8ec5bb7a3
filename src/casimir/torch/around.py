"""A module around given parameters, for one batch: its scores, and products by their Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from casimir.scores import FloatArray, Scores
from casimir.torch.outputs import Parts, as_flat, as_scores
from casimir.torch.parameters import ParameterVector
from casimir.torch.products import Graph, Tensors, forward_mode, leaves


@dataclass
class Modes:
    """What is known of the derivatives of a module.

    forward  whether forward mode may be tried: until an operation turns out to lack it
    checked  whether the product by two passes in reverse mode was seen to be right
    """

    forward: bool = True
    checked: bool = False


class Around:
    """scores(w + dw) ~ scores + J dw, with the graph of the scores kept.

    run   parameters -> the module's scores of the batch, as tensors
    read  those tensors -> Scores
    """

    def __init__(
        self,
        run: Callable[[Tensors], Parts],
        read: Callable[[Parts], Scores],
        at: Tensors,
        parameters: ParameterVector,
        modes: Modes,
    ) -> None:
        self._run, self._parameters, self._modes = run, parameters, modes
        inputs = leaves(at)
        with torch.enable_grad():
            parts = run(inputs)
            self._graph = Graph(inputs, parts.flat())
        self.scores = read(parts)
        self._shared = isinstance(parts.edges, Tensor)

    def adjoint(self, m: Scores) -> FloatArray:
        """float64[d]: J^T m."""
        flat = as_flat(m, self.scores, self._shared)
        pairs = zip(flat, self._graph.values, strict=True)
        cotangents = [torch.tensor(m_part, dtype=v.dtype, device=v.device) for m_part, v in pairs]
        return self._parameters.vector(self._graph.vjp(cotangents))

    def forward(self, dw: FloatArray) -> Scores:
        """J dw in the layout of the scores."""
        product = self._jvp(self._parameters.tensors(dw))
        return as_scores([t.detach().to("cpu", torch.float64).numpy() for t in product], self.scores, self._shared)

    def rows(self, some: int) -> Iterator[tuple[int, list[Tensor | None]]]:
        """The rows of J for node scores [N], `some` at a time: how many, and their gradients by parameter."""
        return self._graph.rows(some)

    def _jvp(self, tangents: Tensors) -> tuple[Tensor, ...]:
        failed = None
        if self._modes.forward:
            try:
                at = {name: tensor.detach() for name, tensor in self._graph.at.items()}
                return forward_mode(lambda at: self._run(at).flat(), at, tangents)
            except (NotImplementedError, RuntimeError) as error:
                self._modes.forward, failed = False, error
        try:
            product = self._graph.jvp(tangents)
        except (NotImplementedError, RuntimeError) as error:
            raise _no_product(error) from (failed or error)
        if not self._modes.checked:
            if not self._graph.is_product(product, tangents):
                raise _no_product(None) from failed
            self._modes.checked = any(bool(part.any()) for part in product)
        return product


def _no_product(error: Exception | None) -> NotImplementedError:
    reason = "" if error is None else f" ({error})"
    return NotImplementedError(
        "TorchModel cannot multiply by the Jacobian of this module: an operation has neither a forward derivative nor "
        f"a second backward one{reason}. Solvers that need scores and gradients alone, such as SGD, still work."
    )
