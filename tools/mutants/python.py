"""python -m tools.mutants.python [--mutants N] [--seed N] [--minutes N] [--out DIR] [--only WORD]

Mutants of the Python part, made by cosmic-ray's operators: a comparison turned around, a plus that is a minus, a number
one off, a loop left out. Every test of the modules asked for is run once, to see which lines it executes; a mutant of a
line is tried on the quickest of the tests that execute it. Lines are drawn at random, by a fixed seed, and of each line
one mutant.

A mutant that no test notices has survived. `explained.toml` lists those that change nothing anybody could see.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
import shutil
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
import coverage
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tools.mutants import scratch

MODULES = {
    "objective": ["objective.py", "duality.py"],
    "losses": ["losses/*.py"],
    "penalties": ["penalties/*.py"],
    "smoothing": ["smoothing.py"],
    "solvers": ["solvers/*.py"],
    "persistence": ["persistence/*.py"],
    "packs": ["packs/*.py", "tasks/tag/packed_text.py", "tasks/tag/arrow_files.py"],
}
_OF_TRAINING = [
    *("tests/test_objective.py", "tests/test_losses.py", "tests/test_penalties.py", "tests/test_smoothing.py"),
    "tests/solvers",
]
_OF_FILES = [
    *("tests/test_persistence.py", "tests/test_model_folders.py", "tests/test_wrong_models.py"),
    "tests/test_checkpoint_files.py",
]
_OF_PACKS = ["tests/packs/test_pack_folder.py", "tests/packs/test_wrong_packs.py", "tests/soak/test_arrow_mutations.py"]
TESTS = {
    **dict.fromkeys(("objective", "losses", "penalties", "smoothing", "solvers"), _OF_TRAINING),
    "persistence": [*_OF_FILES, "tests/solvers"],
    "packs": _OF_PACKS,
}
_OF_CLASSES = "::test_hyperparameters_cannot_be_changed_and_solvers_may_be_keys"
_SECONDS = 25.0  # of tests per mutant
_OPTIONS = ["-x", "--tb=line"]


@dataclass(frozen=True)
class Mutant:
    module: str
    file: str  # below src/casimir
    line: int
    operator: str
    before: str
    after: str
    code: str

    @property
    def change(self) -> tuple[str, str, str]:
        return self.file, self.before, self.after


@dataclass(frozen=True)
class Watched:
    """Which tests execute a line, and the seconds that each takes."""

    tests: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def of(self, mutant: Mutant) -> list[str]:
        """Quickest first. A line that only an import executes is judged by all tests that execute any line nearby, or
        by those of the module; and by the one that looks at how classes are made."""
        lines = self.tests.get(mutant.file, {})
        found = set(lines.get(mutant.line, ()))
        if not found:
            found = {test for number, tests in lines.items() if abs(number - mutant.line) <= 40 for test in tests}
            every = {test for lines in self.tests.values() for tests in lines.values() for test in tests}
            found = (found or every) | {test for test in every if test.endswith(_OF_CLASSES)}
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda one: (self.seconds[one], one)):
            spent += self.seconds[test]
            if spent > _SECONDS and chosen:
                break
            chosen.append(test)
        return chosen


class _Watch:
    """A plugin of pytest that writes down what every test executes."""

    def __init__(self, copy: Path, data: Path) -> None:
        self.coverage = coverage.Coverage(data_file=str(data), source=[str(copy / "src/casimir")], config_file=False)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._out = data.with_suffix(".json")

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - began
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        self._out.write_text(json.dumps({"seconds": self.seconds, "failed": sorted(self.failed)}))


def watched(copy: Path, out: Path, only: str) -> Watched:
    data = out / "-".join(filter(None, ["watched", only]))
    chosen = list(dict.fromkeys(test for module, tests in TESTS.items() if only in module for test in tests))
    told = data.with_suffix(".json")
    if not told.exists():
        trial = scratch.run(copy, chosen, 3600, out / "watched.log", [_Watch(copy, data)])
        if not told.exists():
            raise SystemExit(f"The tests did not run; see {out / 'watched.log'}.")
        print(f"The tests take {trial.seconds:.0f} s of processor time, measuring included", flush=True)
    seen = json.loads(told.read_text())
    if seen["failed"]:
        print(f"Left out, since they fail without a mutant: {seen['failed']}", flush=True)
    left_out = {"", *seen["failed"]}
    found = coverage.CoverageData(str(data))
    found.read()
    by_file: dict[str, dict[int, list[str]]] = {}
    for file in found.measured_files():
        lines = found.contexts_by_lineno(file)
        name = str(Path(file).relative_to(copy / "src/casimir"))
        by_file[name] = {line: [one for one in tests if one not in left_out] for line, tests in lines.items()}
    return Watched(by_file, seen["seconds"])


# --- mutants


def drawn(copy: Path, seed: int, only: str) -> Iterator[Mutant]:
    """Mutants in random order, no two of one line."""
    places: dict[tuple[str, str, int], list[tuple[str, int]]] = {}
    for module, patterns in MODULES.items():
        if only not in module:
            continue
        for pattern in patterns:
            for file in sorted((copy / "src/casimir").glob(pattern)):
                for line, operator, occurrence in _positions(file.read_text(encoding="utf-8")):
                    name = str(file.relative_to(copy / "src/casimir"))
                    places.setdefault((module, name, line), []).append((operator, occurrence))
    rng, lines = random.Random(seed), sorted(places)
    rng.shuffle(lines)
    for module, name, line in lines:
        text = (copy / "src/casimir" / name).read_text(encoding="utf-8")
        choices = places[module, name, line]
        rng.shuffle(choices)
        for operator, occurrence in choices:
            code = mutate_code(text, cosmic_ray.plugins.get_operator(operator)(), occurrence)
            if code is not None and _means(code) != _means(text):
                before, after = _changed(text, code)
                yield Mutant(module, name, line, operator.split("/")[1], before, after, code)
                break


def _positions(text: str) -> Iterator[tuple[int, str, int]]:
    """(line, operator, which of its occurrences in the file)."""
    nodes = list(ast_nodes(get_ast(text)))
    for name in cosmic_ray.plugins.operator_names():
        operator = cosmic_ray.plugins.get_operator(name)
        if operator.arguments() or name.endswith(("/NoOp", "/RemoveDecorator")):
            continue
        occurrence = 0
        for node in nodes:
            for start, _ in operator().mutation_positions(node):
                yield start[0], name, occurrence
                occurrence += 1


def _means(code: str) -> str:
    """What Python does with it: annotations are words here, and zip's strict=True guards what cannot be."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.Call):
            node.keywords = [one for one in node.keywords if one.arg != "strict"]
    return ast.dump(tree)


