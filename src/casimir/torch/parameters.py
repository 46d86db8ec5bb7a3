"""The parameters of a module as one vector, and back."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from casimir.scores import FloatArray, offsets_of


def to_vector(module: nn.Module) -> FloatArray:
    """float64[d]: the parameters that require gradients, in the order of module.named_parameters(), rows first.

    A tied parameter counts once; frozen parameters and buffers do not count.
    """
    return ParameterVector(module).vector(parameter.detach() for _, parameter in trained_parameters(module))


def load_vector(module: nn.Module, w: FloatArray) -> None:
    """Writes w, float64[d] in the order of to_vector, into the parameters of `module`, in their own precision."""
    tensors = ParameterVector(module).tensors(w)
    with torch.no_grad():
        for name, parameter in trained_parameters(module):
            parameter.copy_(tensors[name])


def trained_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, p) for name, p in module.named_parameters() if p.requires_grad)


class ParameterVector:
    """Which part of a vector is which parameter of a module."""

    def __init__(self, module: nn.Module) -> None:
        if not isinstance(module, nn.Module):
            raise TypeError(f"module is a {type(module).__name__}; it must be a torch.nn.Module.")
        self._parameters = dict(trained_parameters(module))
        if not self._parameters:
            raise ValueError("The module has no parameter that requires gradients; there is nothing to train.")
        for name, parameter in self._parameters.items():
            if isinstance(parameter, nn.parameter.UninitializedParameter):
                raise ValueError(f"The parameter {name} is not initialised yet; call the module once before.")
            if not parameter.is_floating_point():
                raise TypeError(f"The parameter {name} is {parameter.dtype}; only real parameters can be trained.")
        self.offsets = offsets_of([p.numel() for p in self._parameters.values()])

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def dtype(self) -> torch.dtype:
        """The precision in which all parameters can be kept."""
        return functools.reduce(torch.promote_types, (p.dtype for p in self._parameters.values()))

    @property
    def device(self) -> torch.device:
        """Where the first parameter is."""
        return next(iter(self._parameters.values())).device

    def tensors(self, w: FloatArray) -> dict[str, Tensor]:
        """Copies of the parts of w, in the shapes, precisions and on the devices of the parameters."""
        if not isinstance(w, np.ndarray) or w.dtype != np.float64 or w.shape != (len(self),):
            given = f"{w.dtype}{list(w.shape)}" if isinstance(w, np.ndarray) else type(w).__name__
            raise ValueError(f"The module's parameters got {given}; they need a float64[{len(self)}]. See to_vector.")
        parts = np.split(w, self.offsets[1:-1])
        return {
            name: torch.tensor(part, dtype=p.dtype, device=p.device).reshape(p.shape)
            for (name, p), part in zip(self._parameters.items(), parts, strict=True)
        }

    def vector(self, tensors: Iterable[Tensor | None]) -> FloatArray:
        """float64[d] from one tensor per parameter; None is zero."""
        w = np.zeros(len(self))
        for part, tensor in zip(np.split(w, self.offsets[1:-1]), tensors, strict=True):
            if tensor is not None:
                part[:] = tensor.detach().reshape(-1).to("cpu", torch.float64).numpy()
        return w
