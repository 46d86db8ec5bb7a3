"""Fills the pages of docs/experiments with what records say: tables between markers, and the pictures they show.

    python tools/experiment_pages.py out/ [more folders]

A page has <!-- table: NAME --> and <!-- end --> around the final values of experiment NAME, and pictures as
images/NAME-COLUMN.png or .svg. <!-- medians: NAME METHOD --> and <!-- end --> are around medians over seeds, with how
often each method is ahead of METHOD. <!-- tuning: NAME --> and <!-- end --> are around the values that tuning chose,
with the number of its runs; they stay where the folder has no tuning of NAME. Text outside the markers is written by
hand and stays. So do the lines of a case or method that the records lack, and then the experiment's pictures, medians
and tuned values, which show all of them, stay too; --partial NAME makes those of an experiment from what is there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from casimir.experiments import plot, table
from casimir.experiments.costs import tuned_grid
from casimir.experiments.grids import markdown
from casimir.experiments.medians import medians_of
from casimir.experiments.results import Results, load_results

PAGES = Path(__file__).parents[1] / "docs" / "experiments"
_TABLE = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MEDIANS = re.compile(r"(<!-- medians: (?P<name>[\w-]+) (?P<rival>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TUNING = re.compile(r"(<!-- tuning: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CASE = re.compile(r"^(?=### )", re.MULTILINE)
_PICTURE = re.compile(r"images/([\w.-]+\.(?:png|svg))")


# --- tables of final values


def filled(page: str, found: Mapping[str, str]) -> str:
    """The page with the tables that were found; others stay as they are."""

    def with_table(marked: re.Match[str]) -> str:
        text = found.get(marked["name"])
        if text is None:
            return marked[0]
        older, fresh = by_case(marked[0]), by_case(text)
        joined = {case: with_older_lines(part, older.get(case, "")) for case, part in fresh.items()}
        shown = joined if older.keys() <= fresh.keys() else {**older, **joined}
        return f"{marked[1]}\n{''.join(shown.values())}{marked[3]}"

    return _TABLE.sub(with_table, page)


def by_case(text: str) -> dict[str, str]:
    """ "NAME: case" -> its table under its title, with an empty line behind it."""
    parts = (part.split("<!--")[0].strip() for part in _CASE.split(text)[1:])
    return {part.splitlines()[0].split(" (")[0]: f"{part}\n\n" for part in parts}


def by_method(part: str) -> dict[str, str]:
    """The first cell of every line of a table -> the line; its header and the rule below it are among them."""
    return {line.split("|")[1].strip(): line for line in part.splitlines() if line.startswith("|")}


def with_older_lines(part: str, older: str) -> str:
    """A case's table with the lines of methods that only the older one has, if both have the same columns."""
    fresh, before = by_method(part), by_method(older)
    same_columns = before.get("method") == fresh.get("method")
    if before.keys() <= fresh.keys() or not same_columns:
        return part
    lines = "\n".join({**before, **fresh}.values())
    return f"{part.splitlines()[0]}\n\n{lines}\n\n"


def incomplete(page: str, found: Mapping[str, str]) -> set[str]:
    """The experiments of which the page shows cases or methods that were not found."""
    shown = {marked["name"]: lines_in(marked[0]) for marked in _TABLE.finditer(page)}
    return {name for name, lines in shown.items() if name in found and lines - lines_in(found[name])}


def lines_in(text: str) -> set[tuple[str, str]]:
    """(case, method) of every line of its tables."""
    return {(case, method) for case, part in by_case(text).items() for method in by_method(part)}


def tables_of(folder: Path) -> dict[str, str]:
    """Experiment -> its final values as Markdown."""
    rows = table(folder)
    names = dict.fromkeys(row.experiment for row in rows)
    return {name: markdown([row for row in rows if row.experiment == name]) for name in names}


# --- medians


def with_medians(page: str, found: Mapping[str, Results]) -> str:
    """The page with the medians of experiments that were found; others stay as they are."""

    def filled_in(marked: re.Match[str]) -> str:
        results = found.get(marked["name"])
        if results is None:
            return marked[0]
        lines = medians_of(results, marked["rival"]).markdown().split("\n\n", 1)[1]
        return f"{marked[1]}\n{lines}\n\n{marked[4]}"

    return _MEDIANS.sub(filled_in, page)


# --- tuning


def with_tuning(page: str, found: Mapping[str, Results]) -> str:
    """The page with the values of experiments that were tuned where they were found; others stay as they are."""

    def filled_in(marked: re.Match[str]) -> str:
        grid = tuned_grid(found[marked["name"]]) if marked["name"] in found else None
        if grid is None:
            return marked[0]
        return f"{marked[1]}\n{grid.markdown().split(chr(10) * 2, 1)[1]}\n\n{marked[3]}"

    return _TUNING.sub(filled_in, page)


# --- pages and pictures


def refresh(folders: list[Path], partial: Iterable[str] = ()) -> list[Path]:
    """Writes the pages and pictures that belong to the experiments in the folders; returns what changed.

    partial  experiments whose pictures and medians are made even though the pages show more than was found
    """
    found = {name: text for folder in folders for name, text in tables_of(folder).items()}
    by_folder = {folder: {one.manifest.name: one for one in load_results(folder)} for folder in folders}
    results = {name: one for part in by_folder.values() for name, one in part.items()}
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md"))}
    kept = {name for text in pages.values() for name in incomplete(text, found)} - set(partial)
    whole = {name: one for name, one in results.items() if name not in kept}
    changed = []
    for path, text in pages.items():
        fresh = with_tuning(with_medians(filled(text, found), whole), whole)
        if fresh != text:
            path.write_text(fresh, encoding="utf-8")
            changed.append(path)
    wanted = {name for text in pages.values() for name in _PICTURE.findall(text)}
    with tempfile.TemporaryDirectory() as place:
        mine = {folder: [name for name in part if name in whole] for folder, part in by_folder.items()}
        for file in (file for folder, names in mine.items() if names for file in plot(folder, place, names)):
            if file.name in wanted:
                (PAGES / "images").mkdir(exist_ok=True)
                changed.append(Path(shutil.copy(file, PAGES / "images" / file.name)))
    return changed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="what `casimir experiment run` wrote to")
    parser.add_argument(
        "--partial", action="append", default=[], metavar="NAME", help="pictures and medians of what is there"
    )
    options = parser.parse_args()
    for file in refresh(options.folders, options.partial):
        print(file)
