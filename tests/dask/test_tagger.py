"""A tagger trained by workers is that of one process, wherever its data come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'casimir[dask]'")

from dask_problems import sentences

import casimir as cs
from casimir.dask import Central, SequenceTagger, Sharded
from casimir.progress import Progress

X, Y = sentences(60)


@pytest.fixture(scope="module")
def alone() -> cs.SequenceTagger:
    return cs.SequenceTagger(loss="crf", solver="lbfgs", tol=1e-11).fit(X, Y)


def test_fit_on_lists_is_that_of_one_process(client: Any, alone: cs.SequenceTagger, tmp_path: Any) -> None:
    many = SequenceTagger(client, loss="crf", tol=1e-11, shards=5).fit(X, Y)
    assert many.objective_ == pytest.approx(alone.objective_, rel=1e-10)
    assert many.gap_ <= 1e-11
    assert np.abs(many.coef_ - alone.coef_).max() <= 1e-6
    assert many.predict(X) == alone.predict(X)
    many.save(tmp_path / "model")
    loaded = cs.load(tmp_path / "model")
    assert type(loaded) is cs.SequenceTagger
    assert loaded.predict(X) == alone.predict(X)
    assert "client" not in loaded.get_params()


def test_exact_vocabularies_weights_and_costs(client: Any) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    given: dict[str, Any] = {"n_features": None, "lam": 0.05, "label_costs": {("*", "A"): 2.0}}
    one = cs.SequenceTagger(tol=1e-4, **given).fit(X, Y, sample_weight=weights)
    many = SequenceTagger(client, tol=1e-4, solver=Sharded(), shards=3, **given).fit(X, Y, sample_weight=weights)
    assert many.objective_ >= one.dual_ - 1e-12
    assert many.dual_ <= one.objective_ + 1e-12
    assert many.gap_ <= 1e-4
    assert many.predictor_.vocabulary == one.predictor_.vocabulary


def test_bags_and_futures_stay_where_they_are(client: Any, alone: cs.SequenceTagger) -> None:
    from dask import bag

    of_bag = SequenceTagger(client, loss="crf", tol=1e-11)
    of_bag.fit(bag.from_sequence(list(zip(X, Y, strict=True)), npartitions=4))
    assert of_bag.objective_ == pytest.approx(alone.objective_, rel=1e-10)
    futures = [client.submit(lambda a: (X[a::3], Y[a::3]), a) for a in range(3)]
    of_futures = SequenceTagger(client, loss="crf", tol=1e-11).fit(futures)
    assert of_futures.objective_ == pytest.approx(alone.objective_, rel=1e-10)
    with pytest.raises(ValueError, match="n_features=None numbers every feature, and no machine sees all"):
        SequenceTagger(client, n_features=None).fit(futures)
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        SequenceTagger(client).fit(futures, Y)


def test_auto_takes_the_scheme_that_the_data_allow(client: Any) -> None:
    hinge = SequenceTagger(client, shards=4).fit(X, Y)
    assert isinstance(hinge.solver_, Central)
    assert hinge.gap_ <= 1e-2
    futures = [client.submit(lambda a: (X[a::3], Y[a::3]), a) for a in range(3)]
    assert isinstance(SequenceTagger(client).fit(futures).solver_, Sharded)
    assert isinstance(SequenceTagger(client, loss="crf").fit(X, Y).solver_, cs.LBFGS)
    assert isinstance(SequenceTagger(client, l1_ratio=0.5).fit(X, Y).solver_, cs.LBFGS)


def test_a_line_of_progress_tells_speed_and_bytes(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        tagger = SequenceTagger(client, loss="crf", shards=2).fit(X, Y, callbacks=[progress])
    line = capsys.readouterr().err.splitlines()[-1]
    assert "tokens/s" in line
    assert "B moved" in line
    assert "certified gap" in line
    assert tagger.traffic_.down > 0 < tagger.traffic_.up


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": "balanced"}, "class_weight='balanced' needs all sentences on one machine"),
        ({"lam": "auto"}, "lam='auto' needs all sentences"),
        ({"solver": "sdca"}, "on many workers it must be"),
    ],
)
def test_what_needs_one_machine_is_refused(client: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SequenceTagger(client, **parameters).fit(X, Y)


def test_a_bad_client_is_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"write local:N"):
        SequenceTagger("local:many").fit(X, Y)
    with pytest.raises(ValueError, match="is the Dask client of this process, and there is none"):
        SequenceTagger().fit(X, Y)
    with pytest.raises(TypeError, match="it must be a Dask client"):
        SequenceTagger(3).fit(X, Y)


@dataclass(frozen=True)
class OnDisk:
    """What `fit` asks of a pack: shards on storage that every worker sees, chosen by `select`."""

    chosen: tuple[int, ...]
    n_features: int = 97
    labels: tuple[str, ...] = ("D", "C", "B", "A")
    is_complete: bool = True
    vocabulary: None = None
    manifest: None = None
    folder: str = "here"
    nbytes: int = 2**20

    @property
    def entries(self) -> tuple[int, ...]:
        return self.chosen

    @property
    def shards(self) -> list[Any]:
        found = []
        for k in self.chosen:
            numbers = [self.labels.index(label) for own in Y[k::2] for label in own]
            X_k = cs.pack(X[k::2], self.n_features)
            found.append(SimpleNamespace(X=X_k, labels=np.array(numbers, dtype=np.int32), weights=None))
        return found

    def select(self, shards: list[int]) -> OnDisk:
        return replace(self, chosen=tuple(self.chosen[k] for k in shards))

    def check_unchanged(self) -> None:
        pass


def test_shards_on_storage_are_read_by_the_workers(client: Any) -> None:
    one = cs.SequenceTagger(n_features=97, tol=1e-3).fit(X, Y)
    many = SequenceTagger(client, solver=Central(rounds=2), tol=1e-3).fit(OnDisk((0, 1)))
    assert one.dual_ - 1e-12 <= many.objective_ <= one.objective_ * (1 + 2e-3)
    assert many.classes_.tolist() == ["A", "B", "C", "D"]
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        SequenceTagger(client).fit(OnDisk((0,)), Y)
    with pytest.raises(ValueError, match="is incomplete"):
        SequenceTagger(client).fit(replace(OnDisk((0,)), is_complete=False))


def test_a_pack_that_would_fill_the_memory_of_the_client_stays_on_storage(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SequenceTagger(client, tol=0.1).fit(OnDisk((0, 1)))
    assert isinstance(small.solver_, Central)
    monkeypatch.setattr("casimir.dask.sentences.MEMORY_LIMIT", 6 * 2**20 - 1)
    large = SequenceTagger(client, tol=0.1).fit(OnDisk((0, 1)))
    assert isinstance(large.solver_, Sharded)
    asked = SequenceTagger(client, tol=0.1, solver="central").fit(OnDisk((0, 1)))
    assert isinstance(asked.solver_, Central)
