"""The lists of mutants fit the code: each changes one place that is there, and names tests that are there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LISTS = {"core.toml": ROOT / "cpp", "mends.toml": ROOT}
pytestmark = pytest.mark.skipif(not (ROOT / "tools").exists(), reason="needs the source tree")


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def mutants(name: str) -> list[dict[str, Any]]:
    file = ROOT / "tools" / "mutants" / name
    return list(tomllib.loads(text_of(file))["mutant"]) if file.exists() else []


@pytest.mark.parametrize("name", LISTS)
def test_every_mutant_changes_one_place(name: str) -> None:
    listed = mutants(name)
    found = {
        one["name"]: (LISTS[name] / one["file"]).read_text(encoding="utf-8").count(one["before"]) for one in listed
    }
    assert len(found) == len(listed) > 10
    assert {mutant: times for mutant, times in found.items() if times != 1} == {}


@pytest.mark.parametrize("name", LISTS)
def test_every_mutant_names_tests_that_are_there(name: str) -> None:
    for mutant in mutants(name):
        assert mutant["tests"], mutant["name"]
        for test in mutant["tests"]:
            file, _, function = test.partition("::")
            assert (ROOT / file).exists(), test
            assert not function or f"def {function.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), (
                test
            )
