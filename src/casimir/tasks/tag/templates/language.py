"""The language of templates: each line is the text of a feature, with holes for what the token and its neighbours are.

    w[-1]c[0]={word digits lower @-1}|{word case}      ->      "w[-1]c[0]=the|T"

A hole is a source, filters and a place: `{SOURCE FILTER ... @PLACE else OUTSIDE}`.

source    word, another column of the file, or `place`, `evidence`, `names`
filters   what is made of the text, one after another; see `filters.py`
@PLACE    an offset such as @-1 or @2; or @left, @first, @last, @right of the token's run of capitalised words, which
          other tokens do not have
else      what stands beyond the ends of the sentence: `none`, so that there is no feature; `empty`; `numbered`, that is
          _B-1, _B-2, _B+1 ...; any other word is the text itself. Without it, <s> before and </s> behind

A hole with several values makes a feature of each, one with no value makes none. `for columns` ... `end` repeats its
lines for every other column, or for those that it names, with the column's name for COLUMN. Those of `for pairs` ...
`end` are features of the token's label and the one before. Lines that begin with # are comments; {{ and }} are braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from casimir.tasks.tag.templates.filters import ARGUMENTS, Filter

WORD, PLACE, EVIDENCE, NAMES = "word", "place", "evidence", "names"
SPECIAL = (PLACE, EVIDENCE, NAMES)
ANCHORS = ("token", "left", "first", "last", "right")
MARK, NONE, TEXT, NUMBERED = OUTSIDES = ("mark", "none", "text", "numbered")
_COLUMN = "COLUMN"
_MOST_DIGITS = 6
_PIECES = re.compile(r"(\{\{|\}\}|\{[^{}]*\}|[{}])")
_PLACE = re.compile(r"@(left|first|last|right)?([+-]?\d+)?")


@dataclass(frozen=True)
class Hole:
    """source    a column, or one of SPECIAL
    filters   what is made of its text
    anchor    what the offset counts from, one of ANCHORS
    outside   one of OUTSIDES; `text` is what "text" shows
    """

    source: str
    filters: tuple[Filter, ...] = ()
    anchor: str = "token"
    offset: int = 0
    outside: str = MARK
    text: str = ""


@dataclass(frozen=True)
class Template:
    """texts[0] holes[0] texts[1] holes[1] ... texts[n]

    of_pairs  whether it makes features of two neighbouring labels
    """

    texts: tuple[str, ...]
    holes: tuple[Hole, ...] = ()
    of_pairs: bool = False


def parse_templates(text: str, columns: Sequence[str] = (), name: str = "templates") -> tuple[Template, ...]:
    """The templates of a text, for a file that has these columns besides the word and the label."""
    found = tuple(
        replace(_template(line, f"{name}, line {number}", columns), of_pairs=of_pairs)
        for number, line, of_pairs in _lines(text, columns, name)
    )
    if all(one.of_pairs for one in found):
        raise ValueError(f"{name} holds no templates of a token; write a feature per line, such as w[0]={{word lower}}")
    return found


def _lines(text: str, columns: Sequence[str], name: str) -> Iterator[tuple[int, str, bool]]:
    """Lines with their numbers, those of loops repeated, and whether they are of pairs."""
    loop: list[tuple[int, str]] | None = None
    over: Sequence[str] | None = None
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        words = line.split()
        if words[:2] in (["for", "columns"], ["for", "pairs"]):
            if loop is not None:
                raise ValueError(f"{name}, line {number}: a loop inside a loop; write `end` first.")
            if words[1] == "pairs" and words[2:]:
                raise ValueError(f"{name}, line {number}: `for pairs` stands alone; write its lines below it.")
            chosen = [one for one in columns if not words[2:] or one in words[2:]]
            loop, over = [], None if words[1] == "pairs" else chosen
        elif line == "end":
            if loop is None:
                raise ValueError(f"{name}, line {number}: `end`, but no `for columns` or `for pairs` before it.")
            if over is None:
                yield from ((k, one, True) for k, one in loop)
            else:
                yield from ((k, one.replace(_COLUMN, column), False) for column in over for k, one in loop)
            loop = None
        elif loop is not None:
            loop.append((number, line))
        else:
            yield number, line, False
    if loop is not None:
        raise ValueError(f"{name}: `for columns` or `for pairs` without its `end`.")


def _template(line: str, where: str, columns: Sequence[str]) -> Template:
    texts, holes = [""], []
    for piece in _PIECES.split(line):
        if piece in ("{{", "}}"):
            texts[-1] += piece[0]
        elif piece in ("{", "}"):
            raise ValueError(f"{where}: {line!r} has a brace without its other one; write {{{{ or }}}} for a brace.")
        elif piece.startswith("{"):
            holes.append(_hole(piece[1:-1].split(), f"{where}: {piece}", columns))
            texts.append("")
        else:
            texts[-1] += piece
    if any(hole.source == EVIDENCE for hole in holes) and len(holes) > 1:
        raise ValueError(f"{where}: {{{EVIDENCE}}} makes features by itself; leave the other holes of its line out.")
    return Template(tuple(texts), tuple(holes))


def _hole(words: list[str], where: str, columns: Sequence[str]) -> Hole:
    if not words:
        raise ValueError(f"{where} is empty; write a column such as {{word}}.")
    source, rest = words[0], words[1:]
    if source not in (WORD, *columns, *SPECIAL):
        raise ValueError(f"{where}: no column {source!r}; there are {', '.join((WORD, *columns, *SPECIAL))}.")
    filters = []
    while rest and rest[0] != "else" and not rest[0].startswith("@"):
        one, rest = _filter(rest, where)
        filters.append(one)
    anchor, offset = "token", 0
    if rest and rest[0].startswith("@"):
        match = _PLACE.fullmatch(rest[0])
        if match is None or rest[0] == "@":
            raise ValueError(f"{where}: {rest[0]!r} is no place; write an offset such as @-1, or @left, @first.")
        anchor, offset, rest = match[1] or "token", _number(match[2] or "0", where), rest[1:]
    outside, text = MARK, ""
    if rest:
        outside, text = _outside(rest, where)
    if source in (PLACE, EVIDENCE) and (filters or anchor != "token" or offset):
        raise ValueError(f"{where}: {source!r} has neither filters nor places.")
    if source == NAMES and [one.name for one in filters] not in ([], ["with-case"]):
        raise ValueError(f"{where}: {NAMES!r} has no filter but with-case.")
    if source != NAMES and any(one.name == "with-case" for one in filters):
        raise ValueError(f"{where}: with-case belongs to {NAMES!r}.")
    return Hole(source, tuple(filters), anchor, offset, outside, text)


def _outside(rest: list[str], where: str) -> tuple[str, str]:
    if rest[0] != "else" or len(rest) != 2:
        raise ValueError(f"{where}: {' '.join(rest)!r} is not understood; behind the place stands `else` and a word.")
    if rest[1] in (NONE, NUMBERED):
        return rest[1], ""
    return TEXT, "" if rest[1] == "empty" else rest[1]


def _filter(words: list[str], where: str) -> tuple[Filter, list[str]]:
    """The filter that begins here, and the words behind it."""
    if words[0] not in ARGUMENTS:
        raise ValueError(f"{where}: no filter {words[0]!r}; there are {', '.join(ARGUMENTS)}.")
    names = ARGUMENTS[words[0]]
    given = dict(zip(names, words[1:], strict=False))
    for name in names:
        if name not in given or (name != "characters" and not (given[name].isascii() and given[name].isdigit())):
            wanted = " ".join([words[0], *names])
            raise ValueError(
                f"{where}: {words[0]!r} is written {wanted!r}, such as {{word first 3}} or {{word split -}}."
            )
    if words[0] in ("match", "test"):
        _check_regex(given["characters"], where)
    if words[0] == "ngrams" and int(given["number"]) == 0:
        raise ValueError(f"{where}: runs of 0 characters; write 'ngrams 3 10' for the first ten runs of three.")
    numbers = {name: value if name == "characters" else _number(value, where) for name, value in given.items()}
    made = Filter(
        words[0], int(numbers.get("number", 0)), int(numbers.get("most", 0)), str(numbers.get("characters", ""))
    )
    return made, words[1 + len(names) :]


def _number(text: str, where: str) -> int:
    if len(text.lstrip("+-0")) > _MOST_DIGITS:
        raise ValueError(f"{where}: {text[:20]!r} is too large; numbers have {_MOST_DIGITS} digits at the most.")
    return int(text)


def _check_regex(text: str, where: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{where}: {text!r} is no regular expression: {error}; \\x20 is a blank.") from None
