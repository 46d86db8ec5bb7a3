"""What a `pycrfsuite.Tagger` tells of one sequence at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casimir.compat.model import Model
from casimir.estimators.labels import Label
from casimir.models.linear import LinearChainModel
from casimir.structures.chain import Chain


@dataclass
class ModelInfo:
    """labels, attributes   {name: number, as a string}
    state_features       {(attribute, label): weight}
    transitions          {(from, to): weight}
    header               num_labels, num_attrs and num_features, as strings
    """

    labels: dict[Label, str]
    attributes: dict[str, str]
    state_features: dict[tuple[str, Label], float]
    transitions: dict[tuple[Label, Label], float]
    header: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        counts = len(self.labels), len(self.attributes), len(self.state_features) + len(self.transitions)
        self.header = dict(zip(("num_labels", "num_attrs", "num_features"), map(str, counts), strict=True))


class Tagger:
    """The methods of `pycrfsuite.Tagger` that do not touch a file: `set` a sequence, then ask what is known of it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._sequence: Sequence[Any] | None = None
        self._marginals: list[dict[Label, float]] | None = None

    def labels(self) -> list[Label]:
        return list(self.model.classes)

    def set(self, xseq: Sequence[Any]) -> None:
        """The sequence that the next calls speak of."""
        self._sequence, self._marginals = xseq, None

    def tag(self, xseq: Sequence[Any] | None = None) -> list[Label]:
        """The best labels."""
        if xseq is not None:
            self.set(xseq)
        return self.model.predict([self._current()])[0]

    def marginal(self, label: Label, position: int) -> float:
        """p(the token at `position` has the label)"""
        if self._marginals is None:
            self._marginals = self.model.marginals([self._current()])[0]
        self._place(label)
        if not 0 <= position < len(self._marginals):
            raise IndexError(f"position={position}; the sequence has {len(self._marginals)} tokens, counted from 0.")
        return self._marginals[position][label]

    def probability(self, yseq: Sequence[Label]) -> float:
        """p(yseq) = exp(score(yseq)) / Z"""
        predictor, current = self.model.predictor, self._current()
        if len(yseq) != len(current):
            raise ValueError(f"yseq has {len(yseq)} labels; the sequence has {len(current)} tokens.")
        if not len(current):
            return 1.0
        output = np.array([self._place(label) for label in yseq])
        chain = Chain(len(predictor.classes))
        scores = LinearChainModel(self.model.pack([current]), len(predictor.classes)).scores(predictor.w)
        return float(np.exp(chain.score_of(scores, [output])[0] - chain.log_sum(scores, 1.0)[0]))

    def info(self) -> ModelInfo:
        model = self.model
        labels = {label: str(j) for j, label in enumerate(model.classes)}
        attributes = {name: str(j) for j, name in enumerate(model.attributes)}
        return ModelInfo(labels, attributes, model.state_features(), model.transition_features())

    def __getattr__(self, name: str) -> Any:
        if name in ("open", "open_inmemory", "close", "dump"):
            raise AttributeError(
                f"Tagger.{name} works on a file in CRFsuite's own format, which casimir does not have. Pickle the CRF "
                "to keep it; from_crfsuite() reads the text that `crfsuite dump` writes."
            )
        raise AttributeError(f"Tagger has no {name!r}")

    def _place(self, label: Label) -> int:
        """The number of a label."""
        if label not in self.model.classes:
            raise ValueError(f"{label!r} is no label of the model; it has {list(self.model.classes)}.")
        return self.model.classes.index(label)

    def _current(self) -> Sequence[Any]:
        if self._sequence is None:
            raise ValueError("No sequence is set; call set(xseq) or tag(xseq) first.")
        return self._sequence