def _changed(text: str, code: str) -> tuple[str, str]:
    lines = list(difflib.unified_diff(text.splitlines(), code.splitlines(), lineterm="", n=0))[2:]
    before = " ".join(line[1:].strip() for line in lines if line.startswith("-"))
    return before, " ".join(line[1:].strip() for line in lines if line.startswith("+"))


# --- trials


def tried(copy: Path, mutant: Mutant, tests: Watched, out: Path) -> tuple[str, float]:
    chosen = tests.of(mutant)
    if not chosen:
        return "not executed by any test", 0.0
    file = copy / "src/casimir" / mutant.file
    whole = file.read_text(encoding="utf-8")
    limit = 20.0 + 4.0 * sum(tests.seconds[one] for one in chosen)
    try:
        file.write_text(mutant.code, encoding="utf-8")
        trial = scratch.run(copy, [*_OPTIONS, *chosen], limit, out / "trial.log")
    finally:
        file.write_text(whole, encoding="utf-8")
    return "survived" if trial.status == 0 else "killed", trial.seconds


def explained() -> dict[tuple[str, str, str], str]:
    listed: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "explained.toml").read_text())["mutant"]
    return {(one["file"], one["before"], one["after"]): one["why"] for one in listed}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=40.0, help="of processor time")
    parser.add_argument("--out", type=Path, default=Path("build/mutants"))
    parser.add_argument("--only", default="", help="modules with this in their name")
    given = parser.parse_args(arguments)
    out = given.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    copy, known, counts = scratch.copied(out / "copy"), explained(), Counter[tuple[str, str]]()
    for file in scratch.built_core():
        shutil.copyfile(file, copy / "src/casimir" / file.name)
    for name in ("hypothesis", "scipy.optimize", "scipy.sparse.linalg", "sklearn.linear_model", "safetensors.numpy"):
        __import__(name)  # once for all trials
    tests, spent = watched(copy, out, given.only), 0.0
    with open(out / "mutants.jsonl", "a", encoding="utf-8") as results:
        for number, mutant in enumerate(drawn(copy, given.seed, given.only)):
            if number == given.mutants or spent > 60.0 * given.minutes:
                break
            outcome, seconds = tried(copy, mutant, tests, out)
            if outcome != "killed" and mutant.change in known:
                outcome = "explained"
            spent += seconds
            counts[mutant.module, outcome] += 1
            told = {name: value for name, value in asdict(mutant).items() if name != "code"}
            results.write(json.dumps(told | {"outcome": outcome, "seconds": round(seconds, 1)}) + "\n")
            results.flush()
            if outcome != "killed":
                print(f"{outcome}: {mutant.file}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
    for module in MODULES:
        found = {outcome: n for (of, outcome), n in sorted(counts.items()) if of == module}
        if found:
            print(f"{module:12} {sum(found.values()):4} mutants: {found}")
    print(f"{spent / 60.0:.1f} minutes of processor time")
    return int(any(outcome not in ("killed", "explained") for _, outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
