"""python -m tools.mutants.core [--out DIR] [--only WORD] [--pass-over N]

Mutants of the C++ core: each change of `core.toml` is made in a copy, built at the lowest instruction set level, and
tried on the C++ tests of its folder, on the Python tests that it names, and on all other C++ tests. A mutant that does
not compile is a mistake in the list.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutants import scratch
from tools.mutants.listed import listed

_SECONDS = 600.0  # of tests; the quickest notice within one
_OPTIONS = ["-x", "--tb=line"]
_TESTS = "casimir_tests_v1"
_OF_FOLDER = {
    "base": ["simplex", "interval_heap", "lanes"],
    "boxes": ["box_search"],
    "chain": ["chain", "linear_chain", "dual"],
    "cut": ["maxflow"],
    "solve": ["dual", "epochs", "stretch", "linear_chain"],
}  # where the C++ tests have another name than the folder


class Copy:
    """The project at the level v1, not optimised, which is quicker to build."""

    def __init__(self, out: Path) -> None:
        self.root, self._log, self._build = scratch.copied(out / "core-copy"), out / "core.log", out / "core-build"

    def build(self, *targets: str) -> bool:
        """All, or these targets."""
        if not (self._build / "build.ninja").exists():
            options = {
                "CMAKE_BUILD_TYPE": "Release",
                "CMAKE_CXX_FLAGS_RELEASE": "-O0 -DNDEBUG",
                "CASIMIR_LEVELS": "v1",
                "CASIMIR_CPP_TESTS": "ON",
                "SKBUILD": "2",
                "Python_EXECUTABLE": sys.executable,
            }
            given = [f"-D{name}={value}" for name, value in options.items()]
            self._said("cmake", "-S", str(self.root), "-B", str(self._build), "-G", "Ninja", *given)
        chosen = ["--target", *targets] if targets else []
        if self._said("cmake", "--build", str(self._build), "-j", "2", *chosen) != 0:
            return False
        for file in self._build.glob("_c*.so"):
            (self.root / "src/casimir" / file.name).write_bytes(file.read_bytes())
        return True

    def is_noticed_at_once(self, folder: str) -> bool:
        """Whether the C++ tests of a folder notice; only they are built."""
        if not self.build(_TESTS):
            raise SystemExit(f"A mutant of {folder} does not compile; see {self._log}.")
        return self._fails(_OF_FOLDER.get(folder, [folder]))

    def is_noticed(self, tests: Sequence[str]) -> str:
        """By what, of all that is built; empty: by nothing."""
        if not self.build():
            raise SystemExit(f"A mutant does not compile; see {self._log}.")
        if tests:
            trial = scratch.run(self.root, [*_OPTIONS, *tests], _SECONDS, self._log.with_name("core-trial.log"))
            if trial.status != 0:
                return "Python tests"
        return "C++ tests" if self._fails([]) else ""

    def _fails(self, tests: Sequence[str]) -> bool:
        """Whether one of these C++ tests does; without any, of all."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (300, 301))  # noqa: E731
        command = [str(self._build / "cpp/tests" / _TESTS), "v1", *tests]
        with open(self._log, "ab") as log:
            return subprocess.run(command, stdout=log, stderr=log, preexec_fn=limit).returncode != 0

    def _said(self, *command: str) -> int:
        with open(self._log, "ab") as log:
            return subprocess.run(command, stdout=log, stderr=log).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/mutants"))
    parser.add_argument("--only", default="", help="those with this in their name or file")
    parser.add_argument("--pass-over", type=int, default=0, help="so many at the beginning, tried before")
    given = parser.parse_args(arguments)
    out = given.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    os.environ["CASIMIR_ISA"] = "v1"
    copy, mutants = Copy(out), [one for one in listed("core.toml") if given.only in one.name or given.only in one.file]
    mutants.sort(key=lambda one: one.file.endswith(".hpp"))  # headers take long to build
    mutants = mutants[given.pass_over :]
    if copy.is_noticed([]):
        raise SystemExit(f"The tests fail without a mutant; see {out}.")
    survived, asked = 0, set[str]()
    for mutant in mutants:
        file = copy.root / "cpp" / mutant.file
        whole = file.read_text(encoding="utf-8")
        try:
            file.write_text(mutant.of(whole), encoding="utf-8")
            at_once = copy.is_noticed_at_once(mutant.file.partition("/")[0])
            by = "C++ tests" if at_once else copy.is_noticed(mutant.tests)
        finally:
            file.write_text(whole, encoding="utf-8")
        outcome = f"killed by {by}" if by else f"explained: {mutant.why}" if mutant.why else "survived"
        survived += outcome == "survived"
        asked |= set(mutant.tests) if by == "Python tests" else set()
        print(f"{mutant.name}: {outcome}", flush=True)
    if copy.is_noticed(sorted(asked)):
        raise SystemExit(f"These tests fail without a mutant: {sorted(asked)}; see {out}.")
    print(f"{len(mutants)} mutants, {survived} survived")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
