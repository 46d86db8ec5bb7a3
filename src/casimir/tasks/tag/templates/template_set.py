"""A set of templates and how documents are read for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from casimir.tasks.tag.templates.language import EVIDENCE, NAMES, Template, parse_templates
from casimir.tasks.tag.templates.sets import text_of

FEATURE_SETS = ("default", "pairs", "chunks", "paper")
_HOLE = re.compile(r"\{[^{}]*\}")
# sets that read what words were in training: where labels write spans, and where they do not
_LEARN_TYPES, _LEARN_LABELS = "default", "pairs"
FIRST_DEFAULT = "default-1"  # of models that earlier versions wrote


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
            added = ("known_labels" if (name, self.name) == ("known", _LEARN_LABELS) else name for name in lexicons)
            return found + tuple(one for name in added for one in parse_templates(text_of(name), (), name))
        self._check(found, lexicons)
        return found

    @cached_property
    def reads_documents(self) -> bool:
        return EVIDENCE in self._words

    def learns(self, has_spans: bool) -> bool:
        """Whether it reads what words were in training, where labels write spans or do not."""
        if self.is_own:
            return "known" in self._words
        return self.name == (_LEARN_TYPES if has_spans else _LEARN_LABELS)

    @property
    def averages(self) -> bool:
        """Whether taggers with and without what words were in training are averaged, where it is learnt."""
        return not self.is_own and self.name == _LEARN_LABELS

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words in all holes."""
        lines = [line for line in self.text.split("\n") if not line.strip().startswith("#")]
        return frozenset(word for hole in _HOLE.findall("\n".join(lines)) for word in hole.strip("{}").split())

    @classmethod
    def named(cls, name: str) -> TemplateSet:
        """The templates of a feature set of this library. The first version took sentences without documents by 50."""
        if name not in (*FEATURE_SETS, FIRST_DEFAULT):
            raise ValueError(f"unknown feature set {name!r}; choose one of {sorted(FEATURE_SETS)}")
        if name == FIRST_DEFAULT:
            return cls(text_of("default"), "default", is_own=False, alone=50, least=1)
        return cls(text_of(name), name, is_own=False)

    def _check(self, templates: Sequence[Template], lexicons: Sequence[str]) -> None:
        """Lexicons that the templates read are there, and those that are there are read."""
        holes = [hole for one in templates for hole in one.holes]
        used = {one.name for hole in holes for one in hole.filters}
        reads = {
            "clusters": bool(used & {"cluster", "clusters"}),
            "gazetteer": any(hole.source == NAMES for hole in holes),
            "known": "known" in used,
        }
        for name, option in (
            ("clusters", "--clusters"),
            ("gazetteer", "--gazetteer"),
            ("known", "labels to learn from"),
        ):
            if reads[name] and name not in lexicons:
                raise ValueError(f"{self.name} reads {name}, which are not given: it needs {option}.")
            if not reads[name] and name in lexicons:
                raise ValueError(
                    f"{self.name} does not read the {name} that are given; add a hole for them, or leave them out."
                )


DEFAULT = TemplateSet.named("default")
