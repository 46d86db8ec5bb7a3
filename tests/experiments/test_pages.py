"""tools/experiment_pages.py: tables come from records, and what those lack stays."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from experiment_records import cell, record, results

from casimir import experiments as ex
from casimir.experiments.plots import MOST_BYTES, figure_of, save

TOOL = Path(__file__).parents[2] / "tools" / "experiment_pages.py"
PAGE = """# Page

<!-- table: one -->

### one: a 1/n (F* in [1, 2])

| SGD | old a |

### one: b 1/n (F* in [1, 2])

| SGD | old b |

<!-- end -->

by hand

<!-- table: one-more -->
<!-- end -->
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("experiment_pages", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cases_without_records_keep_their_tables(tool: ModuleType) -> None:
    page = tool.filled(PAGE, {"one": "### one: b 1/n (F* in [3, 4])\n\n| SGD | new b |\n"})
    assert page == PAGE.replace("### one: b 1/n (F* in [1, 2])", "### one: b 1/n (F* in [3, 4])").replace(
        "old b", "new b"
    )
    assert tool.incomplete(PAGE, {"one": "### one: b 1/n (F* in [3, 4])\n"}) == {"one"}
    assert (
        tool.incomplete(
            PAGE, {"one": "### one: b 1/n\n\n| SGD |\n\n### one: a 1/n\n\n| SGD |\n", "one-more": "### one-more: c\n"}
        )
        == set()
    )


LINES = """### one: a 1/n (F* in [1, 2])

| method | runs |
| --- | --- |
| SGD | 3 |
| BCFW | 3 |
| auto | 3 |

"""


def test_methods_without_records_keep_their_lines(tool: ModuleType) -> None:
    page = f"<!-- table: one -->\n\n{LINES}<!-- end -->\n"
    part = "### one: a 1/n (F* in [1, 1.5])\n\n| method | runs |\n| --- | --- |\n| BCFW | 9 |\n| new | 9 |\n"
    joined = (
        LINES.replace("2])", "1.5])").replace("BCFW | 3", "BCFW | 9").replace("auto | 3 |", "auto | 3 |\n| new | 9 |")
    )
    assert tool.filled(page, {"one": part}) == f"<!-- table: one -->\n\n{joined}<!-- end -->\n"
    assert tool.incomplete(page, {"one": part}) == {"one"}
    assert tool.incomplete(page, {"one": joined}) == set()
    other_columns = part.replace("| runs |", "| F |")
    assert tool.filled(page, {"one": other_columns}) == f"<!-- table: one -->\n\n{other_columns}\n<!-- end -->\n"


def test_medians_count_the_seeds_ahead_of_a_rival(tool: ModuleType) -> None:
    page = "by hand\n\n<!-- medians: made-up b -->\nold\n<!-- end -->\n\n<!-- medians: other b -->\nold\n<!-- end -->\n"
    rows = {"a": [2.0, 4.0, 9.0], "b": [3.0, 3.0, 3.0]}
    made = {
        ("x 1/n", method): [
            record(10, steps=[50, 100], full_gradients=[0, 10 * j], objective=[8.0, value], seed=100 + j)
            for j, value in enumerate(values)
        ]
        for method, values in rows.items()
    }
    made["x 1/n", "a"].append(record(10, "diverged", steps=[10], objective=[1.0], seed=103))
    found = results([cell("x 1/n", "1/n", "a", "A"), cell("x 1/n", "1/n", "b", "B")], made, 2.0, 2.0)
    lines = "|  | A | B |\n| --- | --- | --- |\n| x 1/n | 2.25 (1 of 3) | 0.5 |\n| x 1/n, all calls | 3 (1 of 3) | 3 |"
    assert tool.with_medians(page, {"made-up": found}) == page.replace(
        "made-up b -->\nold\n", f"made-up b -->\n\n{lines}\n\n"
    )
    with pytest.raises(ValueError, match="has no runs of 'c'; choose one of a, b"):
        tool.with_medians(page.replace("made-up b", "made-up c"), {"made-up": found})


def test_tuned_values_stand_beside_the_number_of_runs(tool: ModuleType) -> None:
    page = "by hand\n\n<!-- tuning: made-up -->\nold\n<!-- end -->\n"
    report = {"runs": 2, "grid": [{"params": {"k": 5, "L": x}} for x in (1.0, 2.0)], "chosen": {"k": 5, "L": 2.0}}
    tuned = replace(cell("x 1/n", "1/n", "a", "A"), tuning=report)
    found = results([tuned, cell("x 1/n", "1/n", "b", "B")], {}, 2.0, 2.0)
    lines = "| method | runs | x 1/n |\n| --- | --- | --- |\n| A | 2 | L 2 |"
    assert tool.with_tuning(page, {"made-up": found}) == page.replace("-->\nold\n", f"-->\n\n{lines}\n\n")
    assert tool.with_tuning(page, {"made-up": results([cell("x 1/n", "1/n", "a", "A")], {}, 2.0, 2.0)}) == page
    assert tool.with_tuning(page, {}) == page


def test_every_experiment_is_on_a_page_with_pictures_small_enough_to_keep(tool: ModuleType) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in sorted(tool.PAGES.glob("*.md")))
    shown = set(re.findall(r"\]\((images/[\w.-]+)\)", text))
    for name in ex.names():
        if name != "smoke":
            assert f"<!-- table: {name} -->" in text
            assert any(picture.startswith(f"images/{name}-") for picture in shown), name
    kept = {f"images/{file.name}" for file in (tool.PAGES / "images").iterdir()}
    assert shown == kept
    assert all((tool.PAGES / picture).stat().st_size <= MOST_BYTES for picture in shown)


@pytest.mark.parametrize("partial", [[], ["made-up"]])
def test_pictures_of_a_part_are_drawn_on_demand(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partial: list[str]
) -> None:
    older = "<!-- table: made-up -->\n\n### made-up: old 1/n\n\n| A |\n\n<!-- end -->\n"
    (tmp_path / "page.md").write_text(f"{older}\n![](images/made-up-objective.png)\n", encoding="utf-8")
    ends = {("x 1/n", "a"): [record(10, steps=[50, 100], objective=[8.0, 4.0], seed=100)]}
    found = results([cell("x 1/n", "1/n", "a", "A")], ends, 2.0, 2.0)
    monkeypatch.setattr(tool, "PAGES", tmp_path)
    monkeypatch.setattr(tool, "tables_of", lambda folder: {"made-up": "### made-up: x 1/n\n\n| A |\n"})
    monkeypatch.setattr(tool, "load_results", lambda folder: [found])
    monkeypatch.setattr(
        tool, "plot", lambda folder, to, names: save(figure_of(found, "objective"), Path(to), "made-up-objective")
    )
    changed = {file.name for file in tool.refresh([tmp_path], partial)}
    assert changed == {"page.md"} | {"made-up-objective.png" for _ in partial}
    assert "### made-up: old 1/n" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_empty_places_are_filled(tool: ModuleType) -> None:
    page = tool.filled(PAGE, {"one-more": "### one-more: c 1/n (F* in [3, 4])\n\n| c |\n"})
    assert "<!-- table: one-more -->\n\n### one-more: c 1/n (F* in [3, 4])\n\n| c |\n\n<!-- end -->" in page
    assert tool.filled(page, {"one-more": "### one-more: c 1/n (F* in [3, 4])\n\n| c |\n"}) == page
