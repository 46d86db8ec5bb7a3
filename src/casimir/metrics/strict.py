"""Strict reading of tags: only what the scheme allows is an entity.

Two tags next to each other are written as their prefixes, and '=' where they have the same type, '!' where not. For
every scheme a table says which pairs begin an entity, which go on with it and which end it; the tags before and after a
sentence are O. What begins as an entity but does not end as one counts for nothing. The tables are those that seqeval
has for its strict mode, corner cases included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from casimir.metrics.schemes import Span

_ALIASES = {"BIO": "IOB2", "BIOES": "IOBES"}


@dataclass(frozen=True)
class Rules:
    """Which pairs of tags begin an entity, go on with it and end it."""

    prefixes: str
    begins: frozenset[str]
    inside: frozenset[str]
    ends: frozenset[str]


def _pairs(prefixes: str, text: str) -> frozenset[str]:
    """'OI BI=' -> {'OI=', 'OI!', 'BI='}; '*' stands for every prefix."""
    found = set()
    for word in text.split():
        lasts, nexts = (prefixes if letter == "*" else letter for letter in word[:2])
        found |= {a + b + types for a in lasts for b in nexts for types in word[2:] or "=!"}
    return frozenset(found)


def _rules(prefixes: str, begins: str, inside: str, ends: str) -> Rules:
    return Rules(prefixes, *(_pairs(prefixes, text) for text in (begins, inside, ends)))


RULES = {
    "IOB1": _rules("IOB", "OI II! BI IB= BB=", "BI= II=", "II! IO IB BO BI! BB="),
    "IOB2": _rules("IOB", "*B", "BI= II=", "IO II! IB BO BI! BB"),
    "IOE1": _rules("IOE", "OI II! EI EE=", "II= IE=", "II! IO IE! EI= EE="),
    "IOE2": _rules("IOE", "OI OE EI EE II! IE!", "II= IE=", "E*"),
    "IOBES": _rules("IOBES", "*B *S", "BI= BE= II= IE=", "S* E*"),
    "BILOU": _rules("IOBLU", "*B *U", "BI= BL= II= IL=", "U* L*"),
}


def scheme_name(scheme: Any) -> str:
    """The name of a scheme that is given by name, as a `Scheme`, or as a class of seqeval.scheme."""
    given = getattr(scheme, "value", getattr(scheme, "__name__", scheme))
    name = str(given).upper()
    name = _ALIASES.get(name, name)
    if name not in RULES:
        raise ValueError(f"scheme={scheme!r}; strict mode knows {', '.join(RULES)}.")
    return name


def guess_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """The scheme of a corpus, by the prefixes that it uses: with B and I alone IOB2, with E and I alone IOE2."""
    seen = {tag[0] for tags in sequences for tag in tags if tag}
    for name in ("IOB2", "IOE2", "IOBES", "BILOU"):
        if seen <= set(RULES[name].prefixes):
            return name
    raise ValueError(
        f"the labels begin with {', '.join(sorted(seen))}; no scheme has all of these. Give scheme=, one of "
        f"{', '.join(RULES)}, or leave mode='strict' out."
    )


def strict_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """The entities of one sentence that the scheme allows."""
    rules = RULES[scheme]
    split = [_split(tag, rules, scheme) for tag in tags]
    split.append(("O", "_"))  # a tag without a type has the type '_', so O has it too
    found, i, last = [], 0, ("O", "_")
    while i < len(split):
        first = i
        i += 1
        if _pair(last, split[first]) in rules.begins:
            while i < len(split) and _pair(split[i - 1], split[i]) in rules.inside:
                i += 1
            if i < len(split) and _pair(split[i - 1], split[i]) in rules.ends:
                found.append(Span(first, i, split[first][1]))
        last = split[i - 1]
    return [Span(start, end, "" if kind == "_" else kind) for start, end, kind in found]


def _pair(last: tuple[str, str], tag: tuple[str, str]) -> str:
    return last[0] + tag[0] + ("=" if last[1] == tag[1] else "!")


def _split(tag: str, rules: Rules, scheme: str) -> tuple[str, str]:
    if tag[:1] not in tuple(rules.prefixes):
        raise ValueError(
            f"the tag {tag!r} does not belong to {scheme}, whose tags begin with {', '.join(rules.prefixes)}. Give "
            "another scheme, or leave mode='strict' out."
        )
    return tag[0], tag[1:].strip("-") or "_"
