"""Templates from a file: in the language of this library, of CRF++ or of Wapiti."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from casimir.tasks.tag.templates.crfpp import from_crfpp, is_crfpp
from casimir.tasks.tag.templates.template_set import TemplateSet
from casimir.tasks.text import read_text

WHAT = "a file of templates"


def read_templates(path: str | Path, order: Sequence[str], encoding: str = "utf-8") -> TemplateSet:
    """The templates of a file; order: the names of the columns of the data, "word" and "label" among them."""
    text = read_text(path, encoding, WHAT)
    name = Path(path).name
    if "{" not in text.replace("{{", "") and "%" not in text:
        raise ValueError(f"{name} reads nothing of a token: no line has a hole such as {{word lower}}.")
    return TemplateSet(from_crfpp(text, order, name) if is_crfpp(text) else text, name)
