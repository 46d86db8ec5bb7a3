"""Template files of CRF++ and Wapiti in the language of this library.

    U05:%x[-1,0]/%x[0,1]        ->      U05:{word @-1 else numbered}/{pos else numbered}

CRF++     lines begin with U for features of a label, B for features of two neighbouring labels
Wapiti    lines begin with u, b or * for both; %X is in small letters, %m[row,col,"regex"] what
          matches, %t whether it does

Columns are counted from 0, as they stand in the data. A `B` without a macro is what every chain has: a score for each
pair of neighbouring labels. One with macros becomes a line of `for pairs`. Beyond the ends of a sentence both write
_B-1, _B+1 and so on, Wapiti's own being _x-1 and _x+1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LINE = re.compile(r"[UuBb*][^\s{}]*")
_MACRO = re.compile(r"%([xXmMtT])\[\s*([+-]?\d+)\s*,\s*(\d+)\s*(?:,\s*\"((?:[^\"\\]|\\.)*)\"\s*)?\]")
_CLASSES = {"a": "[A-Za-z]", "d": "[0-9]", "l": "[a-z]", "u": "[A-Z]", "w": "[A-Za-z0-9_]", "p": r"[!-/:-@\[-`\x7b-~]"}
_CLASSES |= {"s": r"[\x09-\x0d\x20]"}
_CLASSES |= {k.upper(): v.replace("[", "[^", 1) for k, v in _CLASSES.items()}


def is_crfpp(text: str) -> bool:
    """Whether all lines look like those of CRF++ or Wapiti: U05:%x[0,0], or a B alone; and one has a macro."""
    lines = list(_lines(text))
    return (
        bool(lines)
        and "%" in text
        and all(_MACRO.search(line) or _LINE.fullmatch(line) for _, line in lines)
        and all(line[0] in "UuBb*" for _, line in lines)
    )


def from_crfpp(text: str, order: Sequence[str], name: str = "templates") -> str:
    """The same templates here; order: the names of the columns of the data, "word" and "label" among them."""
    of_tokens, of_pairs = [], []
    for number, line in _lines(text):
        where = f"{name}, line {number}: {line!r}"
        if line[0] not in "Bb":
            of_tokens.append(_template(line, order, where))
        if line[0] not in "Uu" and "%" in line:
            of_pairs.append(_template(line, order, where))
    if not of_tokens:
        raise ValueError(f"{name} has no template of a single label; write one such as U00:%x[0,0].")
    pairs = ["for pairs", *of_pairs, "end"] if of_pairs else []
    return "\n".join([f"# from {name}", *of_tokens, *pairs]) + "\n"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = raw.strip()
        if line and not line.startswith("#"):
            yield number, line


def _template(line: str, order: Sequence[str], where: str) -> str:
    made, end = "", 0
    for match in _MACRO.finditer(line):
        made += _literal(line[end : match.start()], where) + _hole(match, order, where)
        end = match.end()
    return made + _literal(line[end:], where)


def _literal(text: str, where: str) -> str:
    if "%" in text:
        raise ValueError(f"{where} has a macro that is not understood; write %x[row,column], such as %x[-1,0].")
    return text.replace("{", "{{").replace("}", "}}")


def _hole(match: re.Match[str], order: Sequence[str], where: str) -> str:
    kind, row, column, regex = match.groups()
    data = [one for one in order if one != "label"]
    if int(column) >= len(data):
        raise ValueError(f"{where} reads column {column}, counted from 0; the data has {len(data)}: {', '.join(data)}.")
    filters = ""
    if kind in "mMtT":
        if regex is None:
            raise ValueError(f'{where}: %{kind} needs a regular expression, such as %{kind}[0,0,"^."].')
        filters = f" {'match' if kind in 'mM' else 'test'} {_regex(regex, where)}"
    lower = " lower" if kind.isupper() else ""
    place = f" @{int(row)}" if int(row) else ""
    return f"{{{data[int(column)]}{filters}{lower}{place} else numbered}}"


def _regex(text: str, where: str) -> str:
    """A regular expression of Wapiti, which knows ^ $ . ? * and classes such as \\d, as one of Python."""
    found = "".join(_piece(piece) for piece in re.findall(r"\\.|.", text))
    try:
        re.compile(found)
    except re.error as error:
        raise ValueError(f"{where}: the regular expression is not understood: {error}.") from None
    return found


def _piece(piece: str) -> str:
    if piece.startswith("\\"):
        return _CLASSES.get(piece[1], _literally(piece[1]))
    return piece if piece in "^$.?*" else _literally(piece)


def _literally(character: str) -> str:
    """Holes of templates have neither blanks nor braces."""
    return f"\\x{ord(character):02x}" if character in " \t{}" else re.escape(character)
