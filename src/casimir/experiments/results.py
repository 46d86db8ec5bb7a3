"""What an experiment has found so far, read from its folder."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from casimir.experiments.manifest import Cell, Manifest, manifests
from casimir.experiments.optimum import Interval, interval
from casimir.experiments.records import Record, read_record, record_path


@dataclass(frozen=True, eq=False)
class Results:
    """records  (case, method) -> the records of its seeds that are there
    optima   case -> the certified interval of its optimum; None where F is not convex or the run is not there yet
    certified  case -> the record of the run that F* is from, in a list
    tuning   (case, method) -> the records of its tuning runs, where it was tuned in this folder
    """

    manifest: Manifest
    records: dict[tuple[str, str], list[Record]]
    optima: dict[str, Interval | None]
    certified: dict[str, list[Record]] = field(default_factory=dict)
    tuning: dict[tuple[str, str], list[Record]] = field(default_factory=dict)

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(cell.case for cell in self.cells))

    @property
    def cells(self) -> list[Cell]:
        """Those that have a record."""
        return [cell for cell in self.manifest.cells if self.records[cell.case, cell.method]]


def results_of(folder: Path, manifest: Manifest) -> Results:
    def there(keys: list[str]) -> list[Record]:
        paths = [record_path(folder, key) for key in keys]
        return [read_record(path) for path in paths if path.exists()]

    records = {(c.case, c.method): there(list(c.runs.values())) for c in manifest.cells}
    certified = {c.case: there([] if c.optimum is None else [c.optimum]) for c in manifest.cells}
    optima: dict[str, Interval | None] = {}
    for case, found in certified.items():
        others = [record for (its, _), runs in records.items() if its == case for record in runs]
        optima[case] = interval(found + others) if found else None
    tuned = {(c.case, c.method): c.tuning_runs for c in manifest.cells}
    tuning = {pair: there(keys) for pair, keys in tuned.items() if keys}
    return Results(manifest, records, optima, certified, tuning)


def load_results(folder: Path, names: Collection[str] = ()) -> list[Results]:
    """Of every experiment in the folder that has a finished run: one may have just begun.

    names  of those that are wanted; none: all
    """
    found = [results_of(folder, manifest) for manifest in _named(manifests(folder), names, folder)]
    begun = [results for results in found if results.cells]
    if not begun:
        asked = ", ".join(results.manifest.name for results in found)
        raise FileNotFoundError(f"{folder} has no finished run of {asked} yet; wait for the first one.")
    return begun


def _named(found: list[Manifest], names: Collection[str], folder: Path) -> list[Manifest]:
    known = [manifest.name for manifest in found]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{folder} has no experiment {unknown[0]!r}; it has {', '.join(known)}.")
    return [manifest for manifest in found if not names or manifest.name in names]
