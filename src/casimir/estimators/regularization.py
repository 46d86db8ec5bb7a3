"""How strong the penalty should be: models along a path of lam, scored on data that they were not trained on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casimir.estimators.dev_set import scorer_of
from casimir.features import PackedSequences, pack
from casimir.solvers.checkpoint import Checkpoint, part_of

LAM_N = (30.0, 10.0, 3.0, 1.0, 0.3)  # lam in units of 1/n
_FARTHEST = (1e-3, 1e3)
_STEP = math.sqrt(10.0)


@dataclass(frozen=True)
class PathPoint:
    """lam        the strength of the penalty; lam_n is n times that, with n the sentences that were trained on
    score      on the dev set, or the mean over folds
    gap        the certified relative gap, the largest one of the folds
    objective  F at the end of training, the mean over folds
    n_nonzero  weights that are not 0, the mean over folds
    """

    lam: float
    lam_n: float
    score: float
    gap: float
    objective: float
    n_nonzero: float


@dataclass(frozen=True)
class RegularizationPath:
    """Points from the largest lam to the smallest; `best` has the best score, the larger lam where two have it.

    estimators  the models, one per point, where they were scored on a dev set; empty where there were folds
    """

    points: tuple[PathPoint, ...]
    estimators: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def best(self) -> PathPoint:
        return max(self.points, key=lambda point: (point.score, point.lam))

    @property
    def best_estimator(self) -> Any:
        """The model of `best`; None where there were folds."""
        return self.estimators[self.points.index(self.best)] if self.estimators else None

    def __iter__(self) -> Iterator[PathPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, name: str) -> Any:
        """float64[points]: a column, such as path["score"]."""
        return np.array([getattr(point, name) for point in self.points], dtype=np.float64)


def path(
    tagger: Any,
    X: Any,
    y: Any,
    *,
    lams: Iterable[float] | None = None,
    X_dev: Any = None,
    y_dev: Any = None,
    scoring: Any = None,
    cv: int = 3,
    sample_weight: Any = None,
) -> RegularizationPath:
    """Train `tagger` for one lam after another, each to its certified gap, and score each model.

    lams      strengths of the penalty; None: 30/n, 10/n, 3/n, 1/n and 0.3/n, and further while the best is at an end
    X_dev     sentences to score on, with labels y_dev; None: `cv` folds of X
    scoring   "entity_f1", "flat_accuracy", another name of `casimir.metrics.scorers` or of scikit-learn, or a function
              of (estimator, X, y); None: the F1 of entities where labels are IOB*, the share of right tokens else

    A model begins at the weights of the one before it, where its solver can.
    """
    if (X_dev is None) != (y_dev is None):
        raise ValueError("X_dev and y_dev come together; one of them is missing.")
    X = X if isinstance(X, PackedSequences) else pack(X, tagger.n_features)
    parts = _folds(X, y, cv, sample_weight) if X_dev is None else [_Part(X, y, X_dev, y_dev, sample_weight)]
    runs = [_Run(tagger, part, scoring, f"fold-{k}" if len(parts) > 1 else "dev") for k, part in enumerate(parts)]
    grid = None if lams is None else sorted((float(lam) for lam in lams), reverse=True)
    found: dict[float, _Row] = {}
    for lam_n in LAM_N if grid is None else [lam * len(X) for lam in grid]:
        found[lam_n] = _row(runs, lam_n, len(X))
    if grid is None:
        _extend(found, runs, len(X))
    elif not found:
        raise ValueError("lams is empty; it needs one strength at the least.")
    rows = [found[lam_n] for lam_n in sorted(found, reverse=True)]
    return RegularizationPath(
        tuple(row.point for row in rows), tuple(row.estimator for row in rows) if X_dev is not None else ()
    )


@dataclass(frozen=True)
class _Part:
    """What to train on, and what to score on."""

    X: Any
    y: Any
    X_dev: Any
    y_dev: Any
    sample_weight: Any


@dataclass(frozen=True)
class _Row:
    point: PathPoint
    estimator: Any


class _Run:
    """The models of one part, one lam after another."""

    def __init__(self, tagger: Any, part: _Part, scoring: Any, name: str) -> None:
        self._tagger, self._part, self._scoring, self._last = tagger, part, scoring, None
        self._checkpoint = part_of(Checkpoint.of(tagger.checkpoint), name)

    def fit(self, lam_n: float) -> tuple[Any, float]:
        """The model, and its score."""
        part = self._part
        model = self._tagger.unfitted(
            lam=lam_n / len(part.X),
            warm_start=_can_start(self._tagger),
            patience=None,
            checkpoint=part_of(self._checkpoint, f"lam-{lam_n:g}"),
        )
        model.keep_names = False  # the sequences are packed
        if self._last is not None and model.warm_start:
            model.predictor_ = self._last
        model.fit(part.X, part.y, sample_weight=part.sample_weight)
        self._last = model.predictor_
        scorer = scorer_of(self._scoring, model.classes_.tolist())
        return model, float(scorer(model, part.X_dev, part.y_dev))


def _can_start(tagger: Any) -> bool:
    """Solvers that start at w = 0 alone refuse other weights; "auto" has them as its first centre."""
    return tagger.solver in ("auto", "dual") or not (
        tagger.solver in ("bcfw", "sdca", "eg") or getattr(tagger.solver, "starts_at_zero", False)
    )


def _row(runs: Sequence[_Run], lam_n: float, n: int) -> _Row:
    fitted = [run.fit(lam_n) for run in runs]
    models = [model for model, _ in fitted]
    point = PathPoint(
        lam=lam_n / n,
        lam_n=lam_n,
        score=float(np.mean([score for _, score in fitted])),
        gap=max(model.gap_ for model in models),
        objective=float(np.mean([model.objective_ for model in models])),
        n_nonzero=float(np.mean([np.count_nonzero(model.predictor_.w) for model in models])),
    )
    return _Row(point, models[0])


def _extend(found: dict[float, _Row], runs: Sequence[_Run], n: int) -> None:
    """More of lam while the best is the largest or the smallest."""
    while True:
        best = max(found, key=lambda lam_n: (found[lam_n].point.score, lam_n))
        beyond = best * _STEP if best == max(found) else best / _STEP if best == min(found) else None
        if beyond is None or not _FARTHEST[0] <= beyond <= _FARTHEST[1]:
            return
        found[beyond] = _row(runs, beyond, n)


def _folds(X: PackedSequences, y: Any, cv: int, sample_weight: Any) -> list[_Part]:
    """Every cv-th sentence is left out in turn: neighbours, which are often alike, are spread over all folds evenly."""
    if not 2 <= cv <= len(X):
        raise ValueError(f"cv={cv}; it must be at least 2 and at most the number of sentences, {len(X)}.")
    y, parts = list(y), []
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    for fold in range(cv):
        inside = np.flatnonzero(np.arange(len(X)) % cv != fold)
        outside = np.arange(fold, len(X), cv)
        own = None if weights is None else weights[inside]
        parts.append(_Part(X.select(inside), [y[i] for i in inside], X.select(outside), [y[i] for i in outside], own))
    return parts
