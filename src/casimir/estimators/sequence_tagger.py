"""A sequence tagger in the style of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from casimir._outputs import Outputs
from casimir._validate import positive_int
from casimir.costs import Hamming
from casimir.estimators.compact import UsedFeatures
from casimir.estimators.labels import Label, LabelSequences, as_object_array
from casimir.estimators.predictor import ChainPredictor
from casimir.features import DEFAULT_N_FEATURES, PackedSequences, pack
from casimir.losses import Loss, loss_named
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.persistence import save_folder
from casimir.scores import FloatArray
from casimir.solvers import Result, TraceRow, minimize
from casimir.solvers.base import Solver
from casimir.solvers.choose import choose
from casimir.solvers.run import Callback
from casimir.structures.chain import Chain

TaggerCallback = Callable[[TraceRow, ChainPredictor], object]


class SequenceTagger(BaseEstimator):  # type: ignore[misc]
    """min_w (1/n) sum_i loss_i(w) + (lam/2) |w|^2 over linear chains, solved to a certified relative gap of `tol`.

    lam           None is 1/n, with n the number of training sentences, or the sum of their weights; a number is used as
                  it is. Think of it in units of 1/n: 0.1/n fits the data more closely, 10/n less
    loss          "hinge" (structural SVM with Hamming cost) or "crf" (negative log-likelihood)
    solver        "auto", "bcfw", "casimir", "cuts", "dual", "eg", "excessive-gap", "lbfgs", "saga", "sdca", "sgd",
                  "svrg", or a solver such as BCFW()
    tol           stop once (objective - lower bound) / objective is at most this
    random_state  int, None, numpy Generator or RandomState: the order in which examples are visited
    max_epochs    stop after this many epochs, with a ConvergenceWarning
    n_features    hash buckets for features, or None to number each feature exactly; sequences that are packed already
                  keep their own
    label_costs   {(true, predicted): cost} for the hinge loss; pairs that are not in it cost 1
    n_jobs        threads; None or -1 is CASIMIR_NUM_THREADS or all CPUs
    verbose       show progress on stderr

    After `fit`: classes_ object[L]; objective_, dual_ (no weights have a lower objective), gap_ (their relative
    difference); trace_, a row per evaluated epoch; status_, lam_, solver_; coef_ float64[n_features, L], transitions_
    float64[L, L] (from, to), start_ and stop_ float64[L].

    >>> X, y = [["the", "cat"], ["the", "dog"]], [["D", "N"], ["D", "N"]]
    >>> tokens = [[{"word": word} for word in sentence] for sentence in X]
    >>> SequenceTagger(n_features=None).fit(tokens, y).predict(tokens[:1])
    [['D', 'N']]
    """

    def __init__(
        self,
        lam: float | None = None,
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-2,
        random_state: Any = 0,
        *,
        max_epochs: int = 500,
        n_features: int | None = DEFAULT_N_FEATURES,
        label_costs: Mapping[tuple[Label, Label], float] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.max_epochs = max_epochs
        self.n_features = n_features
        self.label_costs = label_costs
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, *, sample_weight: Any = None, callbacks: Iterable[TaggerCallback] = ()
    ) -> SequenceTagger:
        """Train on sentences X (a dict or an iterable of strings per token, or the result of `pack`) with labels y.

        sample_weight says how much each sentence counts, 0 or more; a whole number is as good as repeating it.

        callbacks are called as callback(row, predictor) after every evaluated epoch: a TraceRow, and the tagger of that
        moment with predict and score, which may be kept; one that returns True ends the training. Ctrl-C ends it too:
        the best weights so far are kept, with a warning.
        """
        packed = X if isinstance(X, PackedSequences) else pack(X, self.n_features)
        if not len(packed):
            raise ValueError("X has no sequences; fit needs at least one.")
        labels = LabelSequences.of(y, packed.offsets)
        classes = labels.classes()
        features, compact = UsedFeatures.of(packed)
        objective = self._objective(compact, labels.places(classes), classes, sample_weight)
        solver = choose(self.solver, objective)

        def predictor(w: FloatArray) -> ChainPredictor:
            full = features.expand(w, len(classes))
            return ChainPredictor(full, classes, packed.n_features, packed.vocabulary, self._threads())

        epochs, seed = positive_int(self.max_epochs, "max_epochs"), _seed(self.random_state)
        wrapped = [_with_predictor(callback, predictor) for callback in callbacks]
        train = partial(minimize, objective, solver, epochs, self.tol, seed)
        result = _with_progress(train, wrapped) if self.verbose else train(wrapped)
        self.lam_, self.solver_ = objective.penalty.strong_convexity, solver
        self._set_result(result, predictor(result.w))
        if self.status_ != "converged":
            self._warn_of_the_end()
        return self

    def predict(self, X: Any) -> list[list[Label]]:
        """The best labels of every sentence. Features never seen in training count for nothing."""
        return self._fitted().predict(X)

    def predict_topk(self, X: Any, k: int) -> list[list[tuple[list[Label], float]]]:
        """For every sentence its k best (labels, score), best first; fewer where fewer exist."""
        return self._fitted().predict_topk(X, k)

    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """A float64[p_i, L] per sentence: p(y_v = classes_[j]) under p(y) ~ exp(score(y)).

        For loss="crf" these are the model's probabilities. A hinge loss trains no probabilities: there this is the same
        formula on its scores, good for ranking but not calibrated.
        """
        return self._fitted().predict_marginals(X)

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose label is right."""
        return self._fitted().score(X, y)

    @property
    def coef_(self) -> FloatArray:
        """float64[n_features, L]: the score of every feature with every label."""
        return self._fitted().unary

    @property
    def transitions_(self) -> FloatArray:
        """float64[L, L] (from, to): the score of every pair of neighbouring labels."""
        return self._fitted().transitions

    @property
    def start_(self) -> FloatArray:
        """float64[L]: the score of the first label."""
        return self._fitted().ends[0]

    @property
    def stop_(self) -> FloatArray:
        """float64[L]: the score of the last label."""
        return self._fitted().ends[1]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads; a model that is there already is replaced at the very end."""
        from casimir.estimators.state import KIND, encode_tagger

        self._fitted()
        save_folder(path, KIND, *encode_tagger(self))

    def _objective(self, X: PackedSequences, y: Outputs, classes: tuple[Label, ...], sample_weight: Any) -> Objective:
        model, chain = LinearChainModel(X, len(classes)), Chain(len(classes))
        n = len(X) if sample_weight is None else float(np.sum(sample_weight))
        lam = (1.0 / n if n > 0.0 else 1.0) if self.lam is None else _number(self.lam, "lam")
        return Objective(model, chain, self._loss(classes), y, lam, sample_weight, n_threads=self._threads())

    def _threads(self) -> int | None:
        """scikit-learn writes -1 for all CPUs."""
        return None if self.n_jobs is None or self.n_jobs == -1 else positive_int(self.n_jobs, "n_jobs")

    def _loss(self, classes: tuple[Label, ...]) -> Loss:
        if self.label_costs is None:
            return loss_named(self.loss, Hamming())
        if self.loss == "crf":
            raise ValueError("label_costs belong to loss='hinge'; loss='crf' has no cost. Leave one of them out.")
        return loss_named(self.loss, self._weighted_cost(classes))

    def _weighted_cost(self, classes: tuple[Label, ...]) -> Hamming:
        number = {label: j for j, label in enumerate(classes)}
        weights = 1.0 - np.eye(len(classes))
        for (true, predicted), cost in _checked_costs(self.label_costs):
            if true not in number or predicted not in number:
                missing = true if true not in number else predicted
                raise ValueError(f"label_costs has the label {missing!r}; y has only {list(classes)}.")
            weights[number[true], number[predicted]] = cost
        return Hamming(weights)

    def _set_result(self, result: Result, predictor: ChainPredictor) -> None:
        self.predictor_, self.classes_ = predictor, as_object_array(predictor.classes)
        self.objective_, self.dual_, self.gap_ = result.objective, result.dual, result.gap
        self.status_, self.trace_ = result.status, result.trace

    def _warn_of_the_end(self) -> None:
        """Where the training ended before it was done; a callback that ended it knows."""
        where = f"after {self.trace_[-1].epoch} epochs at a certified relative gap of {self.gap_:.1e}"
        if self.status_ == "interrupted":
            warnings.warn(
                f"Training was interrupted {where}; the best weights so far are kept.", ConvergenceWarning, stacklevel=3
            )
        elif self.status_ == "epochs":
            warnings.warn(
                f"Training ended {where}; tol={self.tol:.1e} was asked for. Raise max_epochs, lam or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fitted(self) -> ChainPredictor:
        check_is_fitted(self, "predictor_")
        predictor: ChainPredictor = self.predictor_
        return predictor


def _with_predictor(
    callback: TaggerCallback, predictor: Callable[[FloatArray], ChainPredictor]
) -> Callable[[TraceRow, FloatArray], object]:
    return lambda row, w: callback(row, predictor(w))


def _with_progress(train: Callable[[list[Callback]], Result], callbacks: list[Callback]) -> Result:
    """The training, with a line on stderr that tells how far it has come."""
    from casimir.progress import Progress

    with Progress() as progress:
        return train([*callbacks, progress])


def _checked_costs(label_costs: Any) -> Iterable[tuple[tuple[Label, Label], float]]:
    if not isinstance(label_costs, Mapping):
        raise TypeError(
            f"label_costs is a {type(label_costs).__name__}; it must be a dict {{(true, predicted): cost}}."
        )
    for pair in label_costs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"label_costs has the key {pair!r}; its keys are pairs (true label, predicted label).")
    return label_costs.items()


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r}; it must be a number, or None for 1/n.") from None


def _seed(random_state: Any) -> int | np.random.Generator:
    """A seed for `minimize` from anything that scikit-learn takes as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state={random_state!r}; it must be a whole number, 0 or larger, None, or a numpy generator."
    )
