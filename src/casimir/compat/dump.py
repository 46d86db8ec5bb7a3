"""CRFsuite models, read from the text that `crfsuite dump` or `pycrfsuite.Tagger.dump` writes of them."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from casimir.compat.crf import CRF
from casimir.compat.model import Model
from casimir.models.weight_rows import CHAIN_ENDS
from casimir.persistence.files import read_regular
from casimir.scores import FloatArray
from casimir.vocabulary import Vocabulary

_SECTION = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = \{")
_COUNT = re.compile(r"\s*(num_labels|num_attrs|num_features): ([0-9]{1,18})")
_NAME = re.compile(r"\s*([0-9]{1,18}): (.*)")
_WEIGHT = re.compile(r"\s*\([0-9]+\) (.*): ([-+0-9.eE]+)")
_ARROW = " --> "


def from_crfsuite(dump: str | os.PathLike[str]) -> CRF:
    """A fitted CRF with the weights of a CRFsuite model; weights in a dump have six digits behind the point.

    dump  the path of a file that `crfsuite dump MODEL > FILE` or `pycrfsuite.Tagger().dump(FILE)` wrote, or its text
    """
    sections = _sections(dump if isinstance(dump, str) and "\n" in dump else _text(Path(dump)))
    labels, attributes = _names(sections["LABELS"]), _names(sections["ATTRIBUTES"])
    if not labels:
        raise ValueError("The dump has no labels: it is not that of a model, or it is cut off.")
    rows = np.zeros((len(attributes) + len(labels) + CHAIN_ENDS, len(labels)))
    _read(sections["STATE_FEATURES"], attributes, labels, rows[: len(attributes)])
    _read(sections["TRANSITIONS"], labels, labels, rows[len(attributes) : -CHAIN_ENDS])
    weights = len(sections["STATE_FEATURES"]) + len(sections["TRANSITIONS"])
    counts = {"num_labels": len(labels), "num_attrs": len(attributes), "num_features": weights}
    _check_counts(sections.get("FILEHEADER", []), counts)
    crf = CRF()
    crf.model_ = Model.of(rows, tuple(labels), Vocabulary(attributes))
    crf.objective_ = crf.dual_ = crf.gap_ = None
    return crf


def _text(file: Path) -> str:
    data = read_regular(file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no UTF-8 text: byte 0x{data[error.start]:02x} at {error.start}.") from None


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if (match := _SECTION.fullmatch(line)) is not None:
            if match[1] in found:
                raise ValueError(f"The dump has the section {match[1]} twice; two files may have run together.")
            current = found[match[1]] = []
        elif line == "}":
            current = None
        elif current is not None and line.strip():
            current.append(line)
    missing = {"LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES"} - found.keys()
    if missing or current is not None:
        what = f"no section {', '.join(sorted(missing))}" if missing else "a section without an end"
        raise ValueError(
            f"The text has {what}; it is no whole dump of a CRFsuite model. Write one with "
            "`crfsuite dump MODEL > FILE` or pycrfsuite.Tagger().dump(FILE)."
        )
    return found


def _names(lines: list[str]) -> dict[str, int]:
    """{name: number}, in the order of the numbers."""
    found: dict[str, int] = {}
    for line in lines:
        match = _NAME.fullmatch(line)
        if match is None or int(match[1]) != len(found):
            raise ValueError(f"The dump has the line {line!r} where '{len(found)}: NAME' should stand.")
        if match[2] in found:
            raise ValueError(f"The dump has the name {match[2]!r} twice, as {found[match[2]]} and {len(found)}.")
        found[match[2]] = len(found)
    return found


def _check_counts(header: list[str], counts: dict[str, int]) -> None:
    """Whether there is as much as the header says; CRFsuite itself leaves num_features at 0."""
    for line in header:
        match = _COUNT.fullmatch(line)
        if match is None or (match[1] == "num_features" and not int(match[2])):
            continue
        if int(match[2]) != counts[match[1]]:
            raise ValueError(f"The dump says {match[0].strip()!r} and has {counts[match[1]]} of them; it is damaged.")


def _read(lines: list[str], sources: dict[str, int], labels: dict[str, int], out: FloatArray) -> None:
    """out[source, label] = weight, for lines `(type) source --> label: weight`."""
    seen = set()
    for line in lines:
        match = _WEIGHT.fullmatch(line)
        place = None if match is None else _place(match[1], sources, labels)
        value = math.nan if match is None else _number(match[2])
        if place is None or not math.isfinite(value):
            raise ValueError(f"The dump has the line {line!r}, which names no weight of its attributes and labels.")
        if place in seen:
            raise ValueError(f"The dump has the line {line!r}, and another weight in the same place.")
        seen.add(place)
        out[place] = value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _place(text: str, sources: dict[str, int], labels: dict[str, int]) -> Any:
    """(source, label) of `source --> label`, both of which may hold an arrow themselves."""
    at = text.find(_ARROW)
    while at >= 0:
        source, label = text[:at], text[at + len(_ARROW) :]
        if source in sources and label in labels:
            return sources[source], labels[label]
        at = text.find(_ARROW, at + 1)
    return None
