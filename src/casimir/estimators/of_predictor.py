"""Callbacks of `fit`, which see a tagger, as those of `minimize`, which see weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from casimir.estimators.predictor import ChainPredictor
from casimir.scores import FloatArray
from casimir.solvers import TraceRow


@dataclass(frozen=True)
class OfPredictor:
    """A callback of `minimize` that calls one of `fit`."""

    callback: Any
    predictor: Callable[[FloatArray], ChainPredictor]

    @classmethod
    def of(cls, callback: Any, predictor: Callable[[FloatArray], ChainPredictor]) -> OfPredictor:
        """One that hands on the state of the callback, where that has one."""
        return (_WithState if hasattr(callback, "state") else cls)(callback, predictor)

    def __call__(self, row: TraceRow, w: FloatArray) -> object:
        return self.callback(row, self.predictor(w))


class _WithState(OfPredictor):
    def state(self) -> Any:
        return self.callback.state()

    def restore(self, state: Any) -> None:
        self.callback.restore(state)
