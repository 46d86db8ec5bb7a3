"""Multiclass classification of arrays: a structural SVM or multinomial logistic regression, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from casimir._outputs import Outputs
from casimir.costs import Hamming
from casimir.estimators.distinct import distinct_examples
from casimir.estimators.nested import NestedParameters
from casimir.estimators.training import CertifiedFit, for_log_loss
from casimir.models.linear_classes import LinearClassModel
from casimir.objective import Objective
from casimir.scores import FloatArray, IntArray
from casimir.solvers import DualProximal
from casimir.solvers.base import Solver
from casimir.structures.candidates import Candidates

_FLOATS = (np.float64, np.float32)
_LONG = 15.0  # mean squared length from which on rows are not short


class StructuredClassifier(ClassifierMixin, CertifiedFit, NestedParameters, BaseEstimator):  # type: ignore[misc]
    """min_W mean_i f_i(W) + lam |W|^2 / 2, one column of W per class, f_i one of

        loss="hinge"   max_j { [j != y_i] + <x_i, W_j> } - <x_i, W_{y_i}>    (Crammer and Singer's SVM)
        loss="log"     log sum_j exp <x_i, W_j> - <x_i, W_{y_i}>             (multinomial logistic regression)

    lam                None: 1/n, which is C = 1 in scikit-learn's LinearSVC and LogisticRegression; C = 1 / (lam n)
    solver             "auto", the name of a solver, or a solver such as BCFW()
    tol                stop once (objective - lower bound) / objective is at most this
    random_state       int, None, numpy Generator or RandomState: the order in which examples are visited
    l1_ratio           of the penalty lam (l1_ratio |W|_1 + (1 - l1_ratio) |W|^2 / 2)
    fit_intercept      whether scores have an intercept: the weight of one more feature, which all examples have. It is
                       penalised like the other weights, as in LinearSVC, so that the certificate holds
    intercept_scaling  the value of that feature: the larger, the less the penalty is felt
    class_weight       {class: weight}, or "balanced", n / (n_classes * count of the class): multiplies sample_weight
    max_epochs         stop after this many epochs, with a ConvergenceWarning
    n_jobs             threads of full passes; None or -1 is CASIMIR_NUM_THREADS or all CPUs
    verbose            show progress on stderr

    X is an array or a SciPy sparse matrix, which stays sparse. Equal examples are trained on as one of larger weight,
    and the order of the examples makes no difference.

    After `fit`: classes_ [L]; coef_ float64[L, d] and intercept_ float64[L], for two classes [1, d] and [1], the second
    class above the first; objective_, dual_ (no weights have a lower objective), gap_ (their relative difference);
    trace_, status_, lam_, solver_, n_iter_ (epochs); n_features_in_ and feature_names_in_.

    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.1]], ["a", "b", "b"]
    >>> StructuredClassifier().fit(X, y).predict([[3.0, 0.0]]).tolist()
    ['b']
    """

    def __init__(
        self,
        lam: float | None = None,
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        random_state: Any = 0,
        *,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Mapping[Any, float] | str | None = None,
        max_epochs: int = 1000,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_epochs = max_epochs
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuredClassifier:
        """Train on X [n, d] with classes y [n]; sample_weight [n]: how much each example counts, 0 or more."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_FLOATS, accept_large_sparse=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}; StructuredClassifier needs at least two classes."
            )
        weights = self._weights(X, y, sample_weight)
        rows, weights = distinct_examples(X, numbers, weights)
        objective = self._objective(X[rows], numbers[rows], weights)
        result = self._minimize(objective)
        self._keep(*objective.model.unpack(result.w))  # type: ignore[union-attr]
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """float64[n, L]: the score of every class; for two classes [n], the second's less the first's."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        scores: FloatArray = np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class of the best score of every row of X."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    @for_log_loss
    def predict_proba(self, X: Any) -> FloatArray:
        """float64[n, L]: the probabilities of classes_; loss="log" only."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.stack([expit(-scores), expit(scores)], axis=1)

    @for_log_loss
    def predict_log_proba(self, X: Any) -> FloatArray:
        """float64[n, L]: the logarithms of predict_proba."""
        return np.asarray(np.log(self.predict_proba(X)))

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> FloatArray:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
        if self.class_weight is not None:
            weights *= compute_sample_weight(self.class_weight, y)
        return np.asarray(weights, dtype=np.float64)

    def _objective(self, X: Any, numbers: IntArray, weights: FloatArray) -> Objective:
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        model = LinearClassModel(X, len(self.classes_), bias)
        y = Outputs(numbers.astype(np.int64), np.arange(len(numbers) + 1, dtype=np.int64))
        return self._risk(model, Candidates(), Hamming(), y, weights)

    def _auto(self, objective: Objective) -> str | Solver:
        """For a hinge loss on short sparse rows kappa = 5 sqrt(R^2 / 15) (lam n)^0.7 / n, R^2 < 15 the mean of |x_i|^2.

        Chosen on texts, with and without noise in their labels, for lam n from 0.1 to 10. The default of DualProximal
        takes as long on some of them, 1.3 times as long on others.
        """
        model = cast(LinearClassModel, objective.model)
        square = float(np.mean(model.longest_rows(objective.y))) / 2.0
        is_short = sp.issparse(model.X) and 0.0 < square < _LONG
        if self.loss != "hinge" or objective.penalty.quadratic is None or not is_short:
            return "auto"
        n = objective.n_active
        return DualProximal(kappa=5.0 * float(np.sqrt(square / _LONG)) * (self.lam_ * n) ** 0.7 / n)

    def _keep(self, table: FloatArray, intercepts: FloatArray) -> None:
        """coef_ and intercept_ of W float64[d, L] and of the weights of the constant feature."""
        coef = np.ascontiguousarray(table.T)
        intercept = intercepts.sum(axis=0) * (float(self.intercept_scaling) if self.fit_intercept else 0.0)
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
