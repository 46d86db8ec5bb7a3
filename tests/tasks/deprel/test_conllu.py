"""CoNLL-U files: what is read, what is refused, what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from casimir.datasets.treebank import treebank_text
from casimir.tasks.deprel import format_conllu, parse_conllu, read_conllu

SENTENCE = """# sent_id = 1
# text = It doesn't rain
1\tIt\tit\tPRON\tPRP\t_\t4\tnsubj\t4:nsubj\t_
2-3\tdoesn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdoes\tdo\tAUX\tVBZ\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod:neg\t4:advmod\t_
3.1\tever\tever\tADV\tRB\t_\t_\t_\t4:advmod\t_
4\train\train\tVERB\tVB\t_\t0\troot\t0:root\tSpaceAfter=No
"""


def row(number: int, head: object, label: str = "dep") -> str:
    return "\t".join([str(number), "w", "w", "X", "_", "_", str(head), label, "_", "_"])


def test_words_are_nodes_and_multiword_tokens_and_empty_nodes_are_not() -> None:
    tree = parse_conllu(SENTENCE).trees[0]
    assert tree.words == ("It", "does", "n't", "rain")
    assert tree.parents == (3, 3, 3, -1)
    assert tree.labels == ("nsubj", "aux", "advmod:neg", "root")
    assert (tree.upos[0], tree.xpos[1], tree.lemmas[2]) == ("PRON", "VBZ", "not")


def test_blank_lines_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "file.conllu"
    text = "\n\n" + SENTENCE + "\n\n\n" + SENTENCE.rstrip("\n")  # no newline at the end
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    treebank = read_conllu(path)
    assert (len(treebank), treebank.n_nodes, treebank.name) == (2, 8, str(path))
    assert treebank.trees[0].first == 3
    assert treebank.trees[0].lines == treebank.trees[1].lines


def test_written_files_differ_in_their_labels_alone() -> None:
    treebank = parse_conllu(SENTENCE + "\n")
    text = "".join(format_conllu(treebank, [["a", "b", "c", "d"]]))
    again = parse_conllu(text)
    assert again.trees[0].labels == ("a", "b", "c", "d")
    assert again.trees[0].parents == treebank.trees[0].parents
    changed = [k for k, (a, b) in enumerate(zip(text.split("\n"), SENTENCE.split("\n"), strict=False)) if a != b]
    assert changed == [2, 4, 5, 7]


def test_a_file_without_labels_is_read() -> None:
    treebank = parse_conllu("\n".join([row(1, 2, "_"), row(2, 0, "_")]), name="new.conllu")
    assert treebank.trees[0].labels is None
    with pytest.raises(ValueError, match=r"new.conllu, line 1: the sentence has no labels \(DEPREL, column 8\)"):
        treebank.labels()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([row(1, 0), "1 w w"], "line 2: 1 column separated by tabs; CoNLL-U has 10: ID FORM"),
        ([row(1, 0), row(3, 1)], "line 2: ID is '3'; .* so it must be 2. Is a blank line missing"),
        ([row(1, 0), row(1, 0)], "line 2: ID is '1'"),
        (["# comment", row(1, "_")], "line 2: HEAD is '_'; it must be 0 .* or the ID of a word, 1 to 1"),
        ([row(1, 2)], "line 1: HEAD is '2'"),
        ([row(1, -1)], "line 1: HEAD is '-1'"),
        ([row(1, 1)], "line 1: the word is its own HEAD"),
        (["", row(1, 0), row(2, 3), row(3, 2)], "line 3: following HEAD from this word leads back to it"),
        ([row(1, 0), row(2, 1, "_")], "line 2: DEPREL is empty, though other words"),
        (["# only a comment"], "holds no sentences"),
        ([], "holds no sentences"),
    ],
)
def test_bad_files_name_file_and_line(lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"bad.conllu.*{message}"):
        parse_conllu("\n".join(lines), name="bad.conllu")


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give the path of a CoNLL-U file"):
        read_conllu(tmp_path / "missing")
    (tmp_path / "latin").write_bytes("1\té".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 1: byte 0xe9 .* try --encoding latin-1"):
        read_conllu(tmp_path / "latin")


def test_the_made_up_treebank_is_a_proper_one() -> None:
    assert treebank_text("train") == treebank_text("train")
    train, dev = (parse_conllu(treebank_text(part)) for part in ("train", "dev"))
    assert (len(train), len(dev)) == (300, 100)
    labels = {label for tree in train.labels() for label in tree}
    assert {label for tree in dev.labels() for label in tree} <= labels
    assert {"case", "mark", "obl", "advcl", "nsubj", "obj", "root"} <= labels
    for tree in train.trees:
        assert tree.parents.count(-1) == 1
    with pytest.raises(ValueError, match='use "train" or "dev"'):
        treebank_text("test")
