"""Over pieces: the optimum, the gap and the bits do not depend on who computes what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'casimir[dask]'")

from dask_problems import chain_pieces

import casimir as cs
from casimir.dask import Central, Piece, Sharded, minimize, work
from casimir.dask.crew import Alone, Crew
from casimir.dask.objective import SpreadObjective
from casimir.dask.optimize import OfClient, crew_of
from casimir.dask.pieces import Held


def with_loss(objective: cs.Objective, loss: Any, penalty: Any = None) -> cs.Objective:
    given = objective.penalty if penalty is None else penalty
    return cs.Objective(objective.model, objective.structure, loss, objective.y, given, objective.sample_weight)


def spread(objective: cs.Objective, pieces: list[Piece]) -> SpreadObjective:
    """The same numbers in this process alone."""
    crew = Alone([Held(piece, objective.loss, 1) for piece in pieces])
    return SpreadObjective(crew, objective.loss, objective.penalty, lambda: pieces)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loss", [cs.Log(), cs.Hinge(cs.Hamming()), cs.SoftmaxMargin(cs.Hamming())])
def test_evaluations_are_those_of_one_objective(loss: Any, weights: bool) -> None:
    one, pieces = chain_pieces(41, 5, weights)
    one = with_loss(one, loss)
    many = spread(one, pieces)
    w = np.random.default_rng(0).normal(size=one.n_params) * (np.arange(one.n_params) % 3 > 0)
    for smoothed in (None, cs.SoftmaxMargin(cs.Hamming())):
        a, b = one.evaluate(w, smoothed), many.evaluate(w, smoothed)
        assert a.smoothed == pytest.approx(b.smoothed, rel=1e-13)
        assert (a.objective is None) == (b.objective is None)
        assert a.gradient == pytest.approx(b.gradient, abs=1e-14)
        assert a.dual.value(one.penalty) == pytest.approx(b.dual.value(one.penalty), rel=1e-12)
        assert a.exact == b.exact
    assert one.value(w) == pytest.approx(many.value(w), rel=1e-13)
    assert one.log_n_outputs() == pytest.approx(many.log_n_outputs(), rel=1e-13)
    assert many.counts.full_gradients == 2 * 41
    assert many.counts.evaluations == 41


@pytest.mark.parametrize("penalty", [cs.Ridge(0.02), cs.ElasticNet(0.02, 0.3)])
def test_full_gradient_solvers_reach_the_optimum_of_one_process(client: Any, penalty: Any) -> None:
    one, pieces = chain_pieces(60, 5, weights=True)
    one = with_loss(one, cs.Log(), penalty)
    alone = cs.minimize(one, cs.LBFGS(), epochs=300, tol=1e-11)
    many = minimize(pieces, cs.Log(), penalty, tol=1e-11, client=client)
    assert many.converged
    assert many.objective == pytest.approx(alone.objective, rel=1e-10)
    assert many.w == pytest.approx(alone.w, abs=1e-6)
    assert many.dual <= alone.objective


def test_bits_depend_on_pieces_not_on_workers(client: Any) -> None:
    one, pieces = chain_pieces(60, 5)
    many = minimize(pieces, cs.Log(), one.penalty, tol=1e-6, client=client)
    crew = Alone([Held(piece, cs.Log(), 1) for piece in pieces])
    alone = cs.minimize(SpreadObjective(crew, cs.Log(), one.penalty), cs.LBFGS(), epochs=500, tol=1e-6)
    assert np.array_equal(many.w, alone.w)
    assert [row.objective for row in many.trace] == [row.objective for row in alone.trace]


@pytest.mark.parametrize("solver", [Central(rounds=3), Sharded(rounds=3)], ids=["central", "sharded"])
def test_hinge_schemes_certify_and_do_not_depend_on_workers(client: Any, solver: Any) -> None:
    one, pieces = chain_pieces(80, 4, weights=True)
    best = cs.minimize(one, cs.DualProximal(), epochs=500, tol=1e-6)
    many = minimize(pieces, one.loss, one.penalty, solver, tol=1e-3, seed=3, client=client)
    assert many.converged
    assert many.dual <= best.objective * (1 + 1e-9)
    assert many.objective >= best.dual * (1 - 1e-9)
    alone = cs.minimize(spread(one, pieces), solver, epochs=500, tol=1e-3, seed=3)
    assert np.array_equal(many.w, alone.w)
    assert many.trace[-1].oracle_calls == alone.trace[-1].oracle_calls


def test_other_structures_train_as_well(client: Any) -> None:
    rng = np.random.default_rng(0)
    features, y = [rng.normal(size=(4, 3)) for _ in range(30)], [np.array([k]) for k in rng.integers(4, size=30)]
    one = cs.Objective(cs.LinearCandidateModel(features), cs.Candidates(), cs.Hamming(), y, 0.1)
    pieces = [Piece(cs.LinearCandidateModel(features[a : a + 10]), cs.Candidates(), y[a : a + 10]) for a in (0, 10, 20)]
    best = cs.minimize(one, cs.DualProximal(), epochs=500, tol=1e-9)
    for solver in (Central(rounds=2), Sharded(rounds=2)):
        found = minimize(pieces, one.loss, one.penalty, solver, tol=1e-3, client=client)
        assert best.dual - 1e-9 <= found.objective <= best.objective * (1 + 2e-3)


@pytest.mark.parametrize(
    "solver", [cs.LBFGS(), Central(rounds=2), Sharded(rounds=2)], ids=["lbfgs", "central", "sharded"]
)
def test_a_client_that_dies_goes_on_from_its_checkpoint(tmp_path: Any, solver: Any) -> None:
    one, pieces = chain_pieces(60, 3)
    loss = cs.Log() if isinstance(solver, cs.LBFGS) else one.loss
    one = with_loss(one, loss)
    whole = cs.minimize(spread(one, pieces), solver, epochs=12, tol=1e-12)
    kept = cs.Checkpoint(tmp_path / "kept", every_seconds=0)
    cs.minimize(spread(one, pieces), solver, epochs=5, tol=1e-12, checkpoint=kept)
    rest = cs.minimize(spread(one, pieces), solver, epochs=12, tol=1e-12, checkpoint=kept)
    assert np.array_equal(whole.w, rest.w)
    assert whole.objective == rest.objective
    with pytest.raises(ValueError, match="another training data"):
        cs.minimize(spread(one, pieces[:2]), solver, epochs=12, tol=1e-12, checkpoint=kept)


def test_dual_variables_that_are_lost_are_made_again() -> None:
    one, pieces = chain_pieces(60, 3)
    whole = cs.minimize(spread(one, pieces), Sharded(rounds=4), epochs=8, tol=1e-12)
    many = spread(one, pieces)
    team, each, calls = many.crew, many.crew.each, []

    def forgetful(name: str, *args: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) % 13 == 0:
            team.held[len(calls) % 3] = Held(*team.held[len(calls) % 3].__reduce__()[1])
        return each(name, *args, **named)

    team.each = forgetful
    again = cs.minimize(many, Sharded(rounds=4), epochs=8, tol=1e-12)
    assert calls.count("casimir-restore") >= 3
    assert np.array_equal(whole.w, again.w)
    assert whole.dual == again.dual


def test_a_round_asked_twice_is_done_once() -> None:
    from casimir.dask.sharded import Todo, steps
    from casimir.dask.vectors import Sent

    one, pieces = chain_pieces(20, 1)
    held, todo = Held(pieces[0], one.loss, 1), Todo(0, 0, 1, 1, 1.0, 1.0)
    given = Sent.of(np.zeros(one.n_params)), "run", 0, todo, 0, 1.0
    first = steps(held, *given)
    assert first.ell > 0.0
    assert steps(held, *given) is first
    assert steps(held, given[0], "run", 5, todo, 0, 1.0).missing


def test_solvers_that_step_through_examples_are_refused(client: Any) -> None:
    one, pieces = chain_pieces(20, 2)
    for solver in (cs.DualProximal(), cs.SVRG(), cs.SGD()):
        with pytest.raises(TypeError, match="lie on many workers"):
            minimize(pieces, one.loss, one.penalty, solver, client=client)
    with pytest.raises(TypeError, match="Central is for Hinge"):
        minimize(pieces, cs.Log(), one.penalty, Central(), client=client)
    with pytest.raises(TypeError, match="needs Ridge"):
        minimize(pieces, one.loss, cs.ElasticNet(0.1, 0.5), Sharded(), client=client)
    with pytest.raises(TypeError, match="which needs the examples there"):
        minimize([client.submit(lambda: pieces[0])], one.loss, one.penalty, Central(), client=client)
    with pytest.raises(TypeError, match=r"on one machine use DualProximal"):
        cs.minimize(one, Sharded())


def test_pieces_that_do_not_fit_are_refused(client: Any) -> None:
    _, pieces = chain_pieces(20, 2)
    other = Piece(cs.LinearChainModel(cs.pack([[["a"]]], n_features=5), 4), cs.Chain(4), [[0]])
    with pytest.raises(ValueError, match="Shard 1 has"):
        minimize([pieces[0], other], cs.Log(), 0.1, client=client)
    with pytest.raises(TypeError, match=r"pieces\[0\] is a int"):
        minimize([3], cs.Log(), 0.1, client=client)
    with pytest.raises(ValueError, match="at least one"):
        minimize([], cs.Log(), 0.1, client=client)


def test_a_worker_without_enough_memory_is_told_before_training(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, pieces = chain_pieces(20, 2)
    known = Crew.workers

    def small(crew: Crew) -> dict[str, Any]:
        return {address: {**one, "memory_limit": 1000} for address, one in known(crew).items()}

    monkeypatch.setattr(Crew, "workers", small)
    with pytest.raises(
        MemoryError, match=r"may use 0 MB, and its shards and \d vectors of 412 weights per thread need"
    ):
        crew_of(client, pieces, cs.Log())


def test_pieces_lost_for_good_are_sent_again(client: Any) -> None:
    _, pieces = chain_pieces(20, 2)
    crew = crew_of(client, pieces, cs.Log())
    before = crew.total("casimir-value", work.evaluate, np.zeros(crew.n_params), None, False)
    client.cancel(crew.held, force=True)
    after = crew.total("casimir-value", work.evaluate, np.zeros(crew.n_params), None, False)
    assert crew.traffic.redone >= 1
    assert before.objective == after.objective
    assert isinstance(crew._origins[0], OfClient)
