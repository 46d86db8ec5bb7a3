"""Keeps the values that `casimir experiment run --tune` found in the experiments' own files.

    python tools/keep_tuned.py out/

They stand in src/casimir/experiments/tuned/NAME.json; cells that were not tuned in this folder keep what is there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from casimir.experiments.costs import knobs_of
from casimir.experiments.manifest import Manifest, manifests

KEPT = Path(__file__).parents[1] / "src" / "casimir" / "experiments" / "tuned"


def values_of(manifest: Manifest) -> dict[str, dict[str, dict[str, float]]]:
    """method -> case -> the knobs' values; a knob is a parameter that differs within the grid."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cell in manifest.cells:
        if cell.tuning is not None:
            found.setdefault(cell.method, {})[cell.case] = knobs_of(cell.tuning)
    return found


def keep(folder: Path) -> list[Path]:
    """Writes the files; returns those that hold something new."""
    written = []
    for manifest in manifests(folder):
        path, found = KEPT / f"{manifest.name}.json", values_of(manifest)
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        known = {name: {**before.get(name, {}), **found.get(name, {})} for name in sorted({*before, *found})}
        if known and known != before:
            path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            written.append(path)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `casimir experiment run --tune` wrote to")
    for file in keep(parser.parse_args().folder):
        print(file)
