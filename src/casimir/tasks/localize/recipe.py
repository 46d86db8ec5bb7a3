"""How the features of a picture are made: kept with a model, so that predicting makes the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casimir.tasks.localize.descriptors import Descriptor
from casimir.tasks.localize.features import FeatureMap

HAND_MADE, ALEXNET = "hand-made", "alexnet"


@dataclass(frozen=True)
class Recipe:
    """descriptor  "hand-made" or "alexnet"
    key         hash of everything that determines its answers, weights included
    top         candidates per image at most
    features    how descriptors and boxes become features
    layers      of the network whose outputs are the features; none when there is no network
    context     how much larger the box is that is described, too; None when only the box is
    weights     the file with the network's weights; None when there is none
    """

    descriptor: str
    key: str
    features: FeatureMap
    top: int = 1000
    layers: tuple[str, ...] = ()
    context: float | None = None
    weights: str | None = None

    @classmethod
    def of(cls, descriptor: Descriptor, features: FeatureMap, top: int) -> Recipe:
        path, layers = getattr(descriptor, "path", None), getattr(descriptor, "layers", ())
        weights = None if path is None else str(Path(path).resolve())
        context = getattr(descriptor, "context", None)
        return cls(descriptor.name, descriptor.key, features, top, tuple(layers), context, weights)

    def make_descriptor(self, weights: str | Path | None = None) -> Descriptor:
        """The descriptor again. `weights` says where its file is now; None is where it was in training."""
        if self.descriptor == HAND_MADE:
            if weights is not None:
                raise ValueError("This model was trained with the hand-made descriptor, which has no weights file.")
            return self._checked(_hand_made(), "this casimir", "Train the model again, or use the casimir it is from.")
        file = Path(weights if weights is not None else self.weights or "")
        if not file.is_file():
            raise FileNotFoundError(
                f"There is no file '{file}' with the weights of the descriptor that this model was trained with. Say "
                "where it is: --weights FILE."
            )
        return self._checked(
            self._alexnet(file), f"'{file}'", f"Give the file it was trained with: --weights {self.weights}."
        )

    def _alexnet(self, file: Path) -> Descriptor:
        from casimir.tasks.localize.alexnet import AlexNet

        return AlexNet(file, self.layers, self.context)

    def _checked(self, descriptor: Descriptor, source: str, advice: str) -> Descriptor:
        if descriptor.key != self.key:
            raise ValueError(
                f"The descriptor of {source} is not the one that this model was trained with ({descriptor.key[:12]} "
                f"instead of {self.key[:12]}): its features would mean nothing to the model. {advice}"
            )
        return descriptor

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, meta: Mapping[str, Any]) -> Recipe:
        """The recipe that `to_dict` described, checked."""
        descriptor, key, top = str(meta["descriptor"]), str(meta["key"]), int(meta["top"])
        weights, layers, form = meta["weights"], tuple(str(layer) for layer in meta["layers"]), meta["features"]
        cells, channels = int(form["cells"]), int(form["channels"])
        features = FeatureMap(cells, channels, str(form["kind"]))
        if descriptor not in (HAND_MADE, ALEXNET):
            raise ValueError(f"its descriptor {descriptor!r} is not known to this casimir.")
        if min(cells, channels, top) < 1 or not isinstance(weights, str | None):
            raise ValueError("the model file is damaged: how its features are made does not read as it should.")
        context = meta.get("context")  # models of the first version have none
        return cls(descriptor, key, features, top, layers, None if context is None else float(context), weights)


def _hand_made() -> Descriptor:
    from casimir.tasks.localize.handmade import HandMade

    return HandMade()
