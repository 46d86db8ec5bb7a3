"""A PyTorch module as a score model, non-linear in its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from casimir._validate import positive_int, sequence_of
from casimir.models.base import Linearization, chosen_examples
from casimir.scores import FloatArray, IntArray, Scores, concatenate
from casimir.structures.base import Structure
from casimir.torch.around import Around, Modes
from casimir.torch.outputs import Parts, parts_of, takes_pairs
from casimir.torch.parameters import ParameterVector, to_vector
from casimir.torch.products import Tensors, rows_within, rowwise_gradients, write_rows


class TorchModel:
    """scores_i = module(inputs_i; w), w float64[n_params] the parameters of the module in the order of `to_vector`.

    module      any nn.Module. It is called with the inputs of some examples and returns what `structure.scores` takes,
                as tensors: scores, or the pair (unary, pairwise). A list has one tensor per example; a tensor counts
                the examples by its first dimension; pairwise [L, L] is shared by all edges. The module itself is
                never changed: w is passed to it, `load_vector(module, w)` keeps it. It runs as after module.eval():
                dropout is off, batch norms use their running statistics, so that scores are a function of w alone
    inputs      one entry per example: a list, or a tensor [n, ...], of which the module then gets [B, ...]
    structure   the structure that reads the scores; the same as in Objective
    collate     list of inputs -> what the module is called with, a tuple for several arguments; by default the list
    lengths     int[n], rows of each example that count when the module returns padded tensors [B, T, ...]
    rowwise     inputs are [m_i, ...] and the module scores their rows one by one: it is called with the rows of all
                examples at once, [N, ...], and returns [N]. For candidate lists; `jacobian` is quick then
    batch_size  how many examples the module sees at a time. A linearization of more than that holds no graph; its
                products run the module again, so memory stays bounded

    A module in float32 computes in float32; w, scores and gradients are float64.
    """

    def __init__(
        self,
        module: nn.Module,
        inputs: Any,
        structure: Structure,
        *,
        collate: Callable[[list[Any]], Any] | None = None,
        lengths: Any = None,
        rowwise: bool = False,
        batch_size: int = 64,
    ) -> None:
        self._parameters = ParameterVector(module)
        self.module, self.structure, self.collate, self.rowwise = module, structure, collate, rowwise
        self.inputs = sequence_of(inputs, "inputs")
        self.batch_size = positive_int(batch_size, "batch_size")
        self.lengths = None if lengths is None else _checked_lengths(lengths, len(self.inputs))
        self._modes = Modes()
        if takes_pairs(structure) and rowwise:
            raise ValueError(
                f"rowwise=True is for scores of nodes alone, such as Candidates; {type(structure).__name__} has edges."
            )
        if rowwise and (collate is not None or lengths is not None):
            raise ValueError("rowwise=True stacks the rows itself; leave collate and lengths out.")

    def fingerprint(self) -> Any:
        """What the scores depend on beside w: the module, but not the values of its parameters, and the inputs."""
        shapes = [(name, tuple(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        how = self.collate, self.lengths, self.rowwise, self.batch_size
        return repr(self.module), shapes, dict(self.module.named_buffers()), how, self.inputs

    @property
    def n_examples(self) -> int:
        return len(self.inputs)

    @property
    def n_params(self) -> int:
        return len(self._parameters)

    def start(self) -> FloatArray:
        """float64[n_params]: the module's own parameters, where training should start. Zero is often stationary."""
        return to_vector(self.module)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        at = self._parameters.tensors(w)
        batches = self._batches(examples)
        if not batches:
            return self._no_scores()
        with torch.no_grad():
            return concatenate([self._scores(self._run(at, numbers), numbers) for numbers in batches])

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        """The scores at w, J dw and J^T m.

        J dw is taken in forward mode; where an operation of the module lacks it (LSTMs, packed sequences), by two
        passes in reverse mode, which gives the same.
        """
        at = self._parameters.tensors(w)
        batches = self._batches(examples)
        if len(batches) == 1:
            around = self._around(at, batches[0])
            return Linearization(around.scores, around.forward, around.adjoint)
        bounds = np.cumsum([0, *map(len, batches)])

        def forward(dw: FloatArray) -> Scores:
            if not batches:
                return self._no_scores()
            return concatenate([self._around(at, numbers).forward(dw) for numbers in batches])

        def adjoint(m: Scores) -> FloatArray:
            if len(m) != bounds[-1]:
                raise ValueError(f"TorchModel got marginals of {len(m)} examples for scores of {bounds[-1]}.")
            total = np.zeros(self.n_params)
            for first, numbers in zip(bounds, batches, strict=False):
                total += self._around(at, numbers).adjoint(m.select(slice(first, first + len(numbers))))
            return total

        return Linearization(self.scores(w, examples), forward, adjoint)

    @property
    def jacobian(self) -> Callable[..., npt.NDArray[np.float32] | FloatArray]:
        """jacobian(w, examples=None) -> float32 or float64[N, n_params]: the gradient of every score, row by row.

        As precise as the module's parameters, float32 at the least. Without `rowwise` each row costs a backward pass
        through its example.
        Only models of candidates have it: ask hasattr(model, "jacobian").
        """
        layout = getattr(self.structure, "layout", None)
        if layout is None or not layout.is_choice:
            raise AttributeError(
                f"A TorchModel for {type(self.structure).__name__} has no jacobian, which is for lists of Candidates. "
                "Use linearize."
            )
        return self._all_rows

    def _all_rows(self, w: FloatArray, examples: Any = None) -> npt.NDArray[np.float32] | FloatArray:
        at, dtype = self._parameters.tensors(w), self._parameters.dtype
        size = len(self.scores(w, examples).nodes)
        out = np.empty((size, self.n_params), np.float64 if dtype == torch.float64 else np.float32)
        first = 0
        some = rows_within(self.n_params, dtype)
        parts = self._rowwise_jacobian if self.rowwise else self._jacobian
        for number in chosen_examples(examples, self.n_examples):
            for count, gradients in parts(at, number, some):
                write_rows(out[first : first + count], gradients, self._parameters.offsets)
                first += count
        return out

    def _jacobian(self, at: Tensors, number: int, some: int) -> Iterator[tuple[int, Sequence[Tensor | None]]]:
        """The rows of one example, some at a time: how many, and their gradients by parameter."""
        return self._around(at, np.array([number])).rows(some)

    def _rowwise_jacobian(self, at: Tensors, number: int, some: int) -> Iterator[tuple[int, Sequence[Tensor | None]]]:
        rows = self._rows([self.inputs[number]])[0]
        for block in torch.split(rows, some):
            try:
                with _evaluating(self.module):
                    gradients = rowwise_gradients(self._row_score, at, block)
            except RuntimeError as error:
                raise NotImplementedError(
                    "jacobian with rowwise=True runs the module under torch.func.vmap, which failed. Make a model "
                    f"without rowwise, which is slower. {error}"
                ) from error
            yield len(block), gradients

    def _around(self, at: Tensors, numbers: IntArray) -> Around:
        return Around(
            lambda at: self._run(at, numbers),
            lambda parts: self._scores(parts, numbers),
            at,
            self._parameters,
            self._modes,
        )

    def _row_score(self, at: Tensors, row: Tensor) -> Tensor:
        score: Tensor = torch.func.functional_call(self.module, dict(at), (row[None],))
        return score.reshape(())

    def _batches(self, examples: Any) -> list[IntArray]:
        numbers = chosen_examples(examples, self.n_examples)
        return [numbers[a : a + self.batch_size] for a in range(0, len(numbers), self.batch_size)]

    def _run(self, at: Tensors, numbers: IntArray) -> Parts:
        """The module's scores of some examples."""
        if self.rowwise:
            rows, sizes = self._rows([self.inputs[i] for i in numbers.tolist()])
            with _evaluating(self.module):
                flat = torch.func.functional_call(self.module, dict(at), (rows,))
            if not isinstance(flat, Tensor) or flat.numel() != len(rows):
                given = list(flat.shape) if isinstance(flat, Tensor) else type(flat).__name__
                raise ValueError(f"The module returned {given} for {len(rows)} rows; with rowwise=True it must be [N].")
            return Parts(list(torch.split(flat.reshape(-1), sizes)), None)
        arguments = self._arguments(numbers)
        with _evaluating(self.module):
            output = torch.func.functional_call(self.module, dict(at), arguments)
        return parts_of(output, self.structure, None if self.lengths is None else self.lengths[numbers])

    def _arguments(self, numbers: IntArray) -> tuple[Any, ...]:
        """What the module is called with."""
        if self.collate is None and isinstance(self.inputs, Tensor):
            return (self.inputs[torch.from_numpy(numbers)],)
        inputs = [self.inputs[i] for i in numbers.tolist()]
        batch = inputs if self.collate is None else self.collate(inputs)
        return batch if isinstance(batch, tuple) else (batch,)

    def _rows(self, inputs: list[Any]) -> tuple[Tensor, list[int]]:
        """The rows of all inputs, floating point ones in the precision of the module, and how many each has."""
        # torch warns of arrays that it could not write to, such as mapped files.
        own = [x if isinstance(x, Tensor) else np.require(x, requirements="W") for x in inputs]
        tensors = [torch.as_tensor(x) for x in own]
        rows = torch.cat(tensors).to(self._parameters.device)
        return rows.to(self._parameters.dtype) if rows.is_floating_point() else rows, [len(x) for x in tensors]

    def _scores(self, parts: Parts, numbers: IntArray) -> Scores:
        try:
            made = parts.scores(self.structure.select(numbers))
        except (ValueError, TypeError) as error:
            shown = ", ".join(map(str, numbers[:3].tolist())) + (", ..." if len(numbers) > 3 else "")
            raise type(error)(f"The module's scores of the examples [{shown}] do not fit: {error}") from error
        if len(made) != len(numbers):
            raise ValueError(f"The module returned scores of {len(made)} examples for {len(numbers)} inputs.")
        return made

    def _no_scores(self) -> Scores:
        structure: Any = self.structure.select([])
        made: Scores = structure.scores([], []) if takes_pairs(structure) else structure.scores([])
        return made


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """The module as after eval(), for a while."""
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _checked_lengths(lengths: Any, n: int) -> IntArray:
    array = np.asarray(lengths)
    if array.shape != (n,) or array.dtype.kind not in "iu" or (n and array.min() < 1):
        raise ValueError(f"lengths is {array.dtype}{list(array.shape)}; it must be {n} whole numbers, 1 or larger.")
    return array.astype(np.int64)
