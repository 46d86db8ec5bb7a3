"""Multilabel classification of arrays: pairs of labels that interact, trained with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from casimir._outputs import Outputs
from casimir.costs import Hamming
from casimir.errors import Intractable
from casimir.estimators.distinct import distinct_examples
from casimir.estimators.label_graph import LabelGraph, label_graph
from casimir.estimators.nested import NestedParameters
from casimir.estimators.training import CertifiedFit, for_log_loss
from casimir.models.linear_labels import LinearLabelModel
from casimir.objective import Objective
from casimir.scores import FloatArray, IntArray, Scores
from casimir.solvers.base import Solver

_FLOATS = (np.float64, np.float32)
_CHUNK = 4096  # examples that are predicted at a time


class MultilabelClassifier(ClassifierMixin, CertifiedFit, NestedParameters, BaseEstimator):  # type: ignore[misc]
    """score(y) = sum_l y_l (<x, U_l> + b_l) + sum_(u, v) J_uv [y_u = y_v], y in {0, 1}^q, the pairs (u, v) a graph.

    Trained by min_w mean_i f_i(w) + lam |w|^2 / 2 over w = (U, b, J), f_i one of

        loss="hinge"   max_y { |y - y_i|_1 + score_i(y) } - score_i(y_i)     (a structural SVM with Hamming cost)
        loss="log"     log sum_y exp score_i(y) - score_i(y_i)               (a conditional random field)

    structure          "tree": the tree of labels with the largest mutual information (Chow and Liu);
                       "full": all pairs, for some ten labels; "attractive": all pairs, J >= 0, hinge loss only, by
                       minimum cuts; "none": independent labels; or an array [m, 2] of pairs of labels
    lam, solver, tol, random_state, l1_ratio, fit_intercept, intercept_scaling, max_epochs, n_jobs, verbose
                       as for `StructuredClassifier`

    Y is an indicator matrix [n, q] of 0 and 1, dense or sparse. A vector y of two classes is the case of one label:
    then predictions are vectors of these classes.

    With a hinge loss `predict` gives the best set of labels; with a log loss every label of probability above 1/2,
    which has the least expected Hamming cost.

    After `fit`: classes_ the labels' numbers (the two classes for a vector y); edges_ int64[m, 2]; interactions_
    float64[m], J; coef_ float64[q, d], intercept_ float64[q]; objective_, dual_, gap_, lam_, trace_, status_,
    solver_, n_iter_, n_features_in_, feature_names_in_.
    """

    def __init__(
        self,
        lam: float | None = None,
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-2,
        random_state: Any = 0,
        *,
        structure: Any = "tree",
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        max_epochs: int = 1000,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.structure = structure
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.max_epochs = max_epochs
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultilabelClassifier:
        """Train on X [n, d] with indicators y [n, q]; sample_weight [n]: how much each example counts, 0 or more."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_FLOATS, multi_output=True)
        Y = self._indicators(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows, weights = distinct_examples(X, Y, weights)
        self._graph = label_graph(self.structure, Y[rows], weights)
        if self._graph.is_attractive and self.loss == "log":
            raise Intractable("structure='attractive' has no probabilities; use loss='hinge', or structure='tree'.")
        objective = self._objective(X[rows], Y[rows], weights)
        result = self._minimize(objective)
        table, intercepts, interactions = objective.model.unpack(result.w)  # type: ignore[union-attr]
        self.coef_, self.interactions_ = np.ascontiguousarray(table.T), interactions.copy()
        self.intercept_ = intercepts.sum(axis=0) * self._bias
        self.edges_ = self._graph.edges
        return self

    def predict(self, X: Any) -> IntArray:
        """int64[n, q], 0 or 1; for a vector y its classes."""
        chosen = self._margins(X) > 0.0
        if not self._is_vector:
            return chosen.astype(np.int64)
        found: IntArray = self.classes_[chosen[:, 0].astype(np.intp)]
        return found

    def decision_function(self, X: Any) -> FloatArray:
        """float64[n, q], above 0 where a label is predicted; [n] for a vector y.

        Hinge loss: the best score with the label less the best without it. Log loss: log p / (1 - p), p the probability
        of the label.
        """
        margins = self._margins(X)
        return margins[:, 0] if self._is_vector else margins

    @for_log_loss
    def predict_proba(self, X: Any) -> FloatArray:
        """float64[n, q]: the probability of every label; [n, 2] for a vector y; loss="log" only."""
        p = self._probabilities(X)
        return np.hstack([1.0 - p, p]) if self._is_vector else p

    def _indicators(self, y: Any) -> IntArray:
        """int64[n, q]; sets classes_."""
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind == "multilabel-indicator":
            Y = (y.toarray() if sp.issparse(y) else np.asarray(y)).astype(np.int64)
            self._is_vector, self.classes_ = False, np.arange(Y.shape[1])
            return np.asarray(Y, dtype=np.int64)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}; y must be an indicator "
                "matrix [n, q] of 0 and 1, or a vector of two classes. For more classes use StructuredClassifier."
            )
        self._is_vector = True
        self.classes_, numbers = np.unique(np.ravel(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}; it needs two classes, or a matrix of labels."
            )
        return np.asarray(numbers.reshape(-1, 1), dtype=np.int64)

    @property
    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _model(self, X: Any) -> LinearLabelModel:
        return LinearLabelModel(X, self._graph.n_labels, self._bias, self._graph.edge_rows, self._graph.n_rows)

    def _objective(self, X: Any, Y: IntArray, weights: FloatArray) -> Objective:
        model, (n, q) = self._model(X), Y.shape
        nonnegative = np.arange(model.n_params) >= model.n_unary if self._graph.is_attractive else None
        y = Outputs(Y.ravel(), np.arange(n + 1, dtype=np.int64) * q)
        return self._risk(model, self._graph.structure(n), Hamming(), y, weights, nonnegative)

    def _scores(self, X: Any) -> Any:
        """The scores of the rows of X, some thousand at a time, and their structure."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        graph: LabelGraph = self._graph
        for first in range(0, X.shape[0], _CHUNK):
            part = X[first : first + _CHUNK]
            model = LinearLabelModel(part, graph.n_labels, 1.0, graph.edge_rows, graph.n_rows)
            w = model.pack(self.coef_.T, self.intercept_, self.interactions_)
            yield graph.structure(part.shape[0]), model.scores(w)

    def _probabilities(self, X: Any) -> FloatArray:
        q = self._graph.n_labels if hasattr(self, "_graph") else 1
        found = [structure.expect(s, 1.0).marginals.nodes[:, 1].reshape(-1, q) for structure, s in self._scores(X)]
        return np.concatenate(found)

    def _margins(self, X: Any) -> FloatArray:
        if self.loss == "log":
            return np.asarray(logit(self._probabilities(X)))
        q = self._graph.n_labels if hasattr(self, "_graph") else 1
        return np.concatenate([_max_margins(structure, s, q) for structure, s in self._scores(X)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags


def _max_margins(structure: Any, s: Scores, q: int) -> FloatArray:
    """float64[n, q]: the best score with each label, less the best without it."""
    best = np.concatenate(structure.max_marginals(s)).reshape(-1, q, 2)
    return np.asarray(best[:, :, 1] - best[:, :, 0])
