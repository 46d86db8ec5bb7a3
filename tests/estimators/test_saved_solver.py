"""A saved tagger trains again with the solver it was given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators.test_sequence_tagger import X, Y
from sklearn.base import clone

import casimir as cs
import casimir.solvers
from casimir.estimators.saved_solver import decode_solver, encode_solver

GOLDEN = Path(__file__).parents[1] / "golden" / "tagger-1"
SOLVERS = [
    cs.BCFW(pairwise=True, cached_passes=3, skip_below=0.25),
    cs.SGD(cs.StepDecay(0.5, t0=40), averaging="none", smoothing=cs.L2(k=7), mu=0.1),
    cs.SGD(cs.Pegasos()),
    cs.SVRG(cs.L2(), mu=1e-3, lipschitz=2.5, steps=30),
    cs.LBFGS(cs.Entropy(), memory=4),
    cs.CuttingPlanes(step=0.5, planes=7),
    cs.ExcessiveGap(lipschitz=3.0),
    cs.Casimir.paper("const", cs.SVRG(cs.Entropy(), mu=0.1), warm_start="extrapolation"),
    cs.ProxLinear(cs.Casimir(cs.SVRG(mu=0.3))),
]


@dataclass(frozen=True)
class Mine:
    """A solver of somebody else."""

    gamma: float = 0.5

    def run(self, objective: Any, w0: Any, monitor: Any, rng: Any) -> None:
        monitor.epoch(w0)


class Variant(cs.BCFW):
    """It has the fields of BCFW, and not its name."""


def through_json(solver: Any) -> Any:
    return decode_solver(json.loads(json.dumps(encode_solver(solver), allow_nan=False)))


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_solvers_come_back_equal_with_all_that_they_hold(solver: Any) -> None:
    found = through_json(solver)
    assert type(found) is type(solver)
    assert found == solver


def test_every_solver_of_the_library_can_be_saved() -> None:
    kinds = [getattr(casimir.solvers, name) for name in casimir.solvers.__all__]
    solvers = [kind() for kind in kinds if isinstance(kind, type) and hasattr(kind, "run")]
    assert len(solvers) >= 6
    for solver in solvers:
        assert isinstance(encode_solver(solver), dict)
        assert through_json(solver) == solver


def test_numbers_of_numpy_become_plain_ones() -> None:
    assert through_json(cs.SVRG(mu=np.float64(0.5), steps=np.int64(3))) == cs.SVRG(mu=0.5, steps=3)


@pytest.mark.parametrize("name", ["auto", "lbfgs", "BCFW(pairwise=True)"])
def test_names_and_texts_of_older_models_stay_as_they_are(name: str) -> None:
    assert encode_solver(name) == decode_solver(name) == name


@pytest.mark.parametrize(
    "solver", [Mine(), Variant(), cs.SVRG(smoothing=Mine()), cs.SVRG(lipschitz=float("inf"))], ids=repr
)
def test_what_is_not_of_the_library_is_saved_as_its_text(solver: Any) -> None:
    assert encode_solver(solver) == repr(solver)


@pytest.mark.parametrize(
    "saved",
    [
        {"class": "Scores"},  # a dataclass, but of another module
        {"class": "_Levels"},
        {"class": "minimize"},
        {"class": "Trace"},
        {"class": "NewSolver", "steps": 3},
        {"class": "SVRG", "new_field": None},
        {"class": "SVRG", "mu": -1.0},
        {"class": "SVRG", "mu": "0.1"},
        {"class": ["SVRG"]},
        {},
    ],
    ids=repr,
)
def test_what_cannot_be_made_is_a_text_that_fit_refuses(saved: Any) -> None:
    text = decode_solver(saved)
    assert isinstance(text, str)
    with pytest.raises(ValueError, match="must be one of 'auto'"):
        cs.SequenceTagger(solver=text).fit(X, Y)


def test_the_text_tells_what_the_solver_was() -> None:
    saved = {"class": "New", "inner": {"class": "SVRG", "mu": None}, "kind": "a"}
    assert decode_solver(saved) == "New(inner=SVRG(mu=None), kind='a')"


@pytest.mark.parametrize("solver", [cs.BCFW(pairwise=True, cached_passes=2), cs.SGD(cs.Constant(0.1)), "dual"])
def test_a_loaded_tagger_trains_again_to_the_same_weights(tmp_path: Path, solver: Any) -> None:
    tagger = cs.SequenceTagger(solver=solver, tol=0.5, n_features=64).fit(X, Y)
    tagger.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert loaded.get_params() == tagger.get_params()
    np.testing.assert_array_equal(clone(loaded).fit(X, Y).coef_, tagger.coef_)


def test_a_tagger_with_a_foreign_solver_predicts_and_asks_for_a_solver_to_train_again(tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(solver=Mine(), tol=1.0, n_features=64).fit(X, Y)
    tagger.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert loaded.solver == "Mine(gamma=0.5)"
    assert loaded.predict(X) == tagger.predict(X)
    with pytest.raises(ValueError, match=r"solver='Mine\(gamma=0.5\)'; it must be one of .* or a solver"):
        loaded.fit(X, Y)
    loaded.set_params(solver=Mine()).fit(X, Y)


def test_a_model_with_its_solver_as_a_text_is_read_and_trains_with_a_new_one() -> None:
    tokens = [[{"word": "Ada"}, {"word": "slept"}], [{"word": "Bob"}, {"word": "slept"}]]
    tagger = cs.load(GOLDEN)
    assert tagger.solver.startswith("Casimir(inner=SVRG(smoothing=Entropy(), mu=0.5")
    assert tagger.predict(tokens) == [["PER", "O"], ["PER", "O"]]
    assert (tagger.tol, tagger.n_features, list(tagger.classes_)) == (0.6, 16, ["O", "PER"])
    assert tagger.set_params(solver="auto").fit(tokens, tagger.predict(tokens)).predict(tokens)[0] == ["PER", "O"]
