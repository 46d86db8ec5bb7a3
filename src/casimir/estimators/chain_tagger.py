"""What a sequence tagger does, without scikit-learn, which takes a second to load."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from casimir._native import core
from casimir._outputs import Outputs
from casimir._threads import n_threads
from casimir._validate import positive_int
from casimir.costs import Hamming
from casimir.estimators.compact import UsedFeatures
from casimir.estimators.constraints import LabelRules, label_rules
from casimir.estimators.dev_set import DevSet
from casimir.estimators.growing import carried, check_steps, classes_after, packed_after
from casimir.estimators.inspection import Inspection
from casimir.estimators.labels import Label, LabelSequences, as_object_array
from casimir.estimators.names import packed_with_names
from casimir.estimators.of_predictor import OfPredictor
from casimir.estimators.packed_fit import fit_pack, sorted_classes
from casimir.estimators.partial_labels import around, label_masks
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.training import not_fitted, warn_of_the_end
from casimir.estimators.training import number_of as _number
from casimir.estimators.training import seed_of as _seed
from casimir.estimators.weighted_loss import weighted_loss
from casimir.features import DEFAULT_N_FEATURES, PackedSequences
from casimir.losses import Loss, loss_named
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.packs import Pack
from casimir.penalties import ElasticNet, Penalty, Proximal, Ridge
from casimir.persistence import save_folder
from casimir.scores import FloatArray
from casimir.solvers import Result, TraceRow, minimize
from casimir.solvers.base import Solver
from casimir.solvers.checkpoint import Checkpoint
from casimir.solvers.choose import choose
from casimir.solvers.run import Callback
from casimir.structures.chain import Chain
from casimir.vocabulary import Vocabulary

TaggerCallback = Callable[[TraceRow, ChainPredictor], object]


class ChainTagger(Inspection):
    """What a `SequenceTagger` is, with the same parameters, but for what scikit-learn asks of an estimator."""

    not_saved: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        lam: float | str | None = None,
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-2,
        random_state: Any = 0,
        *,
        max_epochs: int = 500,
        n_features: int | None = DEFAULT_N_FEATURES,
        l1_ratio: float = 0.0,
        class_weight: Mapping[Label, float] | str | None = None,
        label_costs: Any = None,
        constraints: Any = None,
        min_frequency: int = 0,
        scoring: Any = None,
        patience: int | None = None,
        warm_start: bool = False,
        keep_names: bool = False,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
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
        self.l1_ratio = l1_ratio
        self.class_weight = class_weight
        self.label_costs = label_costs
        self.constraints = constraints
        self.min_frequency = min_frequency
        self.scoring = scoring
        self.patience = patience
        self.warm_start = warm_start
        self.keep_names = keep_names
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def unfitted(self, **changes: Any) -> Self:
        """Another one with copies of the parameters, but for those that are given."""
        return type(self)(**(copy.deepcopy(self.get_params(deep=False)) | changes))

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        callbacks: Iterable[TaggerCallback] = (),
        memory: str | int | None = None,
    ) -> Self:
        """Train on sentences X (a dict or an iterable of strings per token, or the result of `pack`) with labels y.

        Features of pairs of neighbouring labels come as X.with_edges(pack(pairs, None)): those of a token belong to its
        label and the one before. All of them are kept, whatever min_frequency says.

        In the place of a label there may be None where it is not known, or a set where it is one of several; then the
        objective is not convex, gap_ is that of the last round of `ConcaveConvex`, and dual_ is 0.

        sample_weight says how much each sentence counts, 0 or more; a whole number is as good as repeating it.

        X_dev and y_dev are sentences and labels that no weights are trained on: after every evaluated epoch the tagger
        of that moment is scored on them, and the weights that did best are kept.

        callbacks are called as callback(row, predictor) after every evaluated epoch: a TraceRow, and the tagger of that
        moment with predict and score, which may be kept; one that returns True ends the training. Ctrl-C ends it too:
        the best weights so far are kept, with a warning. With a checkpoint, what a callback's method `state()` gives is
        kept there, and given to its `restore(state)` later.

        X may be a pack on disk (`open_pack`), which has its labels and weights with it. memory, such as "2GB", then
        bounds what is kept in memory: dual variables that do not fit lie in mapped files.
        """
        if self.patience is not None and X_dev is None and y_dev is None:
            raise ValueError(
                f"patience={self.patience!r} is how long training waits for a better score on a dev set: give X_dev "
                "and y_dev to fit, or leave it out."
            )
        if isinstance(X, Pack):
            for name, given in {"y": y, "sample_weight": sample_weight}.items():
                if given is not None:
                    raise ValueError(
                        f"{name} does not go with a pack: labels and weights are those it was packed with."
                    )
            return self._fit_pack(X, memory, X_dev, y_dev, callbacks)
        if memory is not None:
            raise ValueError("memory is for packs on disk: give open_pack(DIR), see cs.pack(..., out=DIR).")
        packed, self.names_ = packed_with_names(X, self.n_features, self.keep_names)
        if not len(packed):
            raise ValueError("X has no sequences; fit needs at least one.")
        if isinstance(self.lam, str):
            return self._fit_path(packed, y, sample_weight, X_dev, y_dev, callbacks)
        is_ours = packed is not X
        return self._fit_packed(packed, y, sample_weight, X_dev, y_dev, callbacks, overwrite=is_ours)

    def _fit_packed(
        self,
        packed: PackedSequences,
        y: Any,
        sample_weight: Any,
        X_dev: Any,
        y_dev: Any,
        callbacks: Iterable[TaggerCallback],
        *,
        overwrite: bool = False,
    ) -> Self:
        """overwrite: nobody reads the features of `packed` any more."""
        if packed.edges is not None and not isinstance(packed.edges.vocabulary, Vocabulary):
            raise ValueError("features of pairs of labels have numbers of their own: pack them with n_features=None.")
        labels = LabelSequences.of(y, packed.offsets)
        classes, before = labels.classes(), getattr(self, "predictor_", None) if self.warm_start else None
        if X_dev is None and y_dev is None:
            return self._train(packed, labels, classes, sample_weight, callbacks, before, overwrite=overwrite)
        dev = DevSet.of(self, packed, X_dev, y_dev, classes)
        self._train(packed, labels, classes, sample_weight, [*callbacks, dev], before, overwrite=overwrite)
        return self._keep(dev)

    def _fit_pack(
        self, pack: Pack, memory: str | int | None, X_dev: Any, y_dev: Any, callbacks: Iterable[TaggerCallback]
    ) -> Self:
        """Train on shards that stay on disk."""
        if X_dev is None and y_dev is None:
            fit_pack(self, pack, memory, callbacks)
            return self
        dev = DevSet.of(self, pack, X_dev, y_dev, sorted_classes(pack), separator=pack.manifest.separator)
        fit_pack(self, pack, memory, [*callbacks, dev], keeps_best=True)
        return self._keep(dev)

    def _fit_path(
        self,
        packed: PackedSequences,
        y: Any,
        sample_weight: Any,
        X_dev: Any,
        y_dev: Any,
        callbacks: Iterable[TaggerCallback],
    ) -> Self:
        """Train with the lam that scores best."""
        from casimir.estimators.regularization import path

        if self.lam != "auto":
            raise ValueError(f"lam={self.lam!r}; it must be a number, None for the default, or 'auto'.")
        options = {"X_dev": X_dev, "y_dev": y_dev, "scoring": self.scoring, "sample_weight": sample_weight}
        self.path_ = path(self, packed, y, **options)
        self.lam = self.path_.best.lam
        try:
            return self._fit_packed(packed, y, sample_weight, X_dev, y_dev, callbacks)
        finally:
            self.lam = "auto"

    def _keep(self, dev: DevSet) -> Self:
        """The weights that did best on the dev set, and what is known of them."""
        assert dev.best is not None, "a run reports at least once"
        row, w = dev.best
        self.predictor_ = replace(self._fitted(), w=w)
        self.dev_scores_, self.best_epoch_ = dev.scores, row.epoch
        self.objective_ = float(row.objective)
        self.gap_ = max(self.objective_ - self.dual_, 0.0) / self.objective_ if self.objective_ > 0.0 else 0.0
        return self

    def partial_fit(self, X: Any, y: Any, *, classes: Iterable[Label] | None = None, sample_weight: Any = None) -> Self:
        """Go on with a batch of new sentences: w = argmin_v mean loss of the batch at v + (lam/2) |v - w|^2.

        The first batch is a `fit`. Each further one is a certified step from the weights so far, after `fit` too: lam
        is 1 over the sentences of the batch unless it is given, and objective_, gap_ and trace_ are those of the step.
        New features and labels may appear in any batch; classes announces labels that the first ones do not have.
        """
        check_steps(self)
        before = getattr(self, "predictor_", None)
        packed = packed_after(before, X, self.n_features)
        labels = LabelSequences.of(y, packed.offsets)
        known = classes_after(before, labels.classes(), classes)
        return self._train(packed, labels, known, sample_weight, (), before, is_step=before is not None)

    def _train(
        self,
        packed: PackedSequences,
        labels: LabelSequences,
        classes: tuple[Label, ...],
        sample_weight: Any,
        callbacks: Iterable[TaggerCallback],
        before: ChainPredictor | None,
        *,
        is_step: bool = False,
        overwrite: bool = False,
    ) -> Self:
        """From the weights of the model before, where there is one; is_step: the penalty is around them."""
        wide = None if before is None else carried(before, packed, classes)
        features, compact = UsedFeatures.of(packed, self.min_frequency, overwrite=overwrite)
        core.release_memory()
        places = labels.places(classes)
        rules = None if self.constraints is None else label_rules(self.constraints, classes, places)
        if packed.edges is not None and rules is not None and rules.automaton is not None:
            raise ValueError("features of pairs of labels and an automaton of constraints exclude each other.")
        truth = label_masks(labels, classes) if labels.is_partial else places
        w0 = None if wide is None else features.compress(wide, len(classes))
        pairs: Any = None if packed.edges is None else packed.edges.vocabulary

        def predictor(w: FloatArray) -> ChainPredictor:
            own, known = features.known(w, len(classes), wide if is_step else None)
            reads = packed.n_features, packed.vocabulary
            return ChainPredictor(own, classes, *reads, self._threads(), rules, known=known, pairs=pairs)

        objective = self._objective(compact, truth, places, classes, rules, sample_weight, w0 if is_step else None)
        wrapped: list[Callback] = [OfPredictor.of(callback, predictor) for callback in callbacks]
        result = self._minimized(objective, wrapped, w0, is_step=is_step)
        del objective, compact  # their memory is free before the weights of a predictor come
        core.release_memory()
        self._set_result(result, predictor(result.w))
        warn_of_the_end(result, self.tol)
        return self

    def _minimized(
        self, objective: Objective, callbacks: list[Callback], w0: FloatArray | None, *, is_step: bool
    ) -> Result:
        """The run of the solver. Sets solver_."""
        solver = choose(self.solver, objective)
        if objective.sets is not None:
            solver = around(solver)
        if is_step and getattr(solver, "starts_at_zero", False):
            w0 = None  # the centre of the penalty is where it starts
        self.solver_ = solver
        epochs, seed = positive_int(self.max_epochs, "max_epochs"), _seed(self.random_state)
        train = partial(
            minimize, objective, solver, epochs, self.tol, seed, w0=w0, checkpoint=Checkpoint.of(self.checkpoint)
        )
        return _with_progress(train, callbacks) if self.verbose else train(callbacks)

    def predict(self, X: Any, *, fixed: Any = None) -> list[list[Label]]:
        """The best labels of every sentence. Features never seen in training count for nothing.

        fixed  what is known: per sentence None, or a list with a label, a set of labels or None for every token. The
               best labels among those that agree with it, and with the constraints
        """
        return self._fitted().predict(X, fixed=fixed)

    def predict_single(self, x: Any, *, fixed: Any = None) -> list[Label]:
        """The best labels of one sentence; `fixed` has an entry per token."""
        return self.predict([x], fixed=None if fixed is None else [fixed])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose label is right."""
        return self._fitted().score(X, y)

    def calibrate(self, X: Any, y: Any) -> Self:
        """Set `temperature_` so that labels y of sentences X, which were not trained on, become most likely.

        Predictions stay the same; probabilities, of a hinge loss too, then say how often they are right.
        """
        from casimir.estimators.calibration import best_temperature

        self.predictor_ = replace(self._fitted(), temperature=best_temperature(self._fitted(), X, y))
        return self

    @property
    def temperature_(self) -> float:
        """T of the probabilities, 1 until `calibrate`."""
        return self._fitted().temperature

    @property
    def constraints_(self) -> LabelRules | None:
        """The rules of valid labels, with `scheme`; None where all sequences are valid."""
        return self._fitted().rules

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

    def sparsify(self, threshold: float = 0.0) -> Self:
        """Forget the features whose weights are all 0, after setting those of at most `threshold` to 0.

        With n_features=None their names go, from memory and from model folders; sequences that are packed already have
        to be packed again. Hash buckets stay where they are; model folders never hold more than the weights that are
        not 0.
        """
        from casimir.estimators.sparsify import sparsified

        self.predictor_ = sparsified(self._fitted(), threshold)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads; a model that is there already is replaced at the very end."""
        from casimir.estimators.state import KIND, encode_tagger

        self._fitted()
        save_folder(path, KIND, *encode_tagger(self))

    def _objective(
        self,
        X: PackedSequences,
        y: Any,
        places: Outputs,
        classes: tuple[Label, ...],
        rules: LabelRules | None,
        sample_weight: Any,
        center: FloatArray | None = None,
    ) -> Objective:
        model, chain = LinearChainModel(X, len(classes)), Chain(len(classes)) if rules is None else rules.chain
        n = len(X) if sample_weight is None else float(np.sum(sample_weight))
        lam = self._default_lam(n, is_step=center is not None) if self.lam is None else _number(self.lam, "lam")
        loss, weights = self._loss(classes, places, sample_weight)
        penalty: Penalty | float = lam if self.l1_ratio == 0.0 else ElasticNet(lam, self.l1_ratio)
        self.lam_ = lam
        if center is not None:
            penalty = Proximal(Ridge(0.0), lam, center)
        return Objective(model, chain, loss, y, penalty, weights, n_threads=self._threads())

    def _default_lam(self, n: float, *, is_step: bool) -> float:
        """5/n did best for the hinge loss on held-out folds of four training sets; 3/n is better for the log loss."""
        if n == 0.0:
            return 1.0
        return (1.0 if is_step else 3.0 if self.loss == "crf" else 5.0) / n

    def _threads(self) -> int | None:
        """As scikit-learn counts: -1 is all CPUs, -2 all but one."""
        if self.n_jobs is None or self.n_jobs == -1:
            return None
        if isinstance(self.n_jobs, int) and self.n_jobs < 0:
            return max(1, n_threads() + 1 + self.n_jobs)
        return positive_int(self.n_jobs, "n_jobs")

    def _loss(self, classes: tuple[Label, ...], y: Outputs, sample_weight: Any) -> tuple[Loss, Any]:
        """The loss, and how much every sentence counts."""
        if self.label_costs is None and self.class_weight is None:
            return loss_named(self.loss, Hamming()), sample_weight
        return weighted_loss(self.loss, self.label_costs, self.class_weight, classes, y, sample_weight)

    def _set_result(self, result: Result, predictor: ChainPredictor) -> None:
        self.predictor_, self.classes_ = predictor, as_object_array(predictor.classes)
        self.objective_, self.dual_, self.gap_ = result.objective, result.dual, result.gap
        self.status_, self.trace_ = result.status, result.trace

    def _fitted(self) -> ChainPredictor:
        predictor: ChainPredictor | None = getattr(self, "predictor_", None)
        if predictor is None:
            raise not_fitted(self)
        return predictor


def _with_progress(train: Callable[[list[Callback]], Result], callbacks: list[Callback]) -> Result:
    """The training, with a line on stderr that tells how far it has come."""
    from casimir.progress import Progress

    with Progress() as progress:
        return train([*callbacks, progress])
