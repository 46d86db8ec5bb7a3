"""SequenceTagger's defaults against CRFsuite's learners, from the same dicts of features.

    python -m benchmarks.defaults --data conll,chunk,wnut,ewt

Every tagger is trained in a process of its own, one after another, in rounds: F1 of spans or accuracy of tags on the
development part, CPU seconds and peak memory of `fit`. Then all fitted taggers predict single sentences in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.clock import medians, take_turns
from benchmarks.table import machine, markdown
from benchmarks.token_dicts import NAMES, SETS

SYSTEMS = {
    "casimir": "`SequenceTagger()`",
    "casimir dev": "`SequenceTagger()`, a tenth kept as dev set",
    "casimir crf": '`SequenceTagger(loss="crf")`',
    "ap": "CRFsuite AP, 20 passes",
    "pa": "CRFsuite PA, 20 passes",
    "ap100": "CRFsuite AP, 100 passes",
    "pa100": "CRFsuite PA, 100 passes",
    "lbfgs": "CRFsuite L-BFGS, c2 = 1",
}
QUICK = ["casimir", "ap"]  # of the rest, L-BFGS alone takes minutes
HEADER = ("data", "tagger", "F1 or accuracy", "`fit`, CPU s", "`fit`, peak MB", "one sentence, us")
SENTENCES, REPETITIONS = 200, 15

Measured = dict[str, float]


def main(arguments: list[str] | None = None) -> None:
    options = _parse(arguments)
    rows: list[Sequence[str]] = []
    for data in options.data:
        results = measure(data, options.systems, options.rounds)
        rows += [(NAMES[data], SYSTEMS[system], *_cells(found)) for system, found in results.items()]
        print(markdown(HEADER, rows[-len(results) :]), file=sys.stderr, flush=True)
    print(f"{machine()}\n\n{markdown(HEADER, rows)}")


def measure(data: str, systems: Sequence[str], rounds: int) -> dict[str, Measured]:
    """Medians over the rounds, by system."""
    found: dict[str, list[Measured]] = {system: [] for system in systems}
    with tempfile.TemporaryDirectory(prefix="casimir-bench-") as folder:
        files = {system: Path(folder) / str(k) for k, system in enumerate(systems)}
        for _ in range(rounds):
            for system, file in files.items():
                found[system].append(trained(system, data, file))
                print(f"{data}, {system}: {found[system][-1]}", file=sys.stderr, flush=True)
        seconds = one_sentence(data, files)
    middle = {s: {key: statistics.median(r[key] for r in runs) for key in runs[0]} for s, runs in found.items()}
    return {system: {**row, "sentence": seconds[system]} for system, row in middle.items()}


def trained(system: str, data: str, file: Path) -> Measured:
    command = [sys.executable, "-m", "benchmarks.defaults_child", system, data, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    if done.returncode:
        raise RuntimeError(f"{system} on {data} ended with: {done.stderr.strip().splitlines()[-1]}")
    result: Measured = json.loads(done.stdout.splitlines()[-1])
    return result


def one_sentence(data: str, files: dict[str, Path]) -> Measured:
    """CPU seconds of `predict_single` by system, sentences of the development part one by one."""
    sentences = SETS[data]().X_dev[:SENTENCES]
    taggers = {system: pickle.loads(file.read_bytes()) for system, file in files.items()}  # written a moment ago
    actions = {system: _one_by_one(tagger.predict_single, sentences) for system, tagger in taggers.items()}
    return {system: spent / len(sentences) for system, spent in medians(take_turns(actions, REPETITIONS)).items()}


def _one_by_one(predict: Callable[[Any], Any], sentences: Sequence[Any]) -> Callable[[], object]:
    return lambda: [predict(sentence) for sentence in sentences]


def _cells(found: Measured) -> tuple[str, ...]:
    return (
        f"{found['score']:.4f}",
        f"{found['seconds']:.2f}",
        f"{found['bytes'] / 1e6:.0f}",
        f"{1e6 * found['sentence']:.0f}",
    )


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    real = ["conll", "chunk", "wnut", "ewt"]
    default = real if os.environ.get("CASIMIR_DATA") else ["news"]
    parser.add_argument("--data", type=_names_of(SETS), default=default, help="by commas; news needs no CASIMIR_DATA")
    parser.add_argument("--systems", type=_names_of(SYSTEMS), default=list(SYSTEMS), help="by commas")
    parser.add_argument("--quick", action="store_true", help=f"the same as --systems {','.join(QUICK)}")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args(arguments)
    options.systems = QUICK if options.quick else options.systems
    return options


def _names_of(known: dict[str, Any]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}, only {', '.join(known)}.")
        return chosen

    return names


if __name__ == "__main__":
    main()
