"""Plots and tables say what the records say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from experiment_cases import EXPERIMENT, records
from experiment_records import cell, record, results

from casimir import experiments as ex
from casimir.experiments.counts import measured
from casimir.experiments.curves import curve
from casimir.experiments.grids import markdown
from casimir.experiments.manifest import cell_of, update
from casimir.experiments.plots import MOST_BYTES, _variants, figure_of
from casimir.experiments.results import load_results
from casimir.experiments.selection import narrowed
from casimir.experiments.tables import Spread, _text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("results")
    ex.run(EXPERIMENT, out=target)
    return target


def test_table_is_that_of_the_records(folder: Path) -> None:
    mine = [
        r
        for r in records(folder).values()
        if r.settings["lam"] == "10/n" and r.settings["solver"].startswith("Casimir") and r.settings["passes"] == 6
    ]
    on_case = [r for r in records(folder).values() if r.settings["lam"] == "10/n"]
    low = max(r.column("dual").max() for r in on_case)
    high = min(r.column("objective").min() for r in on_case)
    star, n = 0.5 * (low + high), 30
    ends, early, lengths = [], [], []
    for r in mine:
        calls = (r.column("steps") + r.column("searches")) / n
        ends.append(r.column("objective")[calls <= 6][-1])
        lengths.append(r.column("length")[calls <= 6][-1])
        early.append(r.column("objective")[calls + r.column("full_gradients") / n <= 6][-1])
    row = next(row for row in ex.table(folder) if (row.case, row.method) == ("classes 10/n", "casimir"))
    assert row.optimum is not None
    assert (row.optimum.low, row.optimum.high) == (low, high)
    assert (high - low) / high <= 1e-4
    assert row.runs == len(mine) == 3
    assert row.error == pytest.approx(((np.mean(ends) - star) / star, np.std(ends, ddof=1) / star))
    assert row.error_all == pytest.approx(((np.mean(early) - star) / star, np.std(early, ddof=1) / star))
    assert row.metrics["length"] == pytest.approx((np.mean(lengths), np.std(lengths, ddof=1)))
    assert row.error_all[0] > row.error[0]  # full gradients cost it half of its budget


def test_markdown_has_a_line_per_method(folder: Path) -> None:
    text = markdown(ex.table(folder))
    assert text.count("###") == 2
    assert text.count("\n| BCFW | 3 |") == 2


def test_curves_are_means_over_seeds(folder: Path) -> None:
    found = load_results(folder)[0].records["classes 1/n", "bcfw"]
    line = curve(found, "objective", "paper")
    assert line is not None
    values = np.array([r.column("objective") for r in found])
    assert line.x.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.allclose(line.mean, values.mean(axis=0))
    assert np.allclose(line.std, values.std(axis=0, ddof=1))
    relative = curve(found, "objective", "paper", zero=0.25)
    assert relative is not None
    assert np.allclose(relative.mean, (line.mean - 0.25) / 0.25)


def test_the_three_measures(folder: Path) -> None:
    record = load_results(folder)[0].records["classes 1/n", "casimir"][0]
    steps, full = record.column("steps") + record.column("searches"), record.column("full_gradients")
    assert full[-1] > 0
    assert np.array_equal(measured(record, "paper"), steps / 30)
    assert np.array_equal(measured(record, "full"), (steps + full) / 30)
    assert np.array_equal(measured(record, "cpu"), record.column("cpu_seconds"))


def test_plots_are_written_small_and_always_the_same(folder: Path, tmp_path: Path) -> None:
    files = ex.plot(folder, tmp_path / "a")
    assert [f.name for f in files] == [f"tiny-{c}.{e}" for c in ("objective", "length") for e in ("png", "svg")]
    assert all(0 < file.stat().st_size < MOST_BYTES for file in files)
    again = ex.plot(folder, tmp_path / "b")
    assert [f.read_bytes() for f in files] == [f.read_bytes() for f in again]
    text = "".join(ElementTree.parse(files[1]).getroot().itertext())
    assert all(label in text for label in ("SGD", "BCFW", "casimir", "classes, λ = 10/n", "F* in [", "CPU seconds"))
    assert files[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_axis_of_the_papers_count_ends_at_the_budget() -> None:
    """The run's last row is far beyond it; counts with full gradients and seconds show all of it."""
    one = record(10, steps=[50, 100, 300], objective=[8.0, 4.0, 2.0], cpu_seconds=[1.0, 2.0, 6.0])
    figure = figure_of(results([cell("x 1/n", "1/n", "a", "A")], {("x 1/n", "a"): [one]}, 1.0, 1.0), "objective")
    paper, full, cpu = (panel.get_xlim() for panel in figure.axes)
    assert paper == (0.0, 10.5)
    assert full[1] > 30
    assert cpu[1] > 6


