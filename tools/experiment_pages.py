"""Fills the pages of docs/experiments with what records say: tables between markers, and the pictures they show.

    python tools/experiment_pages.py out/ [more folders]

A page has <!-- table: NAME --> and <!-- end --> around the final values of experiment NAME, and pictures as
images/NAME-COLUMN.png or .svg. Text outside the markers is written by hand and stays. So does the table of a case that
the records lack, and then the experiment's pictures, which show all cases, stay too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from casimir.experiments import plot, table
from casimir.experiments.grids import markdown

PAGES = Path(__file__).parents[1] / "docs" / "experiments"
_TABLE = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CASE = re.compile(r"^(?=### )", re.MULTILINE)
_PICTURE = re.compile(r"images/([\w.-]+\.(?:png|svg))")


def filled(page: str, found: Mapping[str, str]) -> str:
    """The page with the tables that were found; others stay as they are."""

    def with_table(marked: re.Match[str]) -> str:
        text = found.get(marked["name"])
        if text is None:
            return marked[0]
        older, fresh = by_case(marked[0]), by_case(text)
        shown = fresh if older.keys() <= fresh.keys() else {**older, **fresh}
        return f"{marked[1]}\n{''.join(shown.values())}{marked[3]}"

    return _TABLE.sub(with_table, page)


def by_case(text: str) -> dict[str, str]:
    """ "NAME: case" -> its table under its title, with an empty line behind it."""
    parts = (part.split("<!--")[0].strip() for part in _CASE.split(text)[1:])
    return {part.splitlines()[0].split(" (")[0]: f"{part}\n\n" for part in parts}


def incomplete(page: str, found: Mapping[str, str]) -> set[str]:
    """The experiments of which the page shows cases that were not found."""
    shown = {marked["name"]: by_case(marked[0]).keys() for marked in _TABLE.finditer(page)}
    return {name for name, cases in shown.items() if name in found and cases - by_case(found[name]).keys()}


def tables_of(folder: Path) -> dict[str, str]:
    """Experiment -> its final values as Markdown."""
    rows = table(folder)
    names = dict.fromkeys(row.experiment for row in rows)
    return {name: markdown([row for row in rows if row.experiment == name]) for name in names}


def refresh(folders: list[Path]) -> list[Path]:
    """Writes the pages and pictures that belong to the experiments in the folders; returns what changed."""
    found = {name: text for folder in folders for name, text in tables_of(folder).items()}
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md"))}
    changed = []
    for path, text in pages.items():
        fresh = filled(text, found)
        if fresh != text:
            path.write_text(fresh, encoding="utf-8")
            changed.append(path)
    wanted = {name for text in pages.values() for name in _PICTURE.findall(text)}
    kept = {name for text in pages.values() for name in incomplete(text, found)}
    with tempfile.TemporaryDirectory() as place:
        drawn = [file for folder in folders for file in plot(folder, place)]
        for file in drawn:
            if file.name in wanted and experiment_of(file, found) not in kept:
                (PAGES / "images").mkdir(exist_ok=True)
                changed.append(Path(shutil.copy(file, PAGES / "images" / file.name)))
    return changed


def experiment_of(file: Path, names: Iterable[str]) -> str:
    """Whose picture it is: NAME-COLUMN.png, where a name may begin with another one."""
    return max((name for name in names if file.stem.startswith(f"{name}-")), key=len)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="what `casimir experiment run` wrote to")
    for file in refresh(parser.parse_args().folders):
        print(file)
