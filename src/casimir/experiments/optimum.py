"""The zero line of the plots: F* by a certified dual solver, one run per case like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from casimir.experiments.base import Case, Method, Size
from casimir.experiments.records import Record
from casimir.experiments.trials import Trial

GAP = 1e-4


def _auto(size: Size) -> str:
    return "auto"


def optimum_trial(case: Case) -> Trial:
    """Until the certified relative gap is GAP."""
    return Trial(case, Method("auto", _auto), {}, 0, None, evaluate_every=5, tol=GAP)


@dataclass(frozen=True)
class Interval:
    """low <= min F <= high, certified."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def error(self) -> float:
        """How far min F can be from the middle."""
        return 0.5 * (self.high - self.low)

    def __str__(self) -> str:
        return f"[{self.low:.8g}, {self.high:.8g}]"


def interval(records: Iterable[Record]) -> Interval:
    """From the best bound and the best objective of all runs on a case."""
    found = [record for record in records if len(record)]
    low = max(float(np.nanmax(record.column("dual"), initial=0.0)) for record in found)
    return Interval(low, min(float(np.nanmin(record.column("objective"))) for record in found))
