"""Training a `SequenceTagger` on a pack: sentences stay on disk, and what is kept of each has its bounds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir._limits import check_weights
from casimir._outputs import ShardedOutputs
from casimir._sizes import anonymous_memory, parse_size
from casimir._state_memory import StateMemory
from casimir._validate import positive_int
from casimir.costs import Hamming
from casimir.estimators.constraints import LabelRules, label_rules
from casimir.estimators.of_predictor import OfPredictor
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.training import seed_of, warn_of_the_end
from casimir.estimators.weighted_loss import weighted_loss
from casimir.losses import loss_named
from casimir.models.linear import LinearChainModel
from casimir.models.sharded import ShardedChainModel
from casimir.objective import Objective
from casimir.packs import Pack, Shard
from casimir.penalties import ElasticNet, Penalty
from casimir.scores import FloatArray
from casimir.solvers import BCFW, LBFGS, SDCA, SGD, DualProximal, Result, minimize
from casimir.solvers.base import Solver
from casimir.solvers.checkpoint import Checkpoint
from casimir.solvers.choose import choose
from casimir.structures.chain import Chain

if TYPE_CHECKING:
    from casimir.estimators.chain_tagger import ChainTagger

_LEAST_VECTORS, _MOST_VECTORS = 5, 14  # as long as w: what dual steps and SGD keep; what others do, pairs left out
_PER_SENTENCE = 80  # bytes of orders and of values of the losses, while a pass runs
_PER_TOKEN = 8  # bytes of a shard for every label of a token, and for its labels, while its costs are read
_KEPT_VECTORS = 2  # the best weights on a dev set, and those that are scored
_WRITTEN_VECTORS = 5  # those that a checkpoint is written from
_REFUSED: dict[str, tuple[Any, str]] = {
    "min_frequency": (0, "leave features that are too rare out when packing"),
    "keep_names": (False, "pack with n_features=None, which keeps the names of all features"),
    "warm_start": (False, "a checkpoint goes on with a training that was cut short"),
}


def fit_pack(
    tagger: ChainTagger,
    pack: Pack,
    memory: str | int | None,
    callbacks: Iterable[Callable[..., object]],
    *,
    keeps_best: bool = False,
) -> ChainTagger:
    """min_w F(w) as for the same sentences in memory. Sets what `SequenceTagger.fit` sets.

    keeps_best  whether one of the callbacks keeps weights
    """
    _check(tagger, pack)
    classes = sorted_classes(pack)
    names = pack.vocabulary  # read before memory is counted
    if memory is None:
        check_weights(8 * _n_params(pack, len(classes)), pack.nbytes, f"the pack '{pack.folder}'")
    bound = None if memory is None else _Bound(pack, len(classes), parse_size(memory))
    model = _model(pack, len(classes), StateMemory(None if bound is None else bound.room(_LEAST_VECTORS)))
    y = _places(pack, classes, model.state)
    weights = None
    if pack.manifest.weighted:
        weights = np.concatenate([shard.weights for shard in pack.shards if shard.weights is not None])
    rules = None if tagger.constraints is None else label_rules(tagger.constraints, classes, y)
    objective = _objective(tagger, model, y, classes, weights, rules)

    def predictor(w: FloatArray) -> ChainPredictor:
        return ChainPredictor(w.copy(), classes, pack.n_features, names, tagger._threads(), rules)

    def unchanged(row: Any, w: FloatArray) -> None:
        pack.check_unchanged()

    solver, kept = choose(tagger.solver, objective), Checkpoint.of(tagger.checkpoint)
    if bound is not None:
        more = (_KEPT_VECTORS if keeps_best else 0) + (0 if kept is None else _WRITTEN_VECTORS)
        model.state.limit = bound.room(_vectors(solver) + more)
    tagger.solver_, tagger.names_ = solver, None
    every: list[Any] = [unchanged, *(OfPredictor.of(callback, predictor) for callback in callbacks)]
    result = _minimized(tagger, objective, solver, every, kept)
    pack.check_unchanged()
    tagger._set_result(result, predictor(result.w))
    warn_of_the_end(result, tagger.tol)
    return tagger


def _minimized(
    tagger: ChainTagger, objective: Objective, solver: Solver, callbacks: list[Any], kept: Checkpoint | None
) -> Result:
    epochs, seed = positive_int(tagger.max_epochs, "max_epochs"), seed_of(tagger.random_state)
    train = partial(minimize, objective, solver, epochs, tagger.tol, seed, checkpoint=kept)
    if not tagger.verbose:
        return train(callbacks)
    from casimir.progress import Progress

    with Progress() as progress:
        return train([*callbacks, progress])


def _check(tagger: ChainTagger, pack: Pack) -> None:
    for name, (default, instead) in _REFUSED.items():
        given = getattr(tagger, name)
        if given != default:
            raise ValueError(
                f"{name}={given!r} needs the sentences in memory, and a pack leaves them on disk; {instead}."
            )
    if isinstance(tagger.lam, str):
        raise ValueError(
            f"lam={tagger.lam!r} needs the sentences in memory; give a number, or search on a pack of fewer sentences: "
            "what is best for n sentences is best for m when it is multiplied by n / m, about."
        )
    if pack.labels is None:
        raise ValueError(f"The pack '{pack.folder}' has no labels. Give y when packing.")
    if not len(pack):
        raise ValueError(f"The pack '{pack.folder}' holds no sequences yet. Give the command that packed it again.")
    if not pack.is_complete:
        warnings.warn(
            f"The pack '{pack.folder}' is incomplete: training takes the {len(pack)} sequences that it holds so far. "
            "Give the command that packed it again for the rest.",
            UserWarning,
            stacklevel=4,
        )


def sorted_classes(pack: Pack) -> tuple[Any, ...]:
    """The labels of a pack in the order in which a tagger has them, without those that Python takes for the same, such
    as 1 and True.
    """
    distinct = tuple(dict.fromkeys(pack.labels or ()))
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return distinct


def _n_params(pack: Pack, n_labels: int) -> int:
    return LinearChainModel(pack.shards[0].X, n_labels).n_params


def _model(pack: Pack, n_labels: int, state: StateMemory) -> ShardedChainModel:
    """The shards as one model."""
    shards = pack.shards
    chains = [LinearChainModel(shard.X, n_labels) for shard in shards]

    def enter(number: int, following: int | None) -> None:
        pack.check_unchanged(number)
        if following is not None:
            shards[following].file.will_need()

    return ShardedChainModel(chains, state, enter, [entry.sha256 for entry in pack.entries])


class _Bound:
    """How much of the memory is left for the dual variables once everything else that training needs is there."""

    def __init__(self, pack: Pack, n_labels: int, memory: int) -> None:
        self.pack, self.memory, self.before = pack, memory, anonymous_memory()
        self.n_params = _n_params(pack, n_labels)
        self.of_shard = max(entry.tokens for entry in pack.entries) * (n_labels + 2) * _PER_TOKEN

    def room(self, vectors: int) -> int:
        """With so many vectors as long as w."""
        needed = self.before + max(8 * vectors * self.n_params + _PER_SENTENCE * len(self.pack), self.of_shard)
        if needed > self.memory:
            raise ValueError(
                f"Training on '{self.pack.folder}' with memory={self.memory / 1e6:,.0f} MB: {vectors} vectors of "
                f"{self.n_params:,} weights, the largest shard and Python itself need {needed / 1e6:,.0f} MB. Give "
                "more, or pack with fewer hash buckets or smaller shards."
            )
        return self.memory - needed


def _vectors(solver: Solver) -> int:
    """How many vectors as long as w a solver keeps at the most."""
    if isinstance(solver, LBFGS):
        return 2 * solver.memory + _MOST_VECTORS
    return _LEAST_VECTORS if isinstance(solver, DualProximal | BCFW | SGD | SDCA) else _MOST_VECTORS


def _places(pack: Pack, classes: tuple[Any, ...], state: StateMemory) -> ShardedOutputs:
    """The labels as places in `classes`; those of the pack where they are the same."""
    place = {label: j for j, label in enumerate(classes)}
    number = np.array([place[label] for label in pack.labels or ()], dtype=np.int32)
    flats = [_renumbered(shard, number, state) for shard in pack.shards]
    return ShardedOutputs(flats, [shard.X.offsets for shard in pack.shards])


def _renumbered(shard: Shard, number: np.ndarray, state: StateMemory) -> np.ndarray:
    assert shard.labels is not None
    if np.array_equal(number, np.arange(len(number))):
        return shard.labels
    found = state.array(len(shard.labels), np.int32)
    np.take(number, shard.labels, out=found)
    return found


def _objective(
    tagger: ChainTagger,
    model: ShardedChainModel,
    y: ShardedOutputs,
    classes: tuple[Any, ...],
    weights: Any,
    rules: LabelRules | None,
) -> Objective:
    n = model.n_examples if weights is None else float(np.sum(weights))
    lam = tagger._default_lam(n, is_step=False) if tagger.lam is None else float(tagger.lam)
    loss: Any = loss_named(tagger.loss, Hamming())
    if tagger.label_costs is not None or tagger.class_weight is not None:
        loss, weights = weighted_loss(tagger.loss, tagger.label_costs, tagger.class_weight, classes, y, weights)
    penalty: Penalty | float = lam if tagger.l1_ratio == 0.0 else ElasticNet(lam, tagger.l1_ratio)
    tagger.lam_ = lam
    chain = Chain(len(classes)) if rules is None else rules.chain
    return Objective(model, chain, loss, y, penalty, weights, n_threads=tagger._threads())
