"""Mutants that are written down: a piece of a file that becomes another, and the tests that must notice."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """why  explains a mutant that changes nothing anybody could see"""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    why: str = ""

    def of(self, text: str) -> str:
        """The text with the change."""
        if text.count(self.before) != 1:
            found = text.count(self.before)
            raise SystemExit(f"'{self.name}': what it changes occurs {found} times in {self.file}.")
        return text.replace(self.before, self.after)


def listed(name: str) -> list[Mutant]:
    """Those of a file of this folder."""
    found = tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**(one | {"tests": tuple(one["tests"])})) for one in found]
