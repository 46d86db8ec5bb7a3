"""Chunk tags: entities as spans, and the schemes that write spans as one tag per token.

A span (start, end, type) covers tokens start..end-1. A tag is `O` or `<prefix>-<type>`:

    IOB1    I inside; B only where an entity follows another of the same type at once
    IOB2    B first, I inside (also called BIO)
    IOBES   B first, I inside, E last, S for a single token

Tags -> spans follows the rules of the official CoNLL scorer, so it is defined for every sequence of well-formed tags
and does not need to know the scheme: a span starts at a tag other than O if the prefix is B or S, if the tag before is
O, E or S, or if the type changes. Hence spans -> tags -> spans is the identity, and a valid
sequence comes back unchanged.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

Tag = tuple[str, str]  # prefix, type; O has the type ""
_MAX_BROKEN = 0.01
_TAG = re.compile(r"O|[BIES](?:-.*)?", re.DOTALL)


class Scheme(Enum):
    """How entities are written as tags; `Scheme("bio")` and `Scheme("IOB2")` are the same scheme."""

    IOB1 = "IOB1"
    IOB2 = "IOB2"
    IOBES = "IOBES"

    @classmethod
    def _missing_(cls, value: object) -> Scheme | None:
        names = {"IOB1": cls.IOB1, "IOB2": cls.IOB2, "BIO": cls.IOB2, "IOBES": cls.IOBES, "BIOES": cls.IOBES}
        return names.get(value.upper()) if isinstance(value, str) else None


class Span(NamedTuple):
    """An entity of `type` over tokens start..end-1."""

    start: int
    end: int
    type: str


@lru_cache(maxsize=4096)
def parse_tag(tag: str) -> tuple[str, str]:
    """(prefix, type) of a tag: "B-LOC" -> ("B", "LOC"), "O" -> ("O", ""). A type may hold hyphens, or be missing."""
    if not _TAG.fullmatch(tag):
        raise ValueError(
            f"unknown tag {tag!r}: a tag is O or a prefix B, I, E or S, a hyphen and a type, such as B-LOC "
            "(IOB1, IOB2 or IOBES). Is the label column the last one of the file?"
        )
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def write_spans(sequences: Iterable[Sequence[Any]]) -> bool:
    """Whether labels look like spans: all of them are tags, and one at least has a prefix and a type."""
    seen = {tag for tags in sequences for tag in tags}
    return all(is_tag(tag) for tag in seen) and any(tag[1:2] == "-" for tag in seen)


def is_tag(label: Any) -> bool:
    """Whether a label is a tag of some scheme."""
    return isinstance(label, str) and _TAG.fullmatch(label) is not None


def begins_span(last: Tag | None, tag: Tag) -> bool:
    """Whether a tag, (prefix, type), begins a span after another; None: it is the first. As the CoNLL scorer has it."""
    prefix, kind = tag
    if prefix == "O":
        return False
    return last is None or prefix in "BS" or last[0] in "OES" or kind != last[1]


def spans(tags: Sequence[str]) -> list[Span]:
    """The entities of one sentence, from left to right, for tags of any scheme, valid or not."""
    return read_spans([parse_tag(tag) for tag in tags])


def read_spans(tags: Sequence[Tag]) -> list[Span]:
    """The same for tags as (prefix, type)."""
    found: list[Span] = []
    start, last = -1, None
    for t, tag in enumerate(tags):
        begins = begins_span(last, tag)
        if start >= 0 and (begins or tag[0] == "O"):
            found.append(Span(start, t, tags[start][1]))
            start = -1
        if begins:
            start = t
        last = tag
    if start >= 0:
        found.append(Span(start, len(tags), tags[start][1]))
    return found


def tags_of(entities: Iterable[Span], length: int, scheme: Scheme) -> list[str]:
    """One tag per token for non-overlapping entities, sorted from left to right."""
    tags = ["O"] * length
    previous = Span(-1, -1, "")
    for span in entities:
        if not previous.end <= span.start < span.end <= length:
            raise ValueError(
                f"{span} does not fit after {previous} in a sentence of {length} tokens; "
                "entities must be sorted, not empty and must not overlap"
            )
        prefixes = ["I"] * (span.end - span.start)
        if scheme is Scheme.IOB1:
            if (previous.end, previous.type) == (span.start, span.type):
                prefixes[0] = "B"
        else:
            prefixes[0] = "B"
            if scheme is Scheme.IOBES:
                prefixes[-1] = "E" if len(prefixes) > 1 else "S"
        tags[span.start : span.end] = [f"{p}-{span.type}" if span.type else p for p in prefixes]
        previous = span
    return tags


def convert(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The same entities in another scheme. Lossless: `spans` of the result are the spans of `tags`."""
    return tags_of(spans(tags), len(tags), scheme)


def detect_scheme(sequences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme of a labelled corpus: the one that the fewest sentences break (IOB2 before IOB1 where they tie).

    E or S anywhere means IOBES. The entities of a sentence that breaks the scheme are those of `spans`; warns when more
    than 1% of the sentences with entities do (CoNLL-2003 as distributed has two that are not IOB1).
    """
    broken = dict.fromkeys((Scheme.IOB2, Scheme.IOB1, Scheme.IOBES), 0)
    end_tags, n = False, 0
    for tags in sequences:
        entities = spans(tags)
        if not entities:
            continue
        n += 1
        end_tags = end_tags or any(tag[0] in "ES" for tag in tags)
        for scheme in broken:
            broken[scheme] += tags_of(entities, len(tags), scheme) != list(tags)
    return best_scheme(broken, end_tags, n)


def best_scheme(broken: Mapping[Scheme, int], end_tags: bool, n: int) -> Scheme:
    """The scheme of a corpus, by how many of its n sentences with entities break each; `end_tags`: E or S is used."""
    if end_tags:
        best = Scheme.IOBES
    else:
        best = min((Scheme.IOB2, Scheme.IOB1), key=broken.__getitem__)
    if broken[best] > _MAX_BROKEN * n:
        warnings.warn(
            f"the labels of {broken[best]} of {n} sentences with entities do not follow {best.value}, "
            "the closest scheme; their entities are read as the official CoNLL scorer reads them",
            stacklevel=3,
        )
    return best
