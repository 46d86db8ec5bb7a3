"""Token features: what the two sets contain, what they depend on and what they do not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from plain_features import WordTable, by_document, is_headline

from casimir.tasks.ner import FEATURE_SETS, Sentence, extract, iter_features, read_conll
from casimir.tasks.tag.words import case_of, shape_of


def sentence(text: str, document: int | None = None) -> Sentence:
    return Sentence(tuple(text.split()), document=document)


def test_paper_features_are_one_hot_columns_at_five_offsets() -> None:
    tagged = Sentence(("the", "cat", "sat"), {"pos": ("DT", "NN", "VB"), "chunk": ("B-NP", "I-NP", "B-VP")})
    first, second, _ = extract([tagged], "paper")[0]
    assert set(first) == {
        *("w[0]=the", "w[1]=cat", "w[2]=sat"),
        *("pos[0]=DT", "pos[1]=NN", "pos[2]=VB"),
        *("chunk[0]=B-NP", "chunk[1]=I-NP", "chunk[2]=B-VP"),
    }
    assert len(second) == 9


def test_paper_features_use_the_columns_that_exist() -> None:
    words = Sentence(("a", "b"), {"lemma": ("a", "b")})
    assert extract([words], "paper")[0][0] == ["w[0]=a", "w[1]=b"]


def test_chunk_features_are_runs_of_columns_and_know_no_document() -> None:
    tagged = [Sentence(("the", "cat", "sat"), {"pos": ("DT", "NN", "VB")}, document=k) for k in (0, None)]
    first, again = (extract([one, one], "chunks")[0] for one in tagged)
    assert first == again
    assert {"pos[-1..1]=DT|NN|VB", "pos[-2..0]=<s>|DT|NN", "pos[2]=</s>", "pos[1]w=VB|cat"} <= set(first[1])
    assert {"w[-1,0]=the|cat", "w[0,1]=cat|sat"} <= set(first[1])


@pytest.mark.parametrize("feature_set", sorted(FEATURE_SETS))
def test_every_token_has_distinct_features(feature_set: str) -> None:
    sentences = [sentence("U.S. beat\u00a0x 3-0 - ( Abc'd"), sentence("x"), sentence("Ж é ß 12,345.6 :-) I")]
    for given, tokens in zip(sentences, iter_features(sentences, feature_set), strict=True):
        assert len(tokens) == len(given)
        assert all(token for token in tokens)
        assert all(len(token) == len(set(token)) for token in tokens)


def test_an_unknown_feature_set_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown feature set 'best'; choose one of \['chunks', 'default', 'pairs"):
        iter_features([], "best")


def test_labels_are_never_read() -> None:
    plain = sentence("Peter Smith visited Rome", 0)
    labelled = plain.with_labels(("B-PER", "I-PER", "O", "B-LOC"))
    assert extract([plain]) == extract([labelled])


@pytest.mark.parametrize(
    ("word", "case", "shape"),
    [
        ("Paris", "T", "Xx"),
        ("NATO", "U", "X"),
        ("J.", "I", "X."),
        ("McDonald", "M", "XxXx"),
        ("Boeing-747", "T", "Xx-d"),
        ("iPhone", "m", "xXx"),
        ("the", "l", "x"),
        ("1996-08-22", "d", "d-d-d"),
        ("--", "p", "-"),
    ],
)
def test_case_and_shape(word: str, case: str, shape: str) -> None:
    assert case_of(word) == case
    assert shape_of(word) == shape


def test_own_features_of_a_word() -> None:
    own = extract([sentence("Anglo-US2")])[0][0]
    wanted = {"w[0]=anglo-us0", "form=Anglo-US0", "prefix3=Ang", "suffix2=s0", "part=anglo", "tri=^an", "case=M"}
    assert wanted <= set(own)


def test_neighbours_boundaries_and_runs() -> None:
    peter, smith, spoke = extract([sentence("Peter Smith spoke")])[0]
    assert {"w[-1]=<s>", "w[1]=smith", "w[2]=spoke", "last=smith", "right=spoke", "place=0/2"} <= set(peter)
    assert {"w[-1]=peter", "first=peter", "left=<s>", "place=1/2"} <= set(smith)
    assert "w[1]=</s>" in spoke
    assert not any(feature.startswith("place=") for feature in spoke)


def test_columns_add_features() -> None:
    tagged = Sentence(("a", "b"), {"pos": ("DT", "NN")})
    assert {"pos[-1]=<s>", "pos[0]=DT", "pos[1]=NN", "pos[0,1]=DT|NN"} <= set(extract([tagged])[0][0])


def test_a_mention_sees_the_contexts_of_other_mentions_in_its_document() -> None:
    sentences = [sentence("today Mr. Jordan spoke", 0), sentence("they met Jordan there", 0)]
    mention = set(extract(sentences)[1][2])
    assert {"d[-1]=mr.", "d[1]=spoke", "dfirst=mr.", "dleft=today", "dnotfirst"} <= mention


def test_a_headline_receives_evidence_but_gives_none() -> None:
    sentences = [sentence("JORDAN WINS AGAIN", 0), sentence("then Jordan won", 0)]
    headline, plain = extract(sentences)
    assert "d[-1]=then" in headline[0]
    assert not any(feature.endswith("=wins") for feature in plain[1] if feature.startswith("d"))
    assert is_headline([WordTable()[word] for word in ("NATO", "WINS", "2-0")])
    assert not is_headline([WordTable()[word] for word in ("1", "2")])


def test_other_documents_do_not_matter() -> None:
    alone = extract([sentence("they met Jordan there", 1)])
    after = extract([sentence("today Mr. Jordan spoke", 0), sentence("they met Jordan there", 1)])
    assert list(map(set, after[1])) == list(map(set, alone[0]))


def test_sentences_without_a_document_come_alone_or_in_blocks() -> None:
    given = [sentence("a")] * 120 + [sentence("b", 0), sentence("c", 0), sentence("d", 1)]
    assert [len(group) for group in by_document(given)] == [1] * 120 + [2, 1]
    blocks = list(by_document(given, alone=50))
    assert [len(block) for block in blocks] == [50, 50, 20, 2, 1]


def test_features_are_deterministic() -> None:
    sentences = [sentence("The Bank of England and the Bank of Japan met John Bank .", 0)] * 3
    assert extract(sentences) == extract(sentences)


@pytest.mark.realdata
def test_conll2003_gives_a_moderate_number_of_features_quickly(data_folder: Path) -> None:
    corpus = read_conll(data_folder / "conll2003" / "eng.testa")
    started = time.process_time()
    counts = [len(token) for tokens in iter_features(corpus.sentences) for token in tokens]
    assert time.process_time() - started < 5
    assert sum(counts) / len(counts) < 60
