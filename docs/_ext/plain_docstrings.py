"""Plain docstrings -> reStructuredText: rows of names become lists, `names` become links, nothing else is markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_ROW = re.compile(r"(\S.*?)(?: {2,}|\t)(\S.*)")
_MARKUP = re.compile(r"([\\*|_`])")
_NAME = re.compile(r"`([^`]+)`")

Link = Callable[[str], str | None]  # from a name in backticks to the full name to link to


def as_rst(lines: list[str], link: Link) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    found: list[str] = []
    for block in _blocks(lines):
        found += [*_rendered(block, link), ""]
    return found


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs; a paragraph ends too where rows of names begin, and where they end."""
    block: list[str] = []
    for line in [*lines, ""]:
        starts_rows = bool(block) and _is_row(line) and not any(map(_is_row, block)) and not block[0].startswith(" ")
        if block and (not line.strip() or starts_rows):
            yield block
            block = []
        if line.strip():
            block.append(line.rstrip())


def _is_row(line: str) -> bool:
    return not line.startswith((" ", ">>>", "- ", "|")) and _ROW.fullmatch(line.rstrip()) is not None


def _rendered(block: list[str], link: Link) -> list[str]:
    if block[0].startswith(">>>"):
        return block
    if block[0].startswith(" "):
        return ["::", "", *(f"    {line}" for line in block)]
    if _is_row(block[0]):
        return list(_definitions(block, link))
    return [_inline(line, link) for line in _flush(block)]


def _flush(block: list[str]) -> list[str]:
    """A paragraph without its inner indentation, which would quote it; items of a list stay items."""
    if block[0].startswith("- "):
        return [line if line.startswith("- ") else f"  {line.strip()}" for line in block]
    return [line.strip() for line in block]


def _definitions(block: list[str], link: Link) -> Iterator[str]:
    """name   what it is    ->    a definition list."""
    for line in block:
        row = _ROW.fullmatch(line) if not line.startswith(" ") else None
        if row is not None:
            yield f"``{row[1].replace('`', '')}``"
            yield f"    {_inline(row[2], link)}"
        else:
            yield f"    {_inline(line.strip(), link)}"


def _inline(text: str, link: Link) -> str:
    """Backticks become links or code; every other character means itself."""
    parts = _NAME.split(text)
    for k, part in enumerate(parts):
        if k % 2 == 0:
            parts[k] = _MARKUP.sub(r"\\\1", part)
        else:
            target = link(part)
            parts[k] = f"``{part}``" if target is None else f":py:obj:`{part} <{target}>`"
            after = parts[k + 1]
            if after and (after[0].isalnum() or after[0] == "_"):
                parts[k + 1] = "\\ " + after
    return "".join(parts).replace("::", ": :")
