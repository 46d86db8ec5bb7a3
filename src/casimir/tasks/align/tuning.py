"""What a missed link should cost, by cross-validation on the labelled pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from casimir.scores import FloatArray
from casimir.solvers import minimize
from casimir.solvers.choose import choose
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.examples import Examples
from casimir.tasks.align.metrics import link_scores

_FOLDS = 3
_STEP, _LARGEST = 3.0, 27.0
_TOL, _EPOCHS = 0.03, 100


@dataclass(frozen=True, eq=False)
class _Fold:
    """Pairs to train on and the others, each with its links; lam is for the pairs to train on."""

    examples: Examples
    links: Sequence[Links]
    others: Examples
    lam: float

    @classmethod
    def of(cls, examples: Examples, links: Sequence[Links], k: int, lam: float) -> _Fold:
        """Every third pair from the k-th on is not trained on."""
        n = len(links)
        chosen = [i for i in range(n) if i % _FOLDS != k]
        others = examples.select(range(k, n, _FOLDS))
        return cls(examples.select(chosen), [links[i] for i in chosen], others, lam * n / len(chosen))

    def weights(self, wrong: float, missed: float, seed: int) -> FloatArray:
        objective = self.examples.objective(self.links, wrong, missed, self.lam)
        result = minimize(objective, choose("auto", objective), _EPOCHS, _TOL, seed)
        if result.status == "interrupted":
            raise KeyboardInterrupt
        return result.w


def tuned_missed(
    examples: Examples,
    links: Sequence[Links],
    wrong: float,
    lam: float,
    seed: int,
    say: Callable[[str], None] = lambda text: None,
) -> float:
    """missed = 1, 3, 9 or 27 times `wrong`: the next one for as long as the error rate in cross-validation falls.

    A hinge loss finds the links that are more likely than not. Where many links are less certain than that it finds too
    few of them, and more if it costs more to miss one. A single pair has nothing to be validated on: it gets the first.

    say   is told the error rate of every cost
    """
    if len(links) < 2:
        return wrong
    folds = [_Fold.of(examples, links, k, lam) for k in range(min(_FOLDS, len(links)))]

    def error_of(missed: float) -> float:
        error = _error(folds, links, wrong, missed, seed)
        say(f"A missed link costs {missed:g}: error rate {error:.4f} in cross-validation")
        return error

    missed, error = wrong, error_of(wrong)
    while missed < _LARGEST * wrong:
        next_error = error_of(_STEP * missed)
        if next_error >= error:
            break
        missed, error = _STEP * missed, next_error
    return missed


def _error(folds: Sequence[_Fold], links: Sequence[Links], wrong: float, missed: float, seed: int) -> float:
    """The error rate on all pairs, each aligned by weights that were trained on other pairs."""
    found = [pair.sure[:0] for pair in links]
    for k, fold in enumerate(folds):
        found[k::_FOLDS] = fold.others.align(fold.weights(wrong, missed, seed))
    return link_scores(links, found).aer
