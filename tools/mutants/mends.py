"""python -m tools.mutants.mends [--out DIR] [--only WORD]

Whether the tests of what once was broken fail without its mend: each change of `mends.toml` takes one back, in a copy.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutants import scratch
from tools.mutants.listed import listed

_SECONDS = 120.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/mutants"))
    parser.add_argument("--only", default="", help="those with this in their name")
    given = parser.parse_args(arguments)
    out = given.out.absolute()
    copy, survived = scratch.copied(out / "mends-copy"), 0
    for file in scratch.built_core():
        shutil.copyfile(file, copy / "src/casimir" / file.name)
    for mutant in (one for one in listed("mends.toml") if given.only in one.name):
        file = copy / mutant.file
        whole, log = file.read_text(encoding="utf-8"), out / "mends.log"
        with_it = scratch.run(copy, mutant.tests, _SECONDS, log).status
        try:
            file.write_text(mutant.of(whole), encoding="utf-8")
            without = scratch.run(copy, mutant.tests, _SECONDS, log).status
        finally:
            file.write_text(whole, encoding="utf-8")
        is_judged = with_it == 0 and without != 0
        survived += not is_judged
        said = "fails without its mend" if is_judged else "NOT JUDGED"
        print(f"{mutant.name}: {mutant.tests[0].partition('::')[2]} {said} ({with_it}, {without})", flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
