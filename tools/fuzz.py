"""Runs the fuzzers, those of the core (libFuzzer) and those of the Python readers (atheris), and says what they found.

    python tools/fuzz.py BUILD [--minutes 10] [--keep] [TARGET ...]

BUILD has the programs that CASIMIR_FUZZ makes. A corpus is a text file with an input per line, in hexadecimal digits,
and comments after #. With --keep the shortest of the inputs that reached something new are added to it, up to 8 KB, or
4 for a reader. What makes a fuzzer fail is written out as such a line: with the mend it goes into the corpus, below a
comment.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE, PYTHON = ROOT / "cpp" / "fuzz" / "corpus", ROOT / "tests" / "soak" / "corpus"
MOST_BYTES = {CORE: 8_000, PYTHON: 4_000}  # of a corpus
SECONDS_PER_INPUT, MEGABYTES = 25, 4096


def inputs_of(file: Path) -> list[bytes]:
    lines = file.read_text(encoding="ascii").splitlines() if file.exists() else []
    return [bytes.fromhex(line) for line in lines if not line.startswith("#")]


def add_inputs(file: Path, found: list[bytes]) -> int:
    """How many of them had room, the shortest first."""
    known, room = set(inputs_of(file)), MOST_BYTES[file.parent] - (file.stat().st_size if file.exists() else 0)
    lines = []
    for data in sorted(set(found) - known, key=lambda one: (len(one), one)):
        room -= 2 * len(data) + 1
        if room < 0:
            break
        lines.append(data.hex() + "\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="ascii") as stream:
        stream.writelines(lines)
    return len(lines)


class Fuzzer:
    """One target: the command that fuzzes it, and where its corpus is."""

    def __init__(self, name: str, command: list[str], corpus: Path, merges: bool) -> None:
        self.name, self.command, self.corpus, self.merges = name, command, corpus, merges

    def run(self, seconds: float, keeps: bool) -> bool:
        """Whether nothing was found."""
        with tempfile.TemporaryDirectory(prefix="casimir-fuzz-") as folder:
            seeds, grown, small = (Path(folder) / name for name in ("seeds", "grown", "small"))
            for one in (seeds, grown, small):
                one.mkdir()
            for number, data in enumerate(inputs_of(self.corpus)):
                (seeds / f"{number:04d}").write_bytes(data)
            done = self._started(folder, f"-max_total_time={max(1, round(seconds))}", str(grown), str(seeds))
            edges, told = _summary(done.stderr)
            print(f"{self.name:24} {told}", flush=True)
            failed = [file for kind in ("crash-*", "timeout-*", "oom-*") for file in Path(folder).glob(kind)]
            for file in failed:
                print(done.stderr[-4000:])
                print(f"{self.name}: {file.name}\n{file.read_bytes().hex()}", flush=True)
            if keeps and not failed:
                if self.merges:
                    self._started(folder, "-merge=1", str(small), str(seeds), str(grown))
                kept = small if self.merges else grown
                added = add_inputs(self.corpus, [file.read_bytes() for file in kept.iterdir()])
                print(f"{'':24} {added} inputs added to {self.corpus.relative_to(ROOT)}", flush=True)
            if done.returncode != 0 and not failed:
                print(done.stderr[-4000:])
            return done.returncode == 0 and not failed and edges > 0

    def _started(self, folder: str, *options: str) -> subprocess.CompletedProcess[str]:
        limits = [f"-timeout={SECONDS_PER_INPUT}", f"-rss_limit_mb={MEGABYTES}", "-max_len=8000"]
        command = [*self.command, *limits, "-print_final_stats=1", f"-artifact_prefix={folder}/", *options]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def _summary(said: str) -> tuple[int, str]:
    """How many edges of the program were seen, and what to tell."""
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", said)
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", said)
    edges, features, inputs = covered[-1] if covered else ("0", "0", "0")
    return int(
        edges
    ), f"{int(runs[-1]) if runs else 0:9,} inputs tried, {edges} edges and {features} features, {inputs} kept"


def fuzzers(build: Path) -> list[Fuzzer]:
    found = []
    for program in sorted(build.glob("cpp/fuzz/fuzz_*_v*")):
        name = program.name.removeprefix("fuzz_").rpartition("_")[0]
        found.append(Fuzzer(name, [str(program)], CORE / f"{name}.txt", merges=True))
    script = ROOT / "tests" / "soak" / "fuzz_readers.py"
    names = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout.split()
    for name in names:  # atheris cannot merge
        command = [sys.executable, str(script), name]
        found.append(Fuzzer(f"read-{name}", command, PYTHON / f"{name}.txt", merges=False))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("targets", nargs="*")
    given = parser.parse_intermixed_args()
    chosen = [one for one in fuzzers(given.build) if not given.targets or one.name in given.targets]
    began = time.monotonic()
    failed = [one.name for one in chosen if not one.run(60.0 * given.minutes / len(chosen), given.keep)]
    minutes = (time.monotonic() - began) / 60.0
    print(f"{len(chosen)} fuzzers in {minutes:.1f} minutes; failed: {', '.join(failed) or 'none'}")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
