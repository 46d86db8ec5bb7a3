"""The figures to reach, measured today on named entity recognition: python -m benchmarks.ner --help"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chain_oracles import exp_row, topk_row
from benchmarks.context import Context
from benchmarks.data import Corpora
from benchmarks.gap import gap_rows
from benchmarks.memory import memory_row
from benchmarks.passes import max_row, sgd_row
from benchmarks.quality import default_rows, paper_row
from benchmarks.svrg import svrg_row
from benchmarks.table import Row, failed, machine, render
from benchmarks.tagging import tagging_row
from benchmarks.threads import threads_row
from benchmarks.useful import useful_rows


@dataclass(frozen=True)
class Measurement:
    """One or more rows of the table, with the target that a failure still shows."""

    measure: Callable[[Context], Row | list[Row]]
    target: str
    slow: bool = False


MEASUREMENTS = {
    "sgd": Measurement(lambda c: sgd_row(c, 0.3), "<= 0.30x"),
    "max": Measurement(lambda c: max_row(c, 0.15), "<= 0.15x"),
    "topk": Measurement(lambda c: topk_row(c, 2.5), "<= 2.50x"),
    "exp": Measurement(lambda c: exp_row(c, 2.5), "<= 2.50x"),
    "svrg": Measurement(lambda c: svrg_row(c, 6.0), "<= 6x; step same"),
    "tagging": Measurement(lambda c: tagging_row(c, 5.0), ">= 5x"),
    "memory": Measurement(lambda c: memory_row(c, 0.25), "<= 0.25 GB"),
    "threads": Measurement(lambda c: threads_row(c, 1.6), ">= 1.60x"),
    "gap": Measurement(gap_rows, "<= 16, 28, 50, 45", slow=True),
    "useful": Measurement(lambda c: useful_rows(c, 0.25), "<= 0.25x"),
    "paper": Measurement(lambda c: paper_row(c, 0.845), ">= 0.845", slow=True),
    "default": Measurement(lambda c: default_rows(c, 0.90, 0.89), ">= 0.90, 0.89", slow=True),
}


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    context = Context(Corpora.find())
    rows: list[Row] = []
    for name in options.rows:
        rows += _measured(name, context)
    print(f"{context.corpora.name}; {machine()}\n\n{render(rows)}")
    if context.corpora.note:
        print(f"\n{context.corpora.note}")
    if options.json is not None:
        result = {"corpus": context.corpora.name, "machine": machine(), "rows": [row.to_dict() for row in rows]}
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


def _measured(name: str, context: Context) -> list[Row]:
    measurement, start = MEASUREMENTS[name], time.perf_counter()
    print(f"{name} ...", file=sys.stderr, flush=True)
    try:
        rows = measurement.measure(context)
    except Exception as error:  # the other rows are still worth having
        return [failed(name, measurement.target, error)]
    print(f"{name} took {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return rows if isinstance(rows, list) else [rows]


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ner", description=__doc__)
    slow = ", ".join(name for name, m in MEASUREMENTS.items() if m.slow)
    parser.add_argument("--quick", action="store_true", help=f"leave out the slow rows: {slow}")
    parser.add_argument("--rows", metavar="LIST", help=f"only these, separated by commas: {','.join(MEASUREMENTS)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    options = parser.parse_args(arguments)
    chosen = options.rows.split(",") if options.rows else list(MEASUREMENTS)
    unknown = [name for name in chosen if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}.")
    options.rows = [name for name in chosen if not (options.quick and MEASUREMENTS[name].slow)]
    return options


if __name__ == "__main__":
    sys.exit(main())
