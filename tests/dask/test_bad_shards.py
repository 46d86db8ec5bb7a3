"""Shards, pieces, packs and workers that are not what they should be: one sentence, and no other model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'casimir[dask]'")

from dask_problems import chain_pieces, sentences
from distributed import Client, LocalCluster

import casimir as cs
from casimir.dask import Central, Piece, SequenceTagger, Sharded, minimize
from casimir.dask.optimize import crew_of

X, Y = sentences(20)
HINGE = cs.Hinge(cs.Hamming())


def futures(client: Any, *shards: Any) -> list[Any]:
    return [client.submit(lambda one=one: one, pure=False) for one in shards]


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        (3, "A shard has 3; it must be"),
        (None, "A shard has None; it must be"),
        ("words", "A shard has 'words'; it must be"),
        ((X,), "a list of \\(tokens, labels\\)"),
        ([(X[0], Y[0], 1.0)], "a list of \\(tokens, labels\\)"),
        ([1, 2], "A shard has 1; it must be"),
        ([], "A partition of the bag is empty"),
        ((X[:2], Y[:1]), "y has labels for 1 sentences, X has 2"),
        ((X[:2], Y[:2], [1.0]), "sample_weight has shape \\[1\\]; it must be 2 numbers"),
        ((X[:2], Y[:2], "ab"), "sample_weight has shape \\[\\]; it must be 2 numbers"),
        ((X[:2], Y[:2], [1.0, np.nan]), "sample_weight\\[1\\] is nan"),
        ((X[:2], Y[:2], [1.0, -1.0]), "sample_weight\\[1\\] is -1.0"),
        ((X[:2], Y[:2], [1e308, 1e308]), "sample_weight adds up to inf"),
        ((cs.pack(X[:2], n_features=31), Y[:2]), "packed with 31 hash buckets"),
    ],
)
def test_futures_that_are_no_shards_are_refused(client: Any, shard: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        SequenceTagger(client, n_features=97).fit(futures(client, (X, Y), shard))


@pytest.mark.parametrize(("one", "other"), [(True, 1), (1, 1.0), ("A", np.str_("A"))])
def test_labels_that_python_takes_for_the_same_are_one_in_all_shards(client: Any, one: Any, other: Any) -> None:
    labels = [[[label] * len(own) for own in Y[:2]] for label in (one, other)]
    rest = X[2:], [["rest" if isinstance(one, str) else 7] * len(own) for own in Y[2:]]
    tagger = SequenceTagger(client, n_features=97, loss="crf", tol=1e-9)
    tagger.fit(futures(client, *((X[:2], own) for own in labels), rest))
    both = X[:2] + X[:2] + rest[0], labels[0] + labels[1] + rest[1]
    alone = cs.SequenceTagger(n_features=97, loss="crf", tol=1e-9).fit(*both)
    assert tagger.classes_.tolist() == alone.classes_.tolist()
    assert tagger.objective_ == pytest.approx(alone.objective_, rel=1e-8)


@pytest.mark.parametrize("solver", ["lbfgs", Central(), Sharded()])
def test_shards_that_count_nothing_are_left_out(client: Any, solver: Any) -> None:
    """Their labels and features are known, as those of sentences that count nothing are on one machine."""
    weights = [0.0] * 12 + [1.0] * 8
    loss = "crf" if solver == "lbfgs" else "hinge"
    parameters: dict[str, Any] = {"n_features": 97, "loss": loss, "lam": 0.1, "tol": 1e-4}
    many = SequenceTagger(client, shards=5, solver=solver, **parameters).fit(X, Y, sample_weight=weights)
    one = cs.SequenceTagger(**parameters).fit(X, Y, sample_weight=weights)
    assert one.dual_ - 1e-12 <= many.objective_ <= one.objective_ * (1 + 2e-4)
    assert many.classes_.tolist() == one.classes_.tolist()
    with pytest.raises(ValueError, match="zero everywhere"):
        SequenceTagger(client, n_features=97).fit(X, Y, sample_weight=[0.0] * 20)


@pytest.mark.parametrize("shards", [0, -1, "4", 2.5, True])
def test_shards_are_a_whole_number(client: Any, shards: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=f"shards={shards!r}; it must be a whole number, 1 or larger"):
        SequenceTagger(client, n_features=97, shards=shards).fit(X, Y)


@pytest.mark.parametrize("scheme", [Central, Sharded])
@pytest.mark.parametrize(
    "option",
    [
        *({"kappa": -1.0}, {"kappa": 0.0}, {"kappa": np.inf}, {"kappa": np.nan}, {"kappa": "firm"}),
        *({"cached_passes": 2.5}, {"cached_passes": "some"}, {"cached_passes": -1}, {"rounds": 0}),
    ],
)
def test_options_of_schemes_are_checked_when_they_are_given(scheme: Any, option: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=f"{next(iter(option))}="):
        scheme(**option)


def test_what_is_no_piece_is_refused(client: Any) -> None:
    _, pieces = chain_pieces(20, 2)
    with pytest.raises(TypeError, match="model is a NoneType; it must be a model such as"):
        replace(pieces[0], model=None)
    with pytest.raises(TypeError, match="structure is a int; it must be a structure such as"):
        replace(pieces[0], structure=3)
    with pytest.raises(ValueError, match="zero everywhere; leave the piece out"):
        Piece(pieces[0].model, pieces[0].structure, pieces[0].y, np.zeros(pieces[0].model.n_examples))
    with pytest.raises(ValueError, match="sample_weight adds up to inf"):
        replace(pieces[0], sample_weight=np.full(pieces[0].model.n_examples, 1e308))
    with pytest.raises(TypeError, match=r"A future of a piece gave a dict; it must give a casimir\.dask\.Piece"):
        minimize([pieces[0], *futures(client, {})], HINGE, 0.1, client=client)
    with pytest.raises(TypeError, match="pieces is a NoneType; it must be a list of pieces"):
        minimize(None, HINGE, 0.1, client=client)  # type: ignore[arg-type]
    given: Any = iter(pieces)
    assert minimize(given, HINGE, 0.1, tol=0.05, client=client).gap <= 0.05


def test_an_error_in_training_is_not_taken_for_a_client_that_is_missing(client: Any) -> None:
    _, pieces = chain_pieces(20, 2)
    with client.as_current(), pytest.raises(ValueError, match="w0 has shape"):
        minimize(pieces, HINGE, 0.1, w0=np.zeros(3))


@pytest.mark.parametrize("n_features", [97, None])
def test_another_pack_in_the_place_of_the_one_that_was_opened_is_refused(
    client: Any, tmp_path: Path, n_features: int | None
) -> None:
    """As on a worker whose copy of the storage is older."""
    folder, other = tmp_path / "pack", tmp_path / "other"
    for where, labels in ((folder, Y), (other, [[*own[1:], own[0]] for own in Y])):
        cs.pack(X, n_features, y=labels, out=where)
    given = cs.open_pack(folder)
    [shard] = folder.glob("shard*")
    whole, replaced = shard.read_bytes(), False
    for lie in other.glob("shard*"):
        shutil.copyfile(lie, shard)
        replaced = shard.read_bytes() != whole
    assert replaced
    with pytest.raises(ValueError, match=r"cannot be used: .* is another shard than the one that was packed"):
        SequenceTagger(client, n_features=n_features).fit(given)
    shard.write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(ValueError, match=r"cannot be used: the checksum of .* does not match"):
        SequenceTagger(client, n_features=n_features).fit(cs.open_pack(folder))
    shard.unlink()
    with pytest.raises(ValueError, match=r"cannot be used: .* cannot be read"):
        SequenceTagger(client, n_features=n_features).fit(given)
    shard.write_bytes(whole)
    assert SequenceTagger(client, n_features=n_features, tol=0.5).fit(given).gap_ <= 0.5


@contextmanager
def worker_with(installed: str, tmp_path: Path) -> Iterator[Client]:
    """A cluster with one worker, on which this is said of the casimir that is installed."""
    (tmp_path / "casimir-0.dist-info").mkdir()
    (tmp_path / "casimir-0.dist-info" / "METADATA").write_text(installed)
    with (
        LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        options = ["--no-dashboard", "--nthreads", "1", "--local-directory", str(tmp_path / "scratch")]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        with subprocess.Popen([*command, *options], env=environment, stderr=subprocess.DEVNULL) as worker:
            try:
                client.wait_for_workers(1, timeout=120)
                yield client
            finally:
                worker.kill()


@pytest.mark.parametrize(
    ("installed", "message"),
    [
        ("Name: casimir\nVersion: 0.0.7\n", "has casimir 0.0.7, and this process has casimir"),
        ("", "has no casimir, and this process has casimir"),
    ],
)
def test_a_worker_with_another_casimir_is_named(installed: str, message: str, tmp_path: Path) -> None:
    with worker_with(installed, tmp_path) as client:
        with pytest.raises(RuntimeError, match=message):
            SequenceTagger(client, n_features=97).fit(X, Y)
        with pytest.raises(RuntimeError, match=message):
            minimize(chain_pieces(20, 2)[1], HINGE, 0.1, client=client)


def fails(held: Any) -> None:
    raise AttributeError(f"{held} has changed")


def test_where_a_task_fails_workers_that_have_come_since_are_looked_at(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = crew_of(client, chain_pieces(20, 2)[1], HINGE)
    with pytest.raises(AttributeError, match="has changed"):
        crew.each("casimir-fails", fails)
    told = client.get_versions(packages=["casimir"])
    told["client"]["packages"]["casimir"] = "9.9"
    monkeypatch.setattr(client, "get_versions", lambda **_: told)
    with pytest.raises(RuntimeError, match=r"has casimir .* and this process has casimir 9\.9"):
        crew.each("casimir-fails", fails)
