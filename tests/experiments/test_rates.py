"""Rates: calls are read from the right rows, slopes are those of the traces, the family's constants are true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiment_cases import EXPERIMENT
from experiment_records import cell, record, results

from casimir import experiments as ex
from casimir.experiments.rates import Place, Point, Rates, calls_to, slope, sweep
from casimir.experiments.results import Results, load_results
from casimir.experiments.sources.classes import A_L2, CLASSES, LONGEST, classes, draw
from casimir.smoothing import L2, Entropy
from casimir.solvers.bounds import a_omega

EPS = (0.1, 0.03, 0.01, 0.003, 0.001)
AT = Place(1000, 1e-3)
PLACES = [AT, *(Place(n, AT.lam) for n in (100, 300, 3000)), *(Place(AT.n, lam) for lam in (1e-2, 3e-3, 3e-4))]
LOW = 0.25


def made_up(a: float, b: float, c: float, full_share: float = 0.5) -> Results:
    """N(eps, n, lam) = 50 eps^-a n^b lam^-c steps, and full_share as many calls of full gradients."""
    cells, records = [], {}
    for place in PLACES:
        case, scale = f"made-up {place}", 50.0 * place.n**b * place.lam**-c
        cells.append(cell(case, f"{place.lam * place.n:g}/n", "one", "One"))
        calls = np.geomspace(scale, scale * 2000.0**a, 4000)
        objective = LOW + (scale / calls) ** (1.0 / a)
        records[case, "one"] = [record(place.n, objective=objective, steps=calls, full_gradients=full_share * calls)]
    return results(cells, records, LOW, LOW + 1e-6)


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 0.0, 1.0), (0.5, 0.5, 0.5), (0.5, 1.0, 0.5)])
def test_slopes_are_recovered_from_traces(a: float, b: float, c: float) -> None:
    view = Rates(AT, EPS, {"One": lambda eps, n, lam: 7.0 * eps**-a * n**b * lam**-c})
    (row,) = view.rows(made_up(a, b, c))
    for axis, expected in (("eps", a), ("n", b), ("lam", c)):
        for count in ("paper", "full"):
            found = row.slopes[axis, count]
            assert found.seen == pytest.approx(expected, abs=0.01)
            assert found.theory == pytest.approx(expected, abs=1e-9)
            assert found.points == {"eps": 5, "n": 4, "lam": 4}[axis]
    assert row.slopes["n", "full"].eps == row.eps == EPS[-1]
    assert row.calls["full"] == pytest.approx(1.5 * row.calls["paper"])
    assert row.calls["paper"] == pytest.approx(50.0 * 1000.0**a * 1000.0**b * 1000.0**c, rel=0.01)
    assert row.bound == pytest.approx(7.0 * 1000.0**a * 1000.0**b * 1000.0**c)
    assert [f"{value:.2f}" for value in (a, a, a)] == row.grids([row])[0].lines[0][1:4]


def test_calls_are_those_of_the_first_row_that_is_good_enough() -> None:
    one = record(10, objective=[1.0, 0.4, 0.5, 0.3], steps=[10, 20, 30, 40], searches=[5] * 4, full_gradients=[7] * 4)
    assert calls_to(one, "paper", LOW, 0.16) == (25.0, False)
    assert calls_to(one, "full", LOW, 0.16) == (32.0, False)
    assert calls_to(one, "full", LOW, 0.75) == (22.0, True)
    assert calls_to(one, "full", LOW, 0.04) is None


def test_a_run_that_diverged_reached_nothing() -> None:
    assert calls_to(record(10, "diverged", objective=[0.3], steps=[10]), "full", LOW, 0.1) is None


def test_a_method_without_steps_has_no_count_without_full_gradients() -> None:
    one = record(10, objective=[1.0, 0.3], searches=[3, 3], full_gradients=[10, 20])
    assert calls_to(one, "paper", LOW, 0.1) is None
    assert calls_to(one, "full", LOW, 0.1) == (23.0, False)


def test_what_the_first_row_reached_is_in_no_fit() -> None:
    points = [Point(eps, 10, 0.1, eps**-0.5, False) for eps in EPS[2:]]
    early = [Point(eps, 10, 0.1, 100.0, True) for eps in EPS[:2]]
    assert slope(early + points, "eps") == pytest.approx(0.5)
    assert slope(early + points[:2], "eps") is None


def test_a_sweep_is_read_at_the_smallest_eps_that_most_places_reached() -> None:
    places = [(100, EPS[:4]), (1000, EPS[:3]), (3000, EPS[:3])]
    points = [Point(eps, n, AT.lam, 1.0, False) for n, reached in places for eps in reached]
    assert [(p.n, p.eps) for p in sweep(points, "n", AT)] == [(100, 0.01), (1000, 0.01), (3000, 0.01)]


def test_methods_that_are_given_eps_are_read_there_alone() -> None:
    cells = [cell("made-up", "1/n", f"one-{eps:g}", "One", eps=eps) for eps in EPS[:3]]
    lows = {eps: LOW + 0.5 * eps for eps in EPS[:3]}
    records = {
        ("made-up", f"one-{eps:g}"): [record(1000, objective=[1.0, lows[eps]], steps=[1000, 1000 / eps])]
        for eps in EPS[:3]
    }
    view = Rates(AT, EPS)
    line = view.line(results(cells, records, LOW, LOW), "One", "paper", "eps")
    assert [(p.eps, round(p.calls)) for p in line] == [(eps, round(1000 / eps)) for eps in EPS[:3]]


def test_a_place_counts_where_all_seeds_came_there() -> None:
    runs = [record(1000, objective=[1.0, 0.3], steps=[1000, 4000]), record(1000, objective=[1.0, 0.9], steps=[1, 2])]
    found = results([cell("made-up", "1/n", "one", "One")], {("made-up", "one"): runs}, LOW, LOW)
    assert Rates(AT, EPS).line(found, "One", "paper", "eps") == []


def test_the_spread_of_a_slope_is_that_of_the_slopes_of_single_seeds() -> None:
    one, other = made_up(1.0, 0.0, 1.0), made_up(1.2, 0.0, 1.0)
    both = {key: [*one.records[key], *other.records[key]] for key in one.records}
    (row,) = Rates(AT, EPS).rows(results(one.cells, both, LOW, LOW + 1e-6))
    found = row.slopes["eps", "full"]
    assert (found.seen, found.spread) == (pytest.approx(1.1, abs=0.01), pytest.approx(0.2 / 2**0.5, abs=0.01))
    assert row.slopes["n", "full"].spread == pytest.approx(0.0, abs=0.01)
    assert row.grids([row])[0].lines[0][3] == "1.10 ± 0.14"
    (row,) = Rates(AT, EPS).rows(one)
    assert row.slopes["eps", "full"].spread is None


def test_the_place_of_a_part_without_the_reference_is_that_of_its_first_case() -> None:
    found = made_up(1.0, 0.0, 1.0)
    assert Rates(AT, EPS).place(found) == AT
    assert Rates(Place(77, 1.0), EPS).place(found) == AT


def test_the_picture_has_a_row_per_count_and_a_column_per_axis() -> None:
    figures = Rates(AT, EPS).figures(made_up(1.0, 0.0, 1.0))
    panels = figures["calls"].axes
    assert [panel.get_xlabel() for panel in panels] == ["", "", "", "1/ε", "n", "1/λ"]
    assert all(panel.get_xscale() == panel.get_yscale() == "log" for panel in panels)
    assert len(Rates(AT, EPS, axes=("eps", "n")).figures(made_up(1.0, 0.0, 1.0))["calls"].axes) == 4


def test_the_constants_of_the_family(tmp_path: Path) -> None:
    x, y = draw(50)
    rows = [np.kron(np.eye(CLASSES) - np.eye(CLASSES)[label], one) for one, label in zip(x, y, strict=True)]
    assert max((r**2).sum(axis=1).max() for r in rows) == pytest.approx(LONGEST)
    assert max(np.linalg.norm(r, 2) ** 2 for r in rows) == pytest.approx(A_L2)
    objective = classes(50).load(ex.Places(None, tmp_path)).objective
    assert a_omega(objective, Entropy()) == pytest.approx(LONGEST)
    assert a_omega(objective, L2(k=CLASSES)) == pytest.approx(CLASSES * LONGEST)
    assert np.array_equal(np.concatenate(objective.y), y)


def test_larger_families_begin_with_the_smaller_ones() -> None:
    (x, y), (more, more_y) = draw(20), draw(60)
    assert np.array_equal(more[:20], x)
    assert np.array_equal(more_y[:20], y)
    assert set(draw(300)[1]) == set(range(CLASSES))


def test_a_run_ends_at_its_target(tmp_path: Path) -> None:
    ex.run(replace(EXPERIMENT, target=0.02, passes=500, seeds=1), out=tmp_path, only="method=bcfw,sgd,lam=10/n")
    (found,) = load_results(tmp_path)
    best = found.optima["classes 10/n"]
    assert best is not None
    for method in ("bcfw", "sgd"):
        (run,) = found.records["classes 10/n", method]
        excess = run.column("objective") - best.low
        assert excess[-1] <= 0.02 + (best.high - best.low)
        assert (excess[:-1] > 0.02).all()
        assert run.settings["target"] == 0.02


def test_a_method_with_eps_ends_there(tmp_path: Path) -> None:
    method = ex.Method("bcfw", _bcfw_for, fixed={"eps": 0.2})
    one = replace(EXPERIMENT, methods=(method,), target=0.02, passes=500, seeds=1)
    ex.run(one, out=tmp_path, only="lam=10/n")
    (run,) = load_results(tmp_path)[0].records["classes 10/n", "bcfw"]
    assert run.settings["target"] == 0.2


def _bcfw_for(size: ex.Size, eps: float) -> object:
    from casimir import BCFW

    return BCFW()


def test_a_run_ends_after_so_many_calls_of_all_kinds(tmp_path: Path) -> None:
    ex.run(replace(EXPERIMENT, calls=200, passes=500, seeds=1), out=tmp_path, only="method=casimir,lam=10/n")
    (run,) = load_results(tmp_path)[0].records["classes 10/n", "casimir"]
    calls = run.column("steps") + run.column("searches") + run.column("full_gradients")
    assert calls[-1] >= 200
    assert (calls[:-1] < 200).all()
