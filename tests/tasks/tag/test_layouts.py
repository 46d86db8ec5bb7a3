"""Words and labels in any column, CoNLL-U files, and labels that write no spans."""

from __future__ import annotations

import pytest

from casimir.tasks.tag.columns import Layout, parse_conll
from casimir.tasks.tag.writer import format_conll

CONLLU = """# newdoc
# sent_id = 1
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdog\tdog\tNOUN\t_\t_\t0\troot\t_\t_
2.1\tbarks\t_\t_\t_\t_\t_\t_\t_\t_
"""


def test_other_columns_are_called_by_their_place() -> None:
    corpus = parse_conll("1 a X DT q\n2 b Y NN r\n", layout=Layout(word=2, label=4), spans=None)
    assert corpus.columns == ("c1", "c3", "c5")
    assert corpus.sentences[0].words == ("a", "b")
    assert corpus.labels == [("DT", "NN")]
    assert corpus.scheme is None


def test_an_unlabelled_file_has_the_same_names() -> None:
    layout, columns = Layout(word=2, label=4), ("c1", "c3", "c5")
    corpus = parse_conll("1 a X q\n", labelled=None, columns=columns, layout=layout, spans=False)
    assert not corpus.is_labelled
    assert corpus.columns == columns
    assert corpus.sentences[0].columns["c5"] == ("q",)


def test_labels_are_written_where_they_stood_or_last() -> None:
    layout = Layout(word=2, label=3)
    corpus = parse_conll("1 a DT q\n", layout=layout, spans=False)
    assert "".join(format_conll(corpus, [["NN"]])) == "1 a NN q\n\n"
    assert "".join(format_conll(corpus, [["NN"]], keep_gold=True)) == "1 a DT NN q\n\n"
    bare = parse_conll("1 a q\n", labelled=False, layout=layout)
    assert "".join(format_conll(bare, [["NN"]])) == "1 a q NN\n\n"


def test_conllu_comments_and_lines_that_are_no_words_are_skipped() -> None:
    corpus = parse_conll(CONLLU, layout=Layout(word=2, label=4), spans=None)
    assert corpus.sentences[0].words == ("The", "dog")
    assert corpus.labels == [("DET", "NOUN")]


def test_a_hash_may_be_a_word() -> None:
    assert parse_conll("# NN\n1 CD\n", spans=None).sentences[0].words == ("#", "1")


@pytest.mark.parametrize(
    ("labels", "has_spans"), [("B-X O", True), ("I-X I-X", True), ("O O", False), ("DT NN", False), ("B-X NN", False)]
)
def test_spans_are_told_from_other_labels(labels: str, has_spans: bool) -> None:
    first, second = labels.split()
    assert (parse_conll(f"a {first}\nb {second}\n", spans=None).scheme is not None) == has_spans


@pytest.mark.parametrize(("word", "label"), [(3, -1), (1, 4), (2, 3)])
def test_columns_that_are_not_there_are_named(word: int, label: int) -> None:
    with pytest.raises(ValueError, match="--word N, --label N"):
        parse_conll("a DT\n", layout=Layout(word, label), name="file", spans=None)


@pytest.mark.parametrize(("word", "label"), [(0, -1), (1, 1), (1, 0), (1, -2)])
def test_impossible_layouts_are_refused(word: int, label: int) -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        Layout(word, label)


TREES = """# newdoc id = a
# sent_id = 1
# text = I can't
1\tI\ti\tPRON\t_\t_\t0\troot\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\t_\t_\t1\tdep\t_\t_
3\tn't\tnot\tPART\t_\t_\t1\tdep\t_\t_
3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_

# newpar id = end
"""


def test_lines_of_conllu_files_that_are_no_words_are_written_back() -> None:
    corpus = parse_conll(TREES, layout=Layout(2, 4), spans=False)
    assert [len(s) for s in corpus.sentences] == [3, 1]
    assert "".join(format_conll(corpus)) == TREES
    changed = "".join(format_conll(corpus, [["X", "Y", "Z"], ["W"]]))
    assert changed == TREES.replace("PRON", "X").replace("AUX", "Y").replace("PART", "Z").replace("INTJ", "W")


def test_lines_that_are_no_words_are_as_wide_as_the_others() -> None:
    corpus = parse_conll(TREES, layout=Layout(2, 4), spans=False)
    lines = "".join(format_conll(corpus, [["X", "Y", "Z"], ["W"]], keep_gold=True)).split("\n")
    assert {line.count("\t") for line in lines if line and not line.startswith("#")} == {10}
    assert "3.1\tgo\tgo\t_\tVERB\t_\t_\t_\t_\t_\t_" in lines


def test_lines_that_are_no_words_go_with_their_sentences() -> None:
    corpus = parse_conll(TREES, layout=Layout(2, 4), spans=False)
    assert "".join(format_conll(corpus.select([1]))).startswith("# sent_id = 2\n1\tYes")
    words = "".join(format_conll(corpus.keep_columns()))
    assert "2-3" not in words
    assert "# text = I can't\nI\tPRON\n" in words


def test_a_file_as_wide_as_the_training_file_has_labels() -> None:
    assert parse_conll("a x B-X\n", labelled=None, columns=(), width=3).is_labelled
    with pytest.raises(ValueError, match="--labelled or --unlabelled"):
        parse_conll("a x B-X\n", labelled=None, columns=(), width=4)


def test_a_file_that_lacks_columns_is_told_how_to_do_without() -> None:
    with pytest.raises(ValueError, match="To do without them, train a model with --columns word"):
        parse_conll("a\n", labelled=None, columns=("pos",))
