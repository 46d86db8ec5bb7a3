"""Dependencies point one way: a module imports only from layers below its own, none from its neighbours in a layer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import casimir

ROOT = Path(casimir.__file__).parent
LAYERS = [
    {"scores", "vocabulary"},
    {"structures", "features", "penalties", "persistence", "metrics"},
    {"packs"},
    {"smoothing", "costs", "models", "duality", "truth", "report"},
    {"losses", "curvature"},
    {"problems"},
    {"objective"},
    {"linearized"},
    {"solvers"},
    {"estimators", "torch"},
    {"dask"},
    {"tasks", "compat"},
    {"experiments"},
    {"cli"},
]
ANYWHERE = {"errors"}  # and names with an underscore: helpers that may be imported by all
OUTSIDE = {"datasets", "progress", "plotting", "testing"}  # not part of the stack


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def layer_of(name: str) -> int | None:
    return next((k for k, names in enumerate(LAYERS) if name in names), None)


def first_name(path: Path) -> str:
    """The module or folder under casimir that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """The modules or folders under casimir that a file imports from, wherever in the file it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("casimir.")}
    return found


def test_every_module_has_a_layer() -> None:
    known = set().union(*LAYERS) | ANYWHERE | OUTSIDE
    unknown = {first_name(path) for path in modules()} - known
    assert {name for name in unknown if not name.startswith("_")} == set()


LAYERED = [path for path in modules() if layer_of(first_name(path)) is not None]


@pytest.mark.parametrize("path", LAYERED, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    own = first_name(path)
    layer = layer_of(own)
    assert layer is not None
    for name in imported(path) - ANYWHERE - {own}:
        below = layer_of(name)
        assert name.startswith("_") or name in OUTSIDE or below is not None, f"{path.name} imports {name}"
        if below is not None:
            assert below < layer, f"{own} imports {name}, which does not lie below it"


def test_helpers_know_only_the_lowest_layers() -> None:
    for path in modules():
        if path.name.startswith("_") and path.name not in ("__init__.py", "__main__.py"):
            assert all(name.startswith("_") or name in ANYWHERE | {"scores"} for name in imported(path)), path.name


def test_datasets_import_nothing_from_the_rest() -> None:
    for path in ROOT.joinpath("datasets").rglob("*.py"):
        assert imported(path) <= {"datasets"}, path.name


def test_solvers_do_not_see_features() -> None:
    for path in ROOT.joinpath("solvers").rglob("*.py"):
        assert not imported(path) & {"features", "models", "structures", "costs"}, path.name


def test_models_and_structures_do_not_see_each_other() -> None:
    for path in ROOT.joinpath("structures").rglob("*.py"):
        assert not imported(path) & {"models", "features", "costs"}, path.name
    for path in ROOT.joinpath("models").rglob("*.py"):
        assert not imported(path) & {"structures", "costs", "smoothing"}, path.name


def test_penalties_and_duals_know_nothing_of_losses() -> None:
    for path in [*ROOT.joinpath("penalties").rglob("*.py"), ROOT / "duality.py"]:
        assert {name for name in imported(path) if not name.startswith("_")} <= {"penalties", "scores"}, path.name


def test_losses_know_nothing_of_models_and_structures() -> None:
    for path in ROOT.joinpath("losses").rglob("*.py"):
        assert {name for name in imported(path) if not name.startswith("_")} <= {"losses", "costs", "smoothing"}
