"""sklearn-crfsuite's class, on casimir's solvers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from casimir._frames import check_dicts, check_no_frame
from casimir.compat import certified, online
from casimir.compat.attributes import SEPARATOR, pack_with_zeros, without_zeros
from casimir.compat.log import TrainingLog, holdout_scores
from casimir.compat.masks import KeptPairs
from casimir.compat.model import Model
from casimir.compat.parameters import Plan
from casimir.compat.tagger import Tagger
from casimir.estimators.labels import Label, LabelSequences
from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences, pack
from casimir.metrics.flat import flat_accuracy_score
from casimir.scores import FloatArray
from casimir.vocabulary import Vocabulary


class CRF(BaseEstimator):  # type: ignore[misc]
    """A linear chain with the weights, the objectives and the algorithms of CRFsuite.

    algorithm                 "lbfgs" and "l2sgd": min_w sum_i -log p(y_i | x_i) + c1 |w|_1 + c2 |w|^2, solved until no
                              weights are better by a share of more than delta, which is certified unless c2 is tiny
                              or below 0.02 c1. "ap", "pa", "arow": CRFsuite's online learners
    min_freq                  pairs of an attribute and a label, or of labels, whose values sum up to less have no
                              weight
    all_possible_states       whether attributes have weights with labels that they were never seen with
    all_possible_transitions  whether pairs of labels that were never seen have weights
    c1, c2                    of lbfgs; c2 of l2sgd too. Default: 0 and 1
    max_iterations            epochs of the solver, each one or two visits to every sentence. Default: until it is
                              certified; 1000 for l2sgd, 100 for the online learners
    delta                     of lbfgs and l2sgd, see above. Default: 1e-5
    epsilon                   of the online learners: they end below this mean loss. Default: 0
    pa_type, c, error_sensitive, averaging     of pa. Default: 1, 1, True, True
    variance, gamma           of arow. Default: 1 and 1
    verbose                   write a line per iteration to stderr

    num_memories, epsilon, period, linesearch and max_linesearch of lbfgs, and period and calibration_* of l2sgd say how
    CRFsuite gets to the optimum; values other than CRFsuite's defaults are refused. So are model_filename,
    keep_tempfiles and trainer_cls, since no file in CRFsuite's format is written.

    After `fit`: classes_, attributes_, state_features_, transition_features_, training_log_; objective_, the sum above,
    dual_, which no weights can be below, and gap_, their relative difference (None for online learners).

    >>> X, y = [[{"word": "the"}, {"word": "cat"}]], [["D", "N"]]
    >>> CRF(c2=0.1).fit(X, y).predict(X).tolist()
    [['D', 'N']]
    """

    training_log_: TrainingLog | None = None

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on sentences X, a list of dicts or of lists of strings each, with labels y.

        X_dev, y_dev  held-out sentences: `training_log_` tells how well every iteration does on them. They do not
                      change the weights
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Give both X_dev and y_dev, or neither.")
        plan = Plan.of(self.get_params(deep=False))
        packed, labels = _packed(X, y)
        classes = tuple(labels.distinct)
        labels.classes()  # refuses NaN
        if labels.is_partial:
            raise ValueError(
                "Some labels are None or sets, which CRFsuite has no objective for. Give one label for every token, or "
                "use casimir.SequenceTagger."
            )
        places = labels.places(classes)
        kept = KeptPairs.of(
            packed,
            places,
            len(classes),
            float(plan["min_freq"]),
            bool(plan["all_possible_states"]),
            bool(plan["all_possible_transitions"]),
        )
        packed = without_zeros(packed)
        log = TrainingLog(kept.count, bool(self.verbose))
        if X_dev is not None:
            log.holdout = _holdout(X_dev, y_dev, classes, packed)
        trainer = online if plan.algorithm in ("ap", "pa", "arow") else certified
        found = trainer.train(packed, places, kept, plan, log)
        vocabulary = packed.vocabulary
        assert isinstance(vocabulary, Vocabulary)
        rows = ChainPredictor(found.w, classes, packed.n_features, vocabulary).rows
        self.objective_, self.dual_, self.gap_ = found.objective, found.dual, found.gap
        log.verbose, log.holdout = False, None
        self.training_log_, self.model_ = log, Model.of(rows, classes, vocabulary)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The best labels of every sentence, as an array of objects."""
        return np.array(self._fitted().predict(_sentences(X)), dtype=object)

    def predict_single(self, xseq: Sequence[Any]) -> list[Label]:
        """The best labels of one sentence."""
        return self._fitted().predict([xseq])[0]

    def predict_marginals(self, X: Any) -> np.ndarray:
        """For every token of every sentence a dict {label: probability}, as an array of objects."""
        return np.array(self._fitted().marginals(_sentences(X)), dtype=object)

    def predict_marginals_single(self, xseq: Sequence[Any]) -> list[dict[Label, float]]:
        """For every token of one sentence a dict {label: probability}."""
        return self._fitted().marginals([xseq])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose label is right."""
        return flat_accuracy_score(_listed(y, "y"), self._fitted().predict(_sentences(X)))

    @property
    def classes_(self) -> list[Label] | None:
        """The labels, in the order of their first appearance; None before `fit`, like the attributes below."""
        return None if self._model is None else list(self._model.classes)

    @property
    def tagger_(self) -> Tagger | None:
        """What python-crfsuite's Tagger tells of single sequences."""
        known: Tagger | None = self.__dict__.get("_tagger")
        if self._model is not None and (known is None or known.model is not self._model):
            known = self._tagger = Tagger(self._model)
        return known

    @property
    def size_(self) -> int | None:
        """Bytes of the pickled model."""
        return None if self._model is None else len(pickle.dumps(self, protocol=pickle.HIGHEST_PROTOCOL))

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have a weight that is not 0."""
        return None if self._model is None else len(self._model.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """Attributes that have a weight that is not 0."""
        return None if self._model is None else list(self._model.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, Label], float] | None:
        """{(attribute, label): weight} where it is not 0."""
        return None if self._model is None else self._model.state_features()

    @property
    def transition_features_(self) -> dict[tuple[Label, Label], float] | None:
        """{(label from, label to): weight} where it is not 0."""
        return None if self._model is None else self._model.transition_features()

    @property
    def modelfile(self) -> Any:
        raise AttributeError(
            "There is no modelfile: casimir writes no file in CRFsuite's format. Pickle the fitted CRF to keep it."
        )

    @property
    def _model(self) -> Model | None:
        return getattr(self, "model_", None)

    def _fitted(self) -> Model:
        if self._model is None:
            raise NotFittedError("This CRF is not fitted yet; call fit(X, y) first.")
        return self._model


def _sentences(X: Any, name: str = "X") -> list[Any]:
    sentences = _listed(X, name)
    check_dicts(sentences)
    return sentences


def _listed(given: Any, name: str = "X") -> list[Any]:
    check_no_frame(given)
    if isinstance(given, str | bytes | dict) or not isinstance(given, Iterable):
        raise TypeError(f"{name} is a {type(given).__name__}; it must be a list with one entry per sentence.")
    found = list(given)
    for i, one in enumerate(found):
        if not hasattr(one, "__len__"):
            raise TypeError(f"{name}[{i}] is a {type(one).__name__}; it must be a list with one entry per token.")
    return found


def _packed(X: Any, y: Any) -> tuple[PackedSequences, LabelSequences]:
    """The sentences that have tokens, and their labels."""
    if isinstance(X, PackedSequences):
        return X, LabelSequences.of(y, X.offsets)
    X, y = _sentences(X), _listed(y, "y")
    full = [i for i, sentence in enumerate(X) if len(sentence) or (i < len(y) and len(y[i]))]
    if len(full) < len(X) and len(X) == len(y):
        X, y = [X[i] for i in full], [y[i] for i in full]
    if not X:
        raise ValueError("X has no tokens; fit needs at least one.")
    packed = pack_with_zeros(X)
    return packed, LabelSequences.of(y, packed.offsets)


def _holdout(X: Any, y: Any, classes: tuple[Label, ...], packed: PackedSequences) -> Any:
    """The scores on held-out sentences, as a function of the weights in training."""
    X, y = _sentences(X, "X_dev"), _listed(y, "y_dev")
    if [len(sentence) for sentence in X] != [len(labels) for labels in y]:
        raise ValueError(
            "X_dev and y_dev do not fit; give one sequence of labels per sentence, and one label per token."
        )
    full = [(sentence, labels) for sentence, labels in zip(X, y, strict=True) if len(sentence)]
    sentences = pack([sentence for sentence, _ in full], None, vocabulary=packed.vocabulary, separator=SEPARATOR)

    def predict(w: FloatArray) -> list[list[Label]]:
        return ChainPredictor(w, classes, packed.n_features, packed.vocabulary).predict(sentences)

    return holdout_scores(predict, [list(labels) for _, labels in full])
