"""The zero line of the plots: F* by a certified dual solver, one run per case like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casimir.experiments.base import Case, Method, Size
from casimir.experiments.records import Record, read_record, record_path
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


def bound_of(trial: Trial, folder: Path) -> float | None:
    """The lower bound of F* that the trial's target is measured from; its case has been certified before."""
    if trial.target is None:
        return None
    return interval([read_record(record_path(folder, optimum_trial(trial.case).key))]).low
