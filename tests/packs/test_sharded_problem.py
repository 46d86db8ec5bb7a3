"""A problem in shards is the problem of all its sentences: the same passes, steps and dual blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_packs import in_memory, packed, sentences, small_shards  # noqa: F401

import casimir as cs
from casimir._state_memory import StateMemory
from casimir.estimators.packed_fit import _model, _places
from casimir.models import LinearChainModel
from casimir.penalties import Proximal, Ridge
from casimir.problems import ComposedProblem
from casimir.problems.base import DualIterate
from casimir.problems.sharded import ShardedProblem
from casimir.solvers.sgd import sgd_epoch
from casimir.solvers.svrg import svrg_epoch

CLOSE = {"rtol": 0.0, "atol": 1e-10}
LOSSES = {"hinge": cs.Hinge(cs.Hamming()), "crf": cs.Log(), "l2": cs.FenchelYoung(cs.L2(), 0.3, cs.Hamming())}

pytestmark = pytest.mark.usefixtures("small_shards")


class Pair:
    """The same objective on a pack and in memory."""

    def __init__(
        self, folder: Path, loss: Any = "hinge", weights: Any = None, limit: int | None = None, enter: Any = None
    ) -> None:
        X, y = sentences(valued=True)
        self.pack = packed(folder, X, y, sample_weight=weights)
        classes = tuple(sorted(self.pack.labels or ()))
        self.state = StateMemory(limit)
        self.model = _model(self.pack, len(classes), self.state)
        if enter is not None:
            self.model = replace(self.model, enter=enter)
        flat, names, shares = in_memory(self.pack)
        place = {name: k for k, name in enumerate(classes)}
        truth = [[place[name] for name in own] for own in names]
        loss, chain = LOSSES[loss], cs.Chain(len(classes))
        outputs = _places(self.pack, classes, self.state)
        self.there = cs.Objective(self.model, chain, loss, outputs, 0.05, shares)
        self.here = cs.Objective(LinearChainModel(flat, len(classes)), chain, loss, truth, 0.05, shares)
        self.rng = np.random.default_rng(0)
        self.w = self.here.model.zeros()
        self.w[:] = self.rng.normal(size=len(self.w)) * (self.w.reshape(-1, 4) == 0.0).ravel()

    @property
    def problems(self) -> tuple[Any, Any]:
        smoothing = self.here.loss.smoothing
        there, here = self.there.problem(smoothing), self.here.problem(smoothing)
        assert isinstance(there, ShardedProblem)
        return there, here


@pytest.fixture(params=[None, 0], ids=["anonymous", "files"])
def limit(request: pytest.FixtureRequest) -> int | None:
    found: int | None = request.param
    return found


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_full_passes_are_those_of_all_sentences(tmp_path: Path, loss: str, weighted: bool, limit: int | None) -> None:
    weights = np.random.default_rng(2).integers(0, 3, size=60).astype(float) if weighted else None
    pair = Pair(tmp_path, loss, weights, limit)
    assert pair.there.n_active == pair.here.n_active
    there, here = (one.evaluate(pair.w, keep=True) for one in (pair.there, pair.here))
    for name in ("objective", "smoothed", "exact"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), **CLOSE)
    np.testing.assert_allclose(there.gradient, here.gradient, **CLOSE)
    np.testing.assert_allclose(there.marginals, here.marginals, **CLOSE)
    np.testing.assert_allclose(there.dual.ell, here.dual.ell, **CLOSE)
    np.testing.assert_allclose(pair.there.value(pair.w), pair.here.value(pair.w), **CLOSE)
    assert (pair.state.in_files > 0) == (limit == 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_stochastic_epochs_take_the_same_steps(tmp_path: Path, loss: str) -> None:
    pair = Pair(tmp_path, loss)
    order = pair.there.permutation(np.random.default_rng(1))
    penalty, n = Ridge(0.05), len(order)
    found: dict[str, list[Any]] = {"sgd": [], "svrg": []}
    for objective, problem in zip((pair.there, pair.here), pair.problems, strict=True):
        w = pair.w.copy()
        seen = sgd_epoch(problem, order, np.full(n, 0.01), penalty, objective.loss, w)
        found["sgd"] += [(w, seen.loss)]
        at = objective.evaluate(pair.w, keep=True)
        w = pair.w.copy()
        mean = svrg_epoch(problem, order, 0.01, penalty, objective.loss, at.gradient, at.marginals, w)
        found["svrg"] += [(w, mean)]
    for name in ("sgd", "svrg"):
        for there, here in zip(*found[name], strict=True):
            np.testing.assert_allclose(there, here, **CLOSE)


def iterate(problem: Any, w: Any, averages: Any = None) -> DualIterate:
    penalty = Proximal(Ridge(0.05), 0.1, np.zeros(len(w)))
    return DualIterate(penalty, w, None, averages)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
def test_dual_passes_take_the_same_steps(tmp_path: Path, weighted: bool, averaged: bool, limit: int | None) -> None:
    weights = np.random.default_rng(2).integers(0, 3, size=60).astype(float) if weighted else None
    pair, rng = Pair(tmp_path, "hinge", weights, limit), np.random.default_rng(1)
    both = [problem.dual_blocks() for problem in pair.problems]
    at = [
        iterate(problem, pair.here.model.zeros(), blocks.new_average(pair.here.n_params) if averaged else None)
        for problem, blocks in zip(pair.problems, both, strict=True)
    ]
    for turn in range(6):
        order, skip = pair.there.permutation(rng), 0.0 if turn < 2 else 0.5
        gaps = [b.exact_pass(order, True, 2, skip, i) for b, i in zip(both, at, strict=True)]
        np.testing.assert_allclose(gaps[0].gap, gaps[1].gap, **CLOSE)
        assert gaps[0].oracle_calls == gaps[1].oracle_calls
        cached = [b.cached_pass(order, 2, skip, i) for b, i in zip(both, at, strict=True)]
        np.testing.assert_allclose(*cached, **CLOSE)
        np.testing.assert_allclose(at[0].w, at[1].w, **CLOSE)
        np.testing.assert_allclose(both[0].ell, both[1].ell, **CLOSE)
        if averaged:
            for name in ("q", "mass", "ell_sum"):
                np.testing.assert_allclose(*(getattr(i.average, name) for i in at), **CLOSE)
    assert both[0].cached_outputs == both[1].cached_outputs > 60
    assert (pair.state.in_files > 0) == (limit == 0)


@pytest.mark.parametrize(("loss", "mu"), [("crf", 1.0), ("hinge", 0.0)])
def test_potential_passes_take_the_same_steps(tmp_path: Path, loss: str, mu: float, limit: int | None) -> None:
    pair, rng = Pair(tmp_path, loss, limit=limit), np.random.default_rng(1)
    both = [problem.potential_blocks(mu) for problem in pair.problems]
    at = [iterate(problem, pair.here.model.zeros()) for problem in pair.problems]
    for turn in range(5):
        order, skip = pair.there.permutation(rng), 0.0 if turn < 2 else 0.5
        found = [b.step_pass(order, skip, i) for b, i in zip(both, at, strict=True)]
        np.testing.assert_allclose(found[0].gap, found[1].gap, **CLOSE)
        assert found[0].oracle_calls == found[1].oracle_calls
        np.testing.assert_allclose(at[0].w, at[1].w, **CLOSE)
        np.testing.assert_allclose(both[0].ell, both[1].ell, **CLOSE)
    assert (pair.state.in_files > 0) == (limit == 0)


def test_single_examples_and_decoding_are_those_of_their_shards(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    there, here = pair.problems
    for i in (0, 19, 31, 59):
        answers = [problem.oracle(i, pair.w, cs.Hard(), 0.0) for problem in (there, here)]
        np.testing.assert_allclose(answers[0].marginals, answers[1].marginals, **CLOSE)
        np.testing.assert_allclose(there.truth(i), here.truth(i), **CLOSE)
        difference = answers[0].marginals - there.truth(i)
        out = [np.zeros_like(pair.w) for _ in range(2)]
        for problem, one in zip((there, here), out, strict=True):
            problem.scatter(i, difference, 0.3, one)
        np.testing.assert_allclose(*out, **CLOSE)
        norms = [problem.squared_norm(i, difference, np.zeros_like(pair.w)) for problem in (there, here)]
        np.testing.assert_allclose(*norms, **CLOSE)
    for a, b in zip(there.decode(pair.w), here.decode(pair.w), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_model_in_shards_is_the_model_of_all(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    there, here = pair.there.model.scores(pair.w), pair.here.model.scores(pair.w)
    np.testing.assert_allclose(there.nodes, here.nodes, **CLOSE)
    chosen = [41, 3, 17]
    some = [one.model.scores(pair.w, chosen) for one in (pair.there, pair.here)]
    np.testing.assert_allclose(some[0].nodes, some[1].nodes, **CLOSE)
    np.testing.assert_allclose(
        pair.there.model.adjoint(some[0], chosen), pair.here.model.adjoint(some[1], chosen), **CLOSE
    )
    composed = pair.there.term.composed
    assert isinstance(composed, ComposedProblem)


def test_an_epoch_comes_to_every_shard_once_and_knows_the_next(tmp_path: Path) -> None:
    entered: list[tuple[int, int | None]] = []
    pair = Pair(tmp_path, enter=lambda shard, following: entered.append((shard, following)))
    there, _ = pair.problems
    order = pair.there.permutation(np.random.default_rng(1))
    shards = [int(s) for s in np.searchsorted(pair.model.starts, order, side="right") - 1]
    ways = [s for k, s in enumerate(shards) if k == 0 or s != shards[k - 1]]
    assert sorted(ways) == list(range(len(pair.pack.shards)))
    expected = list(zip(ways, [*ways[1:], None], strict=True))
    sgd_epoch(there, order, np.full(len(order), 0.01), Ridge(0.05), pair.there.loss, pair.w.copy())
    assert entered == expected
    entered.clear()
    there.dual_blocks().exact_pass(order, True, 2, 0.0, iterate(there, pair.w.copy()))
    assert entered == expected
    entered.clear()
    pair.there.value(pair.w)
    assert [shard for shard, _ in entered] == list(range(len(pair.pack.shards)))


def test_a_fault_on_entering_a_shard_ends_the_epoch(tmp_path: Path) -> None:
    def fail(shard: int, following: int | None) -> None:
        if following is None:
            raise ValueError("the last shard")

    pair = Pair(tmp_path, enter=fail)
    there, _ = pair.problems
    order = pair.there.permutation(np.random.default_rng(1))
    with pytest.raises(ValueError, match="the last shard"):
        sgd_epoch(there, order, np.full(len(order), 0.01), Ridge(0.05), pair.there.loss, pair.w.copy())


def test_draws_with_replacement_come_shard_by_shard(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    drawn = pair.there.draw(np.random.default_rng(0), 300)
    shards = np.searchsorted(pair.model.starts, drawn, side="right") - 1
    assert len(np.flatnonzero(np.diff(shards))) == len(pair.pack.shards) - 1
    np.testing.assert_array_equal(np.sort(drawn), np.sort(np.random.default_rng(0).integers(60, size=300)))


def test_what_shards_cannot_be_is_told(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    with pytest.raises(TypeError, match="in shards"):
        cs.Objective(pair.model, cs.Chain(9), cs.Log(), _places(pair.pack, tuple("ADNV"), pair.state), 0.1)
