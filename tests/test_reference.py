"""Nothing public lacks a docstring or a place in the reference, and the documentation needs nothing private."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import casimir.tasks

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = ROOT / "docs" / "_ext"
TASKS = [f"casimir.tasks.{one.name}" for one in pkgutil.iter_modules(casimir.tasks.__path__) if one.ispkg]
MODULES = [
    "casimir",
    "casimir.tasks",
    "casimir.experiments",
    "casimir.plotting",
    "casimir.testing",
    "casimir.datasets",
    "casimir.torch",
    "casimir.dask",
    *TASKS,
]
HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_DASK = importlib.util.find_spec("distributed") is not None
PRIVATE = re.compile(r"\b(?:from|import)\s+(casimir(?:\.\w+)*\._\w+|casimir\s+import\s+.*\b_\w+)")

pytestmark = pytest.mark.skipif(not EXTENSIONS.exists(), reason="needs the source tree")


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """docs/_ext/public_names.py, by which the pages are written."""
    if not (HAS_TORCH and HAS_DASK):
        pytest.skip("the reference has pages of casimir.torch and casimir.dask")
    sys.path.insert(0, str(EXTENSIONS))
    try:
        return importlib.import_module("public_names")
    finally:
        sys.path.remove(str(EXTENSIONS))


def public(module: str) -> dict[str, Any]:
    """The public names of a module, without the modules among them."""
    if module == "casimir.torch" and not HAS_TORCH:
        pytest.skip("needs PyTorch")
    if module == "casimir.dask" and not HAS_DASK:
        pytest.skip("needs Dask")
    home = importlib.import_module(module)
    values = {name: getattr(home, name) for name in getattr(home, "__all__", [])}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring(module: str, reference: ModuleType) -> None:
    assert inspect.getdoc(importlib.import_module(module)), module
    for name, value in public(module).items():
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        assert value.__doc__, f"{module}.{name} has no docstring"
        assert not value.__doc__.startswith(f"{name}("), f"the docstring of {module}.{name} is the dataclass's own"
        for method in reference.methods_of(value) if inspect.isclass(value) else ():
            said = method.startswith("test_") or reference.docstring_of(value, method)  # a test's name says it all
            assert said, f"{module}.{name}.{method} has no docstring"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_page(module: str, reference: ModuleType) -> None:
    shown = [reference.value_of(name) for names in reference.pages().values() for name in names]
    for name, value in public(module).items():
        assert any(value is one for one in shown), f"{module}.{name} is on no page"


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.py"))],
    ids=lambda page: page.name,
)
def test_documentation_imports_nothing_private(page: Path) -> None:
    found = PRIVATE.search(page.read_text(encoding="utf-8"))
    assert found is None, f"{page.name}: {found and found[0]}"


def test_private_imports_would_be_found() -> None:
    for line in ("from casimir._native import core", "import casimir.tasks._x", "from casimir import Chain, _arrays"):
        assert PRIVATE.search(line), line


def test_signatures_name_aliases_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    inspection, reference = importlib.import_module("sphinx.util.inspect"), importlib.import_module("reference")
    monkeypatch.setattr(inspection.TypeAliasForwardRef, "__repr__", reference.plain_name)
    assert repr(list[inspection.TypeAliasForwardRef("Label")]) == "list[Label]"
