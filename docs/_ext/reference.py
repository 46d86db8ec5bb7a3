"""A Sphinx extension: writes the pages of the reference before the build, and reads the house's plain docstrings."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import public_names as public
from plain_docstrings import as_rst
from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "reference"))
    app.connect("autodoc-process-docstring", _process)
    TypeAliasForwardRef.__repr__ = plain_name  # or signatures say TypeAliasForwardRef('Label') inside of list[...]
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}


def plain_name(alias: TypeAliasForwardRef) -> str:
    return alias.name


def write_pages(folder: Path) -> None:
    """One page per module, with every public name of it."""
    folder.mkdir(exist_ok=True)
    texts = {folder / f"{home}.rst": page(home, names) for home, names in public.pages().items()}
    for file in set(folder.glob("*.rst")) - set(texts):
        file.unlink()
    for file, text in texts.items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:  # an old page is not read again
            file.write_text(text, encoding="utf-8")


def page(home: str, names: list[str]) -> str:
    about = "\n".join(as_rst([public.summary_of(importlib.import_module(home))], link_to))
    return "\n".join([home, "=" * len(home), "", about, *(_entry(name) for name in names)])


def _entry(name: str) -> str:
    value = public.value_of(name)
    title = name.rpartition(".")[2]
    if inspect.isclass(value):
        directive = f".. autoclass:: {name}\n    :members:\n    :inherited-members:\n    :member-order: bysource\n"
        if issubclass(value, BaseException):
            directive = f".. autoexception:: {name}\n"
    else:
        directive = f".. {'autofunction' if callable(value) else 'autodata'}:: {name}\n"
    return f"{title}\n{'-' * len(title)}\n\n{directive}"


def link_to(given: str) -> str | None:
    """The full name behind `Chain`, `cs.Chain` or `casimir.Chain.max`, if it is in the reference."""
    name = given.removesuffix("()").removeprefix("cs.").removeprefix("casimir.")
    first, _, rest = name.partition(".")
    full = next((one for names in public.pages().values() for one in names if one.endswith(f".{first}")), None)
    if full is None or (rest and rest not in public.methods_of(public.value_of(full))):
        return None
    return f"{full}.{rest}" if rest else full


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if not any(lines) and what in ("method", "property"):
        lines[:] = (public.said_of_method(name.rpartition(".")[2]) or "").splitlines()
    lines[:] = as_rst(lines, link_to)


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Methods of other libraries are left out; those that an interface explains are kept."""
    if name.startswith("_"):
        return None
    if callable(obj) or isinstance(obj, property):
        if not public.is_ours(obj):
            return True
        return None if inspect.getdoc(obj) else public.said_of_method(name) is None
    return None
