"""The convolutions of AlexNet on the patch under a box: Phi(x, y) = conv4(resize(x|_y, 64 x 64)), 3 x 3 x 256."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._threads import n_threads
from casimir.scores import IntArray
from casimir.tasks.data_files import read_npz
from casimir.tasks.localize.descriptors import Described
from casimir.tasks.localize.pictures import Pixels
from casimir.tasks.opencv import opencv

PATCH = 64  # pixels per side
GRID = 3  # what is left of 64 pixels after conv1 and two poolings
_BATCH = 128  # patches at a time: what the convolutions need then stays in the cache of a CPU
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as the weights were trained with


@dataclass(frozen=True)
class _Convolution:
    """number: the layer's in torchvision's `features`; pooled: whether max pooling (3 x 3, stride 2) follows"""

    number: int
    shape: tuple[int, int, int, int]
    stride: int
    padding: int
    pooled: bool


_LAYERS = {
    "conv1": _Convolution(0, (64, 3, 11, 11), 4, 2, True),
    "conv2": _Convolution(3, (192, 64, 5, 5), 1, 2, True),
    "conv3": _Convolution(6, (384, 192, 3, 3), 1, 1, False),
    "conv4": _Convolution(8, (256, 384, 3, 3), 1, 1, False),
    "conv5": _Convolution(10, (256, 256, 3, 3), 1, 1, False),
}
_USABLE = ("conv2", "conv3", "conv4", "conv5")  # those with 3 x 3 cells

WEIGHTS_ADVICE = (
    "AlexNet needs a file with its weights, trained on ImageNet: torchvision's alexnet-owt-7be5be79.pth as it is "
    "(torchvision.models.alexnet(weights='IMAGENET1K_V1') downloads it to hub/checkpoints in torch's cache), "
    "or an .npz with arrays of the same names (features.0.weight, features.0.bias, ...)."
)


class AlexNet:
    """A descriptor: features of a patch after the ReLU of some convolutions (conv2: after its pooling, too).

    path      weights by torchvision's names (features.0.weight, ...): torchvision's .pth as it is, or an .npz
    layers    of "conv2" to "conv5"; the channels of several are put side by side
    context   such as 2.0: describe the box made so many times as high and wide, too, and put its channels behind those
              of the box. Tells a whole object from its parts; takes twice the time and the space. None: the box alone,
              as in the paper

    A patch is the box cut out, resized to 64 x 64 (bilinear) and normalised by ImageNet's mean and standard deviation.
    A vector is [9, channels]: the cells of a 3 x 3 grid row by row, each with its channels. Needs PyTorch.
    """

    name = "alexnet"
    cells = GRID * GRID

    def __init__(
        self, path: str | os.PathLike[str], layers: Sequence[str] = ("conv4",), context: float | None = None
    ) -> None:
        self.path = Path(path)
        self.layers = _checked_layers(layers)
        self.context = _checked_context(context)
        self._depth = max(list(_LAYERS).index(layer) for layer in self.layers) + 1
        weights = _read_weights(self.path, list(_LAYERS.values())[: self._depth])
        self.channels = sum(_LAYERS[layer].shape[0] for layer in self.layers) * (1 if self.context is None else 2)
        self.dim = self.cells * self.channels
        self.key = _key(weights, self.layers, self.context)
        torch = _torch()
        self._weights = {name: torch.from_numpy(array.copy()) for name, array in weights.items()}

    def describe(self, pixels: Pixels, boxes: IntArray) -> Described:
        """float32[m, 9 * channels]"""
        parts = [self._cells(cut_patches(pixels, boxes))]
        if self.context is not None:
            parts.append(self._cells(cut_patches(*_enlarged(pixels, boxes, self.context))))
        return np.concatenate(parts, axis=2).reshape(len(boxes), self.dim)

    def _cells(self, patches: Pixels) -> Described:
        """float32[m, 9, channels of the layers]"""
        torch = _torch()
        before = torch.get_num_threads()
        torch.set_num_threads(n_threads())
        try:
            with torch.inference_mode():
                batches = [patches[k : k + _BATCH] for k in range(0, max(1, len(patches)), _BATCH)]
                return np.concatenate([self._forward(batch) for batch in batches])
        finally:
            torch.set_num_threads(before)

    def _forward(self, patches: Pixels) -> Described:
        torch = _torch()
        relu, pool, convolve = torch.relu_, torch.nn.functional.max_pool2d, torch.nn.functional.conv2d
        # [m, 64, 64, 3] in memory is what torch calls channels last: quicker, and the cells come out row by row
        x = (torch.from_numpy(patches).to(torch.float32) / 255.0 - torch.tensor(_MEAN)) / torch.tensor(_STD)
        x = x.permute(0, 3, 1, 2)
        kept = []
        for name, layer in list(_LAYERS.items())[: self._depth]:
            weight, bias = (self._weights[f"features.{layer.number}.{part}"] for part in ("weight", "bias"))
            x = relu(convolve(x, weight, bias, stride=layer.stride, padding=layer.padding))
            x = pool(x, 3, 2) if layer.pooled else x
            if name in self.layers:
                kept.append(x.permute(0, 2, 3, 1))
        return np.asarray(torch.cat(kept, dim=3).flatten(1, 2).numpy())


def cut_patches(pixels: Pixels, boxes: IntArray, size: int = PATCH) -> Pixels:
    """uint8[m, size, size, 3]: what is under the boxes (top, left, bottom, right, inclusive), resized (bilinear)."""
    cv2 = opencv()
    patches = np.empty((len(boxes), size, size, 3), dtype=np.uint8)
    for patch, (top, left, bottom, right) in zip(patches, boxes.tolist(), strict=True):
        cv2.resize(pixels[top : bottom + 1, left : right + 1], (size, size), patch, interpolation=cv2.INTER_LINEAR)
    return patches


def _enlarged(pixels: Pixels, boxes: IntArray, factor: float) -> tuple[Pixels, IntArray]:
    """The picture with a frame of the mean colour, and the boxes in it, `factor` times as high and wide."""
    cv2 = opencv()
    grow = np.rint((boxes[:, 2:] - boxes[:, :2] + 1) * (factor - 1.0) / 2.0).astype(np.int64)
    y, x = (int(side) for side in grow.max(axis=0, initial=0))
    colour = [float(round(255.0 * mean)) for mean in _MEAN]
    framed = cv2.copyMakeBorder(pixels, y, y, x, x, cv2.BORDER_CONSTANT, value=colour)
    shifted = boxes + np.array([y, x, y, x])
    return framed, np.concatenate([shifted[:, :2] - grow, shifted[:, 2:] + grow], axis=1)


# --- weights


def _read_weights(file: Path, layers: Sequence[_Convolution]) -> dict[str, npt.NDArray[np.float32]]:
    if not file.is_file():
        raise FileNotFoundError(f"There is no file '{file}'. {WEIGHTS_ADVICE}")
    given = _read_npz(file) if file.suffix.lower() == ".npz" else _read_torch(file)
    weights = {}
    for layer in layers:
        for part, shape in (("weight", layer.shape), ("bias", layer.shape[:1])):
            name = f"features.{layer.number}.{part}"
            weights[name] = _checked_weight(file, name, given, shape)
    return weights


def _checked_weight(file: Path, name: str, given: Mapping[str, Any], shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    if name not in given:
        held = ", ".join([*list(given)[:4], *(["..."] if len(given) > 4 else [])]) or "nothing"
        raise ValueError(f"'{file}' has no {name}; it holds {held}. {WEIGHTS_ADVICE}")
    array = given[name]
    if array.shape != shape or array.dtype.kind != "f":
        raise ValueError(
            f"'{file}': {name} is {array.dtype}{list(array.shape)}; torchvision's AlexNet has float32{list(shape)}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"'{file}': {name} has numbers that are NaN or infinite.")
    return np.ascontiguousarray(array, dtype=np.float32)


def _read_npz(file: Path) -> dict[str, Any]:
    try:
        return read_npz(file)
    except (OSError, ValueError) as error:
        raise ValueError(f"'{file}' cannot be read as an .npz file ({error}). {WEIGHTS_ADVICE}") from None


def _read_torch(file: Path) -> dict[str, Any]:
    torch = _torch()
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises nearly anything here
        # Its name alone: torch's text recommends to load the file without the check that it runs no code.
        kind = type(error).__name__
        raise ValueError(f"'{file}' cannot be read as weights saved by torch ({kind}). {WEIGHTS_ADVICE}") from None
    if not isinstance(state, dict):
        raise ValueError(f"'{file}' holds a {type(state).__name__}, not weights by name. {WEIGHTS_ADVICE}")
    return {str(name): value.detach().numpy() for name, value in state.items() if isinstance(value, torch.Tensor)}


def _checked_layers(layers: Sequence[str]) -> tuple[str, ...]:
    chosen = (layers,) if isinstance(layers, str) else tuple(layers)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(_USABLE):
        raise ValueError(f"layers={chosen!r}; choose one or more of {', '.join(_USABLE)}, each once.")
    return chosen


def _checked_context(context: float | None) -> float | None:
    if context is not None and not 1.0 < context <= 4.0:  # also refuses NaN
        raise ValueError(f"context={context!r}; it must be None or a factor above 1 and up to 4, such as 2.")
    return None if context is None else float(context)


def _key(weights: Mapping[str, npt.NDArray[np.float32]], layers: tuple[str, ...], context: float | None) -> str:
    settings: dict[str, Any] = {"descriptor": "alexnet-1", "patch": PATCH, "layers": layers}
    if context is not None:
        settings["context"] = context
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for name in sorted(weights):
        digest.update(name.encode() + weights[name].tobytes())
    return digest.hexdigest()


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError('AlexNet runs on PyTorch: pip install "casimir[torch]".') from None
    return torch
