"""What pyproject.toml declares is what the tests on the oldest versions run with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import casimir

ROOT = Path(__file__).resolve().parent.parent
COMPANIONS = {"click", "pyparsing", "pandas"}  # of typer, of matplotlib, of the tests
NOT_TRIED = {"torch"}  # its Linux wheels bring gigabytes of CUDA

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")


def project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def versions(lines: list[str], sign: str) -> dict[str, str]:
    """name -> version of requirements such as numpy>=1.26."""
    return dict(line.split(sign) for line in lines if not line.startswith("#"))


def test_floors_that_are_tested_are_those_declared() -> None:
    extras = project()["optional-dependencies"]
    declared = versions([*project()["dependencies"], *extras["plot"], *extras["cuts"], *extras["vision"]], ">=")
    tested = versions((ROOT / "tools" / "floors.txt").read_text(encoding="utf-8").splitlines(), "==")
    assert {name: tested[name] for name in tested if name not in COMPANIONS} == declared
    assert versions(extras["torch"], ">=").keys() == NOT_TRIED


def test_the_version_is_written_the_same_everywhere() -> None:
    assert casimir.__version__ == project()["version"]


# The first version without a hole that is known: what pip-audit asks a server for, where there is none to ask.
HOLES_UP_TO = {
    "torch": "2.6",  # CVE-2025-32434: torch.load(weights_only=True) could run code
    "opencv-contrib-python-headless": "4.8.1.78",  # CVE-2023-4863: WebP images could write behind a buffer
    "scikit-learn": "1.5",  # CVE-2024-5206: words of training texts kept in a model
    "pyarrow": "14.0.1",  # CVE-2023-47248: Arrow and Parquet files could run code
    "distributed": "2021.10",  # CVE-2021-42343: workers of a LocalCluster could listen to the network
    "numpy": "1.22",  # CVE-2021-41496 and others
    "scipy": "1.11.1",  # CVE-2023-25399, CVE-2023-29824
}


def test_no_version_with_a_known_hole_is_allowed() -> None:
    extras = project()["optional-dependencies"]
    lines = [
        *project()["dependencies"],
        *(line for name in ("plot", "cuts", "vision", "torch", "arrow", "dask") for line in extras[name]),
    ]
    floors = versions(lines, ">=")
    too_old = {name: floors[name] for name, first in HOLES_UP_TO.items() if _number(floors[name]) < _number(first)}
    assert too_old == {}


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_an_extra_never_asks_for_less_than_another() -> None:
    found: dict[str, set[str]] = {}
    for line in [line for extra in project()["optional-dependencies"].values() for line in extra]:
        name, sign, version = re.fullmatch(r"([\w-]+)(>=|==)(.*)", line).groups()  # type: ignore[union-attr]
        if sign == ">=":
            found.setdefault(name, set()).add(version)
    assert {name: floors for name, floors in found.items() if len(floors) > 1} == {}


def test_bindings_call_no_macros_that_the_stable_abi_lacks() -> None:
    """Such as PyBytes_GET_SIZE: Python 3.11 builds with them, and the wheel for 3.12 and later does not."""
    macro = re.compile(r"\bPy[A-Z][A-Za-z]*_(?:GET|SET|AS|READ|DATA|KIND)(?:_[A-Z]+)*\b")
    found = {
        path.name: macro.findall(path.read_text(encoding="utf-8")) for path in (ROOT / "cpp" / "bind").glob("*.cpp")
    }
    assert found
    assert not any(found.values()), found
