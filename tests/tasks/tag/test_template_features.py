"""Native features are those of plain Python, token by token, name by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_features import SETS, iter_features
from plain_templates import evaluate

from casimir.features import PackedSequences, pack
from casimir.tasks.tag.clusters import Clusters
from casimir.tasks.tag.columns import read_conll
from casimir.tasks.tag.gazetteers import Gazetteer
from casimir.tasks.tag.known_words import KnownWords
from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.templates.extract import extract
from casimir.tasks.tag.templates.template_set import TemplateSet
from casimir.tasks.tag.tokens import Tokens

LEXICONS = Lexicons(
    Clusters({"ab": "0110100", "Xa": "101", "ß": "noun"}),
    Gazetteer({"city": frozenset({("ab",), ("ab", "xa")}), "person": frozenset({("xa", "ab", "ab")})}),
    KnownWords({"ab": "LOC|ORG", "xa": "O", "i\u0307": "PER"}),
)
ODD = [
    "İ",
    "ΑΣ",
    "Σ",
    "ΑΣ.",
    "ΣΑ",
    "ß",
    "ẞ",
    "ǅ",
    "e\u0301",
    "\u0301",
    "Ⅷ",
    "²",
    "٣",
    "𝐀",
    "ﬁ",
    "ŉ",
    "a-b-a",
    "-",
    "--",
    "ΑΣ\u00ad",
]
ODD += ["<s>", "</s>", "New-York", "U.S.", "747", "I", "ab", "Xa", "AB", "A\u0345Σ"]
words = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.text("aAbB-1.Σσ", max_size=8),
)


PAIRS = TemplateSet("w={word}\nfor pairs\nB={word @-1}/{word lower}\nlast={word last 2}\nend\n")


def test_features_of_pairs_are_those_of_plain_python() -> None:
    sentences = [Sentence(("Ada", "SLEPT", "ab")), Sentence(("ab",)), Sentence(("New-York", "ab"))]
    edges = extract(Tokens.of(sentences), PAIRS, NO_LEXICONS, 2**10).edges
    assert edges is not None
    assert edges.vocabulary is not None
    names = list(edges.vocabulary)
    found = [
        sorted(names[j] for j in edges.indices[edges.indptr[t] : edges.indptr[t + 1]]) for t in range(edges.n_tokens)
    ]
    wanted = [sorted(own) for sentence in evaluate(sentences, PAIRS, of_pairs=True) for own in sentence]
    assert found == wanted
    again = extract(Tokens.of(sentences[1:]), PAIRS, NO_LEXICONS, 2**10, pairs=edges.vocabulary).edges
    assert again is not None
    np.testing.assert_array_equal(again.indices, edges[1:].indices)


@st.composite
def corpora(draw: st.DrawFn) -> list[Sentence]:
    found, document = [], draw(st.sampled_from([None, 0]))
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            document = draw(st.sampled_from([None, 1 if document is None else document + 1]))
        tokens = tuple(draw(st.lists(words, min_size=1, max_size=6)))
        tags = tuple(draw(st.lists(st.sampled_from(["N", "V", ""]), min_size=len(tokens), max_size=len(tokens))))
        found.append(Sentence(tokens, {"pos": tags}, None, document))
    return found


def assert_equal(native: PackedSequences, features: list[list[list[str]]], n_features: int | None) -> None:
    judge = pack(features, n_features)
    assert np.array_equal(native.offsets, judge.offsets)
    assert np.array_equal(native.indptr, judge.indptr)
    assert np.array_equal(native.indices, judge.indices)
    assert native.values is None
    assert judge.values is None
    if n_features is None:
        assert list(native.vocabulary or ()) == list(judge.vocabulary or ())


@pytest.mark.parametrize("name", SETS)
@given(sentences=corpora(), lexicons=st.sampled_from([NO_LEXICONS, LEXICONS]), n=st.sampled_from([None, 1, 7, 2**18]))
@settings(deadline=None)
def test_sets_make_the_features_that_are_written_out_by_hand(
    name: str, sentences: list[Sentence], lexicons: Lexicons, n: int | None
) -> None:
    features = list(iter_features(sentences, name, lexicons))
    assert_equal(extract(Tokens.of(sentences), TemplateSet.named(name), lexicons, n), features, n)


@given(sentences=corpora(), seen=corpora())
@settings(deadline=None)
def test_features_that_a_vocabulary_lacks_are_dropped(sentences: list[Sentence], seen: list[Sentence]) -> None:
    vocabulary = pack(iter_features(seen), None).vocabulary
    judge = pack(iter_features(sentences), vocabulary=vocabulary)
    native = extract(Tokens.of(sentences), TemplateSet.named("default"), NO_LEXICONS, None, vocabulary)  # type: ignore[arg-type]
    assert np.array_equal(native.indices, judge.indices)
    assert np.array_equal(native.indptr, judge.indptr)


filters = st.lists(
    st.sampled_from(
        [
            "digits",
            "lower",
            "shape",
            "case",
            "first 2",
            "last 3",
            "marked",
            "ngrams 2 3",
            "split -",
            "inside -",
            "chars .-",
            "has-digit",
            "length 4",
            "first 0",
            "ngrams 1 9",
            "split Σ",
            "cluster",
            "clusters",
            "known",
            "match ^.",
            "test A",
        ]
    ),
    max_size=3,
)
places = st.sampled_from(["", "@-1", "@2", "@left", "@right", "@first", "@last", "@left-1", "@-3", "@+1"])
outsides = st.sampled_from(["", "else none", "else empty", "else numbered", "else <>", "else x"])
sources = st.sampled_from(["word", "pos"])
hole = st.builds(
    lambda *parts: "{" + " ".join((parts[0], *parts[1], *parts[2:])) + "}", sources, filters, places, outsides
)
special = st.sampled_from(["{place}", "{names}", "{names with-case @-1}", "{{", "}}"])
line = st.lists(st.one_of(hole, special, st.sampled_from(["a", "=", "|"])), min_size=1, max_size=4).map("".join)


@given(corpora(), st.lists(st.one_of(line, st.just("d:{evidence}"), st.just("bias")), min_size=1, max_size=6))
@settings(deadline=None)
@example([Sentence(("İ", "ΑΣ"), {"pos": ("", "N")})], ["{word lower digits}{word lower case}"])
@example([Sentence(("Ada", "ß"), {"pos": ("", "N")})], ["x{word ngrams 1 9}{pos}{word split - @1 else none}y", "bias"])
def test_any_templates_make_the_features_of_the_judge(sentences: list[Sentence], lines: list[str]) -> None:
    lines = [*lines, "{word known}", "{word cluster}", "{names}"]
    templates = TemplateSet("\n".join(lines))
    features = list(evaluate(sentences, templates, LEXICONS))
    for n in (None, 1000):
        assert_equal(extract(Tokens.of(sentences), templates, LEXICONS, n), features, n)


@pytest.mark.parametrize("name", SETS)
def test_templates_in_python_read_the_sets_as_they_are_written_out_by_hand(name: str) -> None:
    sentences = [
        Sentence(("U.S.", "Air-Force", "747"), {"c2": ("A", "B", "C")}, None, 3),
        Sentence(("x",), {"c2": ("D",)}, None, 3),
    ]
    found = list(evaluate(sentences, TemplateSet.named(name), LEXICONS))
    assert found == list(iter_features(sentences, name, LEXICONS))


def test_sentences_that_are_chosen_have_the_features_that_they_have_alone() -> None:
    sentences = [Sentence((word, "b")) for word in ("x", "Y", "Z1")]
    tokens, templates = Tokens.of(sentences), TemplateSet.named("default")
    chosen = extract(tokens.select([2, 0]), templates, NO_LEXICONS, 2**18)
    assert np.array_equal(chosen.indices, pack(iter_features([sentences[2], sentences[0]])).indices)


@pytest.mark.parametrize("name", SETS)
def test_features_of_a_real_file_are_equal(name: str, data_folder: Path) -> None:
    corpus = read_conll(data_folder / "conll2003" / "eng.testa")
    lexicons = NO_LEXICONS.learnt(corpus)
    for n in (None, 2**18):
        native = extract(corpus.tokens, TemplateSet.named(name), lexicons, n)
        judge = pack(iter_features(corpus.sentences, name, lexicons), n)
        assert np.array_equal(native.indices, judge.indices)
        assert np.array_equal(native.indptr, judge.indptr)
        assert native.vocabulary == judge.vocabulary
