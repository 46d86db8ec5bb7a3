"""Templates and tokens -> packed features, in native code.

Every template is compiled once. The core works on distinct texts: what depends on one text alone is computed once for
each; lexicons are asked here, once for every distinct word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from casimir._native import core
from casimir._threads import n_threads
from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.templates.characters import characters_of
from casimir.tasks.tag.templates.filters import NOT_IN_CORE, Filter, filtered
from casimir.tasks.tag.templates.language import ANCHORS, EVIDENCE, NAMES, OUTSIDES, PLACE, WORD, Hole
from casimir.tasks.tag.templates.template_set import TemplateSet
from casimir.tasks.tag.tokens import Column, Tokens
from casimir.tasks.tag.words import case_of
from casimir.vocabulary import Vocabulary

_FILTERED, _BY_TEXT, _BY_TOKEN, _PLACE, _EVIDENCE = range(5)
_Source = tuple[str, tuple[Filter, ...]]
_KNOWN = Filter("known")


def extract(
    tokens: Tokens,
    templates: TemplateSet,
    lexicons: Lexicons,
    n_features: int | None,
    vocabulary: Vocabulary | None = None,
    pairs: Vocabulary | None = None,
    growing: Vocabulary | None = None,
) -> PackedSequences:
    """What `pack` gives for the features of the tokens; n_features and vocabulary as there.

    pairs    the vocabulary of the features of pairs of labels, where the templates make any; None: a new one
    growing  a vocabulary to which the names that it does not hold are added
    """
    if not len(tokens):
        raise ValueError("there are no sentences; features need at least one.")
    own = templates, tokens.others, lexicons.names
    packed = _packed(_compiled(*own, of_pairs=False), tokens, lexicons, n_features, vocabulary, growing)
    of_pairs = _compiled(*own, of_pairs=True)
    return packed.with_edges(None if of_pairs is None else _packed(of_pairs, tokens, lexicons, None, pairs))


def _packed(
    program: _Program | None,
    tokens: Tokens,
    lexicons: Lexicons,
    n_features: int | None,
    vocabulary: Vocabulary | None,
    growing: Vocabulary | None = None,
) -> PackedSequences:
    assert program is not None
    columns = [tokens.columns[name] for name in (WORD, *tokens.others)]
    arguments = (
        program.plan,
        characters_of(one.texts for one in columns),
        tokens.offsets,
        tokens.documents,
        [np.ascontiguousarray(one.ids) for one in columns],
        [one.texts for one in columns],
        [_values(source, tokens, lexicons) for source in program.sources],
    )
    if vocabulary is not None:
        arrays = core.extract_known(*arguments, vocabulary._table, n_threads())
    elif n_features is not None:
        arrays = core.extract_hashed(*arguments, n_features, n_threads())
    else:
        vocabulary = Vocabulary() if growing is None else growing
        arrays = core.extract_growing(*arguments, vocabulary._table)
    size = max(1, len(vocabulary)) if vocabulary is not None else n_features
    assert size is not None
    offsets, indptr, indices, values = arrays
    return PackedSequences.unchecked(offsets, indptr, indices, values, size, vocabulary)


def features_for(
    predictor: ChainPredictor, tokens: Tokens, templates: TemplateSet, lexicons: Lexicons
) -> PackedSequences:
    """In the numbers of a model that was trained; features that it has never seen count for nothing."""
    vocabulary = predictor.vocabulary if isinstance(predictor.vocabulary, Vocabulary) else None
    return extract(tokens, templates, lexicons, predictor.n_features, vocabulary, predictor.pairs)


@dataclass(frozen=True, eq=False)
class _Program:
    plan: Any
    sources: tuple[_Source, ...]


@lru_cache(maxsize=64)
def _compiled(
    templates: TemplateSet, columns: tuple[str, ...], lexicons: tuple[str, ...], *, of_pairs: bool
) -> _Program | None:
    """The templates of tokens, or those of pairs; None where there are none."""
    chosen = [one for one in templates.parsed(columns, lexicons) if one.of_pairs == of_pairs]
    if not chosen:
        return None
    plan = core.TemplatePlan(templates.alone, templates.least)
    sources: dict[_Source, int] = {}
    for one in chosen:
        plan.add_template(list(one.texts), [_hole_parts(hole, sources, plan, (WORD, *columns)) for hole in one.holes])
    return _Program(plan, tuple(sources))


def _hole_parts(hole: Hole, sources: dict[_Source, int], plan: Any, columns: Sequence[str]) -> tuple[Any, ...]:
    key = hole.source, hole.filters
    if key not in sources:
        sources[key] = len(sources)
        column = columns.index(hole.source) if hole.source in columns else 0
        plan.add_source(_kind(key), column, [(f.name, f.number, f.most, f.characters) for f in hole.filters])
    return sources[key], ANCHORS.index(hole.anchor), hole.offset, OUTSIDES.index(hole.outside), hole.text


def _kind(source: _Source) -> int:
    name, filters = source
    special = {PLACE: _PLACE, EVIDENCE: _EVIDENCE, NAMES: _BY_TOKEN}
    if name in special:
        return special[name]
    return _BY_TEXT if any(one.name in NOT_IN_CORE for one in filters) else _FILTERED


def _values(source: _Source, tokens: Tokens, lexicons: Lexicons) -> tuple[np.ndarray, ...] | None:
    """Values that the core does not compute: of every distinct text, or of every token."""
    name, filters = source
    kind = _kind(source)
    if kind == _BY_TEXT:
        texts = tokens.columns[name].strings
        if lexicons.known is not None and filters == (_KNOWN,):  # of every distinct word, as a rule
            return _arrays([(types,) for types in map(lexicons.known.types_of, texts)])
        return _arrays([filtered(filters, text, lexicons) for text in texts])
    if kind == _BY_TOKEN:
        return _arrays(names_of(tokens, lexicons, with_case=bool(filters)))
    return None


def names_of(tokens: Tokens, lexicons: Lexicons, with_case: bool) -> list[list[str]]:
    """For every token the names of the gazetteer that it is part of."""
    assert lexicons.gazetteer is not None
    words: Column = tokens.columns[WORD]
    found = []
    for a, b in zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True):
        sentence = [words.strings[k] for k in words.ids[a:b].tolist()]
        for word, marks in zip(sentence, lexicons.gazetteer.marks(sentence), strict=True):
            found.append(marked(marks, word) if with_case else marks)
    return found


def marked(marks: Sequence[str], word: str) -> list[str]:
    """Names that a word is part of: its place in them, their type, and both the place and the word's case."""
    case = case_of(word)
    return [one for mark in marks for one in (mark, mark.partition("-")[2], f"{mark}|{case}")]


def _arrays(values: Sequence[Sequence[str]]) -> tuple[np.ndarray, ...]:
    """(items, ends, blob): item i has the values items[i]:items[i + 1], value v the text blob[ends[v]:ends[v + 1]]."""
    texts = [text.encode() for one in values for text in one]
    items = np.concatenate(([0], np.cumsum([len(one) for one in values], dtype=np.int64)))
    ends = np.concatenate(([0], np.cumsum([len(text) for text in texts], dtype=np.int64)))
    return items.astype(np.int64), ends.astype(np.int64), np.frombuffer(b"".join(texts), dtype=np.uint8)
