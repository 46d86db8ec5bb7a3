"""CRFsuite models, read from the text that `crfsuite dump` or `pycrfsuite.Tagger.dump` writes of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from casimir.compat.crf import CRF
from casimir.compat.model import Model
from casimir.models.weight_rows import CHAIN_ENDS
from casimir.scores import FloatArray
from casimir.vocabulary import Vocabulary

_SECTION = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = \{")
_NAME = re.compile(r"\s*(\d+): (.*)")
_WEIGHT = re.compile(r"\s*\(\d+\) (.*): (\S+)")
_ARROW = " --> "


def from_crfsuite(dump: str | os.PathLike[str]) -> CRF:
    """A fitted CRF with the weights of a CRFsuite model; weights in a dump have six digits behind the point.

    dump  the path of a file that `crfsuite dump MODEL > FILE` or `pycrfsuite.Tagger().dump(FILE)` wrote, or its text
    """
    text = dump if isinstance(dump, str) and "\n" in dump else Path(dump).read_text(encoding="utf-8")
    sections = _sections(text)
    labels, attributes = _names(sections["LABELS"]), _names(sections["ATTRIBUTES"])
    if not labels:
        raise ValueError("The dump has no labels: it is not that of a model, or it is cut off.")
    rows = np.zeros((len(attributes) + len(labels) + CHAIN_ENDS, len(labels)))
    _read(sections["STATE_FEATURES"], attributes, labels, rows[: len(attributes)])
    _read(sections["TRANSITIONS"], labels, labels, rows[len(attributes) : -CHAIN_ENDS])
    crf = CRF()
    crf.model_ = Model.of(rows, tuple(labels), Vocabulary(attributes))
    crf.objective_ = crf.dual_ = crf.gap_ = None
    return crf


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if (match := _SECTION.fullmatch(line)) is not None:
            current = found.setdefault(match[1], [])
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
        found[match[2]] = len(found)
    return found


def _read(lines: list[str], sources: dict[str, int], labels: dict[str, int], out: FloatArray) -> None:
    """out[source, label] = weight, for lines `(type) source --> label: weight`."""
    for line in lines:
        match = _WEIGHT.fullmatch(line)
        place = None if match is None else _place(match[1], sources, labels)
        if match is None or place is None:
            raise ValueError(f"The dump has the line {line!r}, which names no weight of its attributes and labels.")
        out[place] = float(match[2])


def _place(text: str, sources: dict[str, int], labels: dict[str, int]) -> Any:
    """(source, label) of `source --> label`, both of which may hold an arrow themselves."""
    at = text.find(_ARROW)
    while at >= 0:
        source, label = text[:at], text[at + len(_ARROW) :]
        if source in sources and label in labels:
            return sources[source], labels[label]
        at = text.find(_ARROW, at + 1)
    return None
