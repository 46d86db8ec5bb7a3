"""A sequence tagger that is trained by many workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from distributed import Client

from casimir._validate import positive_int
from casimir.costs import Hamming
from casimir.dask.clusters import connected
from casimir.dask.crew import Crew
from casimir.dask.objective import SpreadObjective
from casimir.dask.optimize import solver_for
from casimir.dask.pieces import Piece
from casimir.dask.sentences import Look, Spread, hold_sentences, look, piece_of, spread
from casimir.estimators.compact import UsedFeatures
from casimir.estimators.labels import Label
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.sequence_tagger import SequenceTagger as OrdinaryTagger
from casimir.estimators.training import number_of, seed_of, warn_of_the_end
from casimir.estimators.weighted_loss import weighted_loss
from casimir.losses import Loss, loss_named
from casimir.penalties import ElasticNet, Penalty, Ridge
from casimir.progress import Progress
from casimir.scores import FloatArray
from casimir.solvers import Result, minimize
from casimir.solvers.checkpoint import Checkpoint

_NEEDED = {
    "class_weight": None,
    "constraints": None,
    "min_frequency": 0,
    "keep_names": False,
    "warm_start": False,
    "patience": None,
}


class SequenceTagger(OrdinaryTagger):
    """A `casimir.SequenceTagger` that is trained by the workers of a Dask cluster, to the same certified gap.

    client  a `distributed.Client`, the address of a scheduler, or "local:4", that many processes on this machine; None:
            the client of this process
    shards  of lists: how many to cut them into; None: 16, or as many as the workers have threads. Packs, bags and
            futures have theirs. The result depends on the shards and the seed, not on the number of workers

    The other parameters are those of `casimir.SequenceTagger`. What it has learned is that of an ordinary tagger:
    predictions are made here, and `save` writes the same model folder.
    """

    not_saved: ClassVar[frozenset[str]] = frozenset({"client", "shards"})

    def __init__(self, client: Any = None, *, shards: int | None = None, **params: Any) -> None:
        super().__init__(**params)
        self.client, self.shards = client, shards

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*OrdinaryTagger._get_param_names(), "client", "shards"])

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        callbacks: Iterable[Callable[..., object]] = (),
        memory: Any = None,
    ) -> SequenceTagger:
        """Train on sentences and labels as `casimir.SequenceTagger.fit` takes them, which are cut into shards.

        Or on what is spread already: a pack (`casimir.open_pack`) on storage that all workers see; a list of Dask
        futures of (X, y) or (X, y, sample_weight), which stay where they are; or a Dask bag of (tokens, labels), each
        partition of which is packed where it is.
        """
        self._check(X_dev, y_dev, memory)
        with connected(self.client) as client:
            return self._fit_spread(client, X, y, sample_weight, tuple(callbacks))

    def _fit_spread(
        self, client: Client, X: Any, y: Any, sample_weight: Any, callbacks: tuple[Callable[..., object], ...]
    ) -> SequenceTagger:
        n_features = getattr(X, "n_features", self.n_features)
        shards = spread(client, X, y, sample_weight, n_features, self.shards)
        looks = _looks(client, shards)
        features, classes = _numbering(looks)
        loss, total = self._loss_of(classes), sum(one.weight for one in looks)
        self.lam_ = self._default_lam(total, is_step=False) if self.lam is None else number_of(self.lam, "lam")
        used = [k for k, one in enumerate(looks) if one.weight]  # a shard whose sentences count nothing is of no use
        if not used:
            raise ValueError("sample_weight is zero everywhere; at least one example must count.")
        origins = [shards.origins[k] for k in used]
        crew = Crew(client, origins, lambda sentences: (hold_sentences, sentences, features, classes, loss))

        def whole() -> list[Piece]:
            assert shards.whole is not None
            every = shards.whole()
            return [piece_of(every[k], features, classes) for k in used]

        stays = shards.whole is None or (shards.is_large and self.solver == "auto")
        objective = SpreadObjective(crew, loss, self._penalty(), None if stays else whole)

        def predictor(w: FloatArray) -> ChainPredictor:
            own, known = features.known(w, len(classes))
            return ChainPredictor(
                own, classes, features.n_features, shards.vocabulary, self._threads(), None, known=known
            )

        def called(row: Any, w: FloatArray) -> bool:
            shards.unchanged()
            wants_to_stop = [callback(row, predictor(w)) is True for callback in callbacks]  # all of them are called
            return any(wants_to_stop)

        self.solver_, self.names_ = solver_for(self.solver, objective), None
        for callback in callbacks:
            if isinstance(callback, Progress):
                callback.more = crew.traffic.told
        result = self._run(objective, called, crew)
        shards.unchanged()
        self.traffic_ = crew.traffic
        self._set_result(result, predictor(result.w))
        warn_of_the_end(result, self.tol)
        return self

    def _run(self, objective: SpreadObjective, called: Callable[..., bool], crew: Crew) -> Result:
        epochs, seed = positive_int(self.max_epochs, "max_epochs"), seed_of(self.random_state)
        kept = Checkpoint.of(self.checkpoint)
        if not self.verbose:
            return minimize(objective, self.solver_, epochs, self.tol, seed, [called], checkpoint=kept)
        with Progress() as progress:
            progress.more = crew.traffic.told
            return minimize(objective, self.solver_, epochs, self.tol, seed, [called, progress], checkpoint=kept)

    def _penalty(self) -> Penalty:
        return Ridge(self.lam_) if self.l1_ratio == 0.0 else ElasticNet(self.lam_, self.l1_ratio)

    def _loss_of(self, classes: tuple[Label, ...]) -> Loss:
        if self.label_costs is None:
            return loss_named(self.loss, Hamming())
        nothing: Any = None
        return weighted_loss(self.loss, self.label_costs, None, classes, nothing, None)[0]

    def _check(self, X_dev: Any, y_dev: Any, memory: Any) -> None:
        for name, default in _NEEDED.items():
            given = getattr(self, name)
            if given != default:
                raise ValueError(f"{name}={given!r} needs all sentences on one machine; train there, or leave it out.")
        if isinstance(self.lam, str):
            raise ValueError(f"lam={self.lam!r} needs all sentences on one machine; give a number, or None.")
        if X_dev is not None or y_dev is not None:
            raise ValueError("X_dev and y_dev are not for many workers; score the model afterwards, or in a callback.")
        if memory is not None:
            raise ValueError(
                "memory is what one machine may use for a pack; workers have their own limits. Leave it out."
            )


def _looks(client: Client, shards: Spread) -> list[Look]:
    """Labels and features of all shards."""
    homes = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not homes:
        client.wait_for_workers(1, timeout=120)
        return _looks(client, shards)
    made = [origin(homes) for origin in shards.origins]
    found = client.gather([client.submit(look, one, key=f"casimir-features-{one.key}", pure=False) for one in made])
    assert isinstance(found, list)
    return found


def _numbering(looks: list[Look]) -> tuple[UsedFeatures, tuple[Label, ...]]:
    """The features and the labels of all shards together."""
    n_features = {one.n_features for one in looks}
    if len(n_features) > 1:
        raise ValueError(f"The shards have {sorted(n_features)} features; all must be packed with the same n_features.")
    used = reduce(np.bitwise_or, [one.used for one in looks])
    features = UsedFeatures.of_seen(np.unpackbits(used, count=looks[0].n_features).astype(np.bool_))
    distinct: Any = list(dict.fromkeys(label for one in looks for label in one.distinct))
    try:
        return features, tuple(sorted(distinct))
    except TypeError:
        return features, tuple(distinct)
