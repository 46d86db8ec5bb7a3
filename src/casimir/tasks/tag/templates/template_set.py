"""A set of templates and how documents are read for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from casimir.tasks.tag.templates.language import EVIDENCE, NAMES, Template, parse_templates
from casimir.tasks.tag.templates.sets import text_of


@dataclass(frozen=True)
class TemplateSet:
    """text    of the templates
    name    of the set or its file, for messages
    is_own  a user's own: lexicons are read where its templates say so. Else templates for the lexicons are added
    alone   sentences without a document that are taken together as one
    least   sentences that a document needs to give evidence
    """

    text: str
    name: str = "templates"
    is_own: bool = True
    alone: int = 1
    least: int = 2

    def parsed(self, columns: Sequence[str], lexicons: Sequence[str]) -> tuple[Template, ...]:
        """The templates for a file with these other columns, where there are these lexicons."""
        found = parse_templates(self.text, columns, self.name)
        if not self.is_own:
            return found + tuple(one for name in lexicons for one in parse_templates(text_of(name), (), name))
        self._check(found, lexicons)
        return found

    @cached_property
    def reads_documents(self) -> bool:
        return f"{{{EVIDENCE}}}" in "".join(self.text.split())

    def _check(self, templates: Sequence[Template], lexicons: Sequence[str]) -> None:
        """Lexicons that the templates read are there, and those that are there are read."""
        holes = [hole for one in templates for hole in one.holes]
        used = {one.name for hole in holes for one in hole.filters}
        reads = {
            "clusters": bool(used & {"cluster", "clusters"}),
            "gazetteer": any(hole.source == NAMES for hole in holes),
            "known": "known" in used,
        }
        for name, option in (("clusters", "--clusters"), ("gazetteer", "--gazetteer"), ("known", "labels that are spans")):
            if reads[name] and name not in lexicons:
                raise ValueError(f"{self.name} reads {name}, which are not given: it needs {option}.")
            if not reads[name] and name in lexicons:
                raise ValueError(f"{self.name} does not read the {name} that are given; add a hole for them, or leave them out.")
