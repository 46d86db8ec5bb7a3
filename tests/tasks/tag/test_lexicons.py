"""Clusters and gazetteers: files, matches against a search of all spans, features, and model folders that keep them."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

import casimir as cs
from casimir.tasks.ner import Sentence, parse_conll
from casimir.tasks.tag.clusters import Clusters, parse_clusters, read_clusters
from casimir.tasks.tag.features import extract, iter_features
from casimir.tasks.tag.gazetteers import Gazetteer, parse_gazetteer, read_gazetteers
from casimir.tasks.tag.jsonlines import parse_json_lines
from casimir.tasks.tag.known_words import KnownWords
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.model import load_model, train
from casimir.tasks.tag.templates.template_set import TemplateSet


def test_both_formats_of_clusters(tmp_path: Path) -> None:
    brown = parse_clusters("0110\tLeeds\t5\n0110\tYork\t3\n10\tslept\t2\n")
    plain = parse_clusters("Leeds\tcity\nYork\tcity\n\nslept\tverb\n")
    assert (brown.of("York"), brown.of("Rome"), plain.of("York")) == ("0110", None, "city")
    (tmp_path / "c.tsv").write_text("".join(brown.lines()))
    assert read_clusters(tmp_path / "c.tsv") == brown
    assert plain.levels("Leeds") == ("=city",)


def test_a_path_has_beginnings_and_digits_and_case_are_forgiven() -> None:
    clusters = Clusters({"00-year-old": "0110100", "met": "1"})
    assert clusters.levels("35-year-old") == ("=0110100", "4=0110", "6=011010")
    assert clusters.levels("MET") == ("=1",)
    assert clusters.levels("Paris") == ()


@pytest.mark.parametrize("text", ["one two\n", "0\tword\tmany\n", "", "\tword\n"])
def test_files_of_no_clusters_end_in_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="cluster"):
        parse_clusters(text)


def test_names_come_with_a_type_or_take_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "city.txt").write_text("New York\nLeeds\n")
    (tmp_path / "more.tsv").write_text("York\tcity\nAda  Lovelace\tperson\n")
    found = read_gazetteers([tmp_path / "city.txt", tmp_path / "more.tsv"])
    assert found.names == {"city": {("new", "york"), ("leeds",), ("york",)}, "person": {("ada", "lovelace")}}
    assert found.marks(["in", "NEW", "YORK", "with", "Ada", "Lovelace"]) == [
        [], ["B-city"], ["E-city"], [], ["B-person"], ["E-person"]
    ]  # fmt: skip
    with pytest.raises(ValueError, match="holds no names"):
        parse_gazetteer("\n", "x")
    with pytest.raises(ValueError, match="without a name"):
        parse_gazetteer("\tcity\n", "x")


def longest_from_the_left(words: list[str], names: set[tuple[str, ...]]) -> list[tuple[int, int]]:
    """By trying all spans."""
    found: list[tuple[int, int]] = []
    for start in range(len(words)):
        if found and start < found[-1][1]:
            continue
        ends = [e for e in range(start + 1, len(words) + 1) if tuple(words[start:e]) in names]
        if ends:
            found.append((start, max(ends)))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_matches_are_the_longest_from_the_left(seed: int) -> None:
    rng = random.Random(seed)
    names = {tuple(rng.choices("abc", k=rng.randint(1, 3))) for _ in range(6)}
    words = rng.choices("abc", k=12)
    found = Gazetteer({"x": frozenset(names)}).matches(words, "x")
    assert [(span.start, span.end) for span in found] == longest_from_the_left(words, names)


def test_features_tell_of_the_word_and_its_neighbours() -> None:
    lexicons = Lexicons(Clusters({"in": "a", "leeds": "b"}), Gazetteer({"city": frozenset({("leeds",)})}))
    sentence = Sentence(("in", "Leeds"))
    first, second = next(iter_features([sentence], "paper", lexicons))
    assert {"cluster[0]=a", "cluster[1]=b", "cluster[0,1]=a=b", "name[1]=S-city"} <= set(first)
    assert {"cluster[0]=b", "cluster[-1]=a", "name=S-city", "name=city", "name=S-city|T"} <= set(second)
    assert next(iter_features([sentence], "paper")) == extract([sentence], "paper")[0]


def test_models_keep_their_lexicons(tmp_path: Path) -> None:
    corpus = parse_conll("Ada B-PER\nslept O\n\nLeeds B-LOC\nslept O\n\n")
    lexicons = Lexicons(
        Clusters({"Ada": "01", "Leeds": "10", "Bob": "01", "York": "10"}, {"Ada": 2}),
        Gazetteer({"person": frozenset({("ada",), ("bob",)})}),
    )
    model = train(corpus, cs.SequenceTagger(n_features=2**12), lexicons=lexicons)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    counts = {"Ada": 2, "Bob": 0, "Leeds": 0, "York": 0}
    assert loaded.lexicons.clusters == Clusters(model.lexicons.clusters.names, counts)
    assert loaded.lexicons.gazetteer == lexicons.gazetteer
    assert loaded.lexicons.known == model.lexicons.known == KnownWords({})
    new = parse_conll("Bob\nslept\n\nYork\nslept\n\n", labelled=False)
    assert loaded.tag(new) == model.tag(new) == [["B-PER", "O"], ["B-LOC", "O"]]


def test_frequent_words_have_the_types_that_they_had() -> None:
    lines = ["York B-LOC"] * 3 + ["YORK B-ORG"] * 2 + ["rare O"] * 4 + ["the O"] * 30 + ["the B-MISC"]
    known = KnownWords.of(parse_conll("\n".join(lines) + "\n"))
    assert known.types == {"york": "LOC|ORG", "the": "O"}
    assert KnownWords.parse("".join(known.lines())) == known
    tokens = next(iter_features([Sentence(("In", "york", "the"))], "default", Lexicons(known=known)))
    found = [[one for one in token if one.startswith("known")] for token in tokens]
    assert found[0] == ["known[0]=?", "known[1]=LOC|ORG", "known[2]=O"]
    assert found[2] == ["known[-2]=?", "known[-1]=LOC|ORG", "known[0]=O"]


def test_frequent_words_have_the_labels_that_they_had_where_labels_are_no_spans() -> None:
    lines = (
        ["that DET"] * 60 + ["That PRON"] * 38 + ["THAT SCONJ"] * 2 + ["run VERB"] * 4 + ["of ADP"] * 200 + ["of ADV"]
    )
    known = KnownWords.of(parse_conll("\n".join(lines) + "\n", spans=False))
    assert known.types == {"that": "DET|PRON|SCONJ", "of": "ADP"}
    tokens = next(iter_features([Sentence(("Run", "of", "that"))], "pairs", Lexicons(known=known)))
    found = [{one for one in token if "known" in one} for token in tokens]
    assert found[1] == {
        "known[-1]=?",
        "known[0]=ADP",
        "known[1]=DET|PRON|SCONJ",
        "known[-1,0]=?|ADP",
        "known[0,1]=ADP|DET|PRON|SCONJ",
        "known[-1..1]=?|ADP|DET|PRON|SCONJ",
        "known[-2,-1]=<s>|?",
        "known[1,2]=DET|PRON|SCONJ|</s>",
        "known[-1]w=?|of",
        "w known[1]=of|DET|PRON|SCONJ",
        "s3known[-1]=?|of",
        "s3known[1]=of|DET|PRON|SCONJ",
    }
    assert {"known[1]=ADP", "known[1,2]=ADP|DET|PRON|SCONJ"} <= found[0]
    assert not any(one.startswith(("known[-1]=", "known[-2]=")) for one in found[0])  # nothing before the sentence


def test_words_and_labels_with_tabs_or_line_ends_are_left_out() -> None:
    words, labels = ["a\nb", "c\td", "e", "f"], ["X", "X", "X\tY", "Z"]
    records = [json.dumps({"tokens": words, "tags": labels})] * 5
    known = KnownWords.of(parse_json_lines("\n".join(records), labelled=True, has_spans=False))
    assert known.types == {"f": "Z"}
    assert KnownWords.parse("".join(known.lines())) == known


def test_which_features_learn_from_which_labels() -> None:
    for name, of_spans, of_labels in (("default", True, False), ("pairs", False, True), ("chunks", False, False)):
        features = TemplateSet.named(name)
        assert (features.learns(has_spans=True), features.learns(has_spans=False)) == (of_spans, of_labels)
    assert TemplateSet("known={word known}").learns(has_spans=False)
    assert not TemplateSet("w={word}").learns(has_spans=True)


@pytest.mark.parametrize("features", ["pairs", TemplateSet("w={word}\nknown={word known @-1}")])
def test_models_of_plain_labels_keep_what_words_were(tmp_path: Path, features: str | TemplateSet) -> None:
    corpus = parse_conll("a DET\ndog NOUN\n\nthe DET\ndog VERB\n\n" * 5, spans=False)
    model = train(corpus, cs.SequenceTagger(n_features=2**12), feature_set=features)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.lexicons.known == KnownWords({"a": "DET", "dog": "NOUN|VERB", "the": "DET"})
    new = parse_conll("the\ncat\n\n", labelled=False)
    assert loaded.tag(new) == model.tag(new)
    assert loaded.tag(new)[0][0] == "DET"


def test_words_are_learnt_where_they_are_wanted_alone() -> None:
    spans = parse_conll("Ada B-PER\nslept O\n\n")
    assert Lexicons().learnt(spans).known is not None
    assert Lexicons().learnt(spans, wanted=False).known is None


def test_frequent_words_are_those_that_counting_word_by_word_gives() -> None:
    rng = np.random.default_rng(0)
    words = [*rng.choice(["Ada", "ADA", "ada", "Bob", "in", "In", "of"], size=400), "rare", "Rare"]
    labels = rng.choice(["O", "B-PER", "B-LOC"], size=402)
    corpus = parse_conll("".join(f"{word} {label}\n" for word, label in zip(words, labels, strict=True)))
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, label in zip(words, labels, strict=True):
        counts[word.lower()][label.partition("-")[2] or "O"] += 1
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    KnownWords.count(corpus, counted)
    assert counted == counts
    assert KnownWords.of(corpus) == KnownWords.of_counts(counts, has_spans=True)
    assert "rare" not in KnownWords.of(corpus).types
