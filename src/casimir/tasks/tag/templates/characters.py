"""What characters are, told to the core by Python's own `str`: both agree whatever the version of Unicode."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from casimir._native import core

_SIGMA, _FINAL = "\u03a3", "\u03c2"


def characters_of(texts: Iterable[Any]) -> Any:
    """The core's table of the characters in these tables of texts."""
    table = core.CharacterTable(_ascii())
    for one in texts:
        found = {chr(code) for code in table.missing(one)}
        small = {letter for c in found for letter in c.lower()} | ({_FINAL} if _SIGMA in found else set())
        for c in found | small:
            _add(table, c)
    return table


@cache
def _ascii() -> Any:
    table = core.CharacterTable()
    for code in range(128):
        _add(table, chr(code))
    return table


def _add(table: Any, c: str) -> None:
    """A capital sigma behind c ends a word if c is cased; behind a letter and c, also if c is ignored."""
    is_cased = (c + _SIGMA).lower().endswith(_FINAL)
    is_ignored = not is_cased and ("A" + c + _SIGMA).lower().endswith(_FINAL)
    flags = (c.isupper(), c.islower(), c.isalpha(), c.isdigit(), c.isdecimal(), is_cased, is_ignored)
    table.add(ord(c), sum(bool(flag) << bit for bit, flag in enumerate(flags)), c.lower())