def test_more_seeds_join_those_that_are_there(tmp_path: Path) -> None:
    part = narrowed(EXPERIMENT, "method=bcfw")
    ex.run(part, out=tmp_path, seeds=1)
    ex.run(part, out=tmp_path, seeds=2)
    ex.run(EXPERIMENT, out=tmp_path, seeds=1, only="method=sgd,lam=1/n")
    ex.run(part, out=tmp_path, seeds=1)
    found = {(row.case, row.method): row.runs for row in ex.table(tmp_path)}
    assert found == {("classes 1/n", "SGD"): 1, ("classes 1/n", "BCFW"): 2, ("classes 10/n", "BCFW"): 2}


def test_cells_of_other_methods_stay(tmp_path: Path) -> None:
    for only in ("method=bcfw", "method=sgd,lam=1/n"):
        ex.run(EXPERIMENT, out=tmp_path, seeds=1, only=only)
    found = {(row.case, row.method) for row in ex.table(tmp_path)}
    assert found == {("classes 1/n", "BCFW"), ("classes 10/n", "BCFW"), ("classes 1/n", "SGD")}


def test_other_parameters_replace_the_cell_and_keep_the_records(tmp_path: Path) -> None:
    part = narrowed(EXPERIMENT, "method=sgd,lam=1/n")
    ex.run(part, out=tmp_path, seeds=2)
    other = replace(part.methods[0], fixed={"gamma0": 0.25})
    ex.run(replace(part, methods=(other,)), out=tmp_path, seeds=1)
    (row,) = ex.table(tmp_path)
    assert (row.params, row.runs) == ({"gamma0": 0.25}, 1)
    assert len(records(tmp_path)) == 4


def test_an_experiment_without_finished_runs_is_left_out(folder: Path, tmp_path: Path) -> None:
    begun = replace(EXPERIMENT, name="begun")
    update(tmp_path, begun, [cell_of(begun, begun.cases[0], begun.methods[1], {}, [7])])
    for show in (ex.plot, ex.table):
        with pytest.raises(FileNotFoundError, match="no finished run of begun yet"):
            show(tmp_path)
    ex.run(EXPERIMENT, out=tmp_path, seeds=1, only="method=bcfw,lam=1/n")
    assert {row.experiment for row in ex.table(tmp_path)} == {"tiny"}
    with pytest.raises(FileNotFoundError, match="no finished run of begun yet"):
        ex.table(tmp_path, ["begun"])
    assert {file.name.split("-")[0] for file in ex.plot(tmp_path)} == {"tiny"}


def test_experiments_of_a_folder_by_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        ex.run(replace(EXPERIMENT, name=name), out=tmp_path, seeds=1, only="method=bcfw,lam=1/n")
    assert [row.experiment for row in ex.table(tmp_path)] == ["one", "two"]
    assert [row.experiment for row in ex.table(tmp_path, ["two"])] == ["two"]
    assert {file.stem.split("-")[0] for file in ex.plot(tmp_path, names=["one"])} == {"one"}
    with pytest.raises(ValueError, match="has no experiment 'three'; it has one, two"):
        ex.table(tmp_path, ["one", "three"])


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (14.2, 12.3, "14 ± 12"),
        (0.12345, 0.0123, "0.123 ± 0.012"),
        (0.0004321, 0.0000026, "0.0004321 ± 0.0000026"),
        (3.1e-9, 2.2e-9, "3.1e-09 ± 2.2e-09"),
        (7.1e-7, 1.4e-7, "7.1e-07 ± 1.4e-07"),
        (0.5, 1e-7, "0.50000000 ± 0.00000010"),
        (0.5, 0.0, "0.5"),
    ],
)
def test_figures_show_what_their_deviation_allows(mean: float, std: float, text: str) -> None:
    assert _text(Spread(mean, std)) == text


def test_variants_of_a_method_share_its_dashes_and_colours_tell_them_apart() -> None:
    assert _variants(["const, K = 2", "const, K = 5", "SVRG, K = 2"]) == [(0, 0), (1, 0), (0, 1)]
    assert _variants(["const, K = 2", "SVRG"]) is None
    assert _variants([f"const, K = {k}" for k in range(9)]) is None  # more than there are colours
