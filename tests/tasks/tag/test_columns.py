"""Column files: what is read, what is written back, and what is refused with a clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from casimir.tasks.ner import Corpus, Scheme, Sentence, format_conll, parse_conll, read_conll, write_conll

FOUR = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- O O

Paris NNP I-NP I-LOC
Lyon NNP B-NP B-LOC

"""


def write(folder: Path, data: str | bytes, name: str = "file.conll") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_words_columns_labels_documents_and_scheme_are_read() -> None:
    corpus = parse_conll(FOUR)
    assert corpus.columns == ("pos", "chunk")
    assert corpus.scheme is Scheme.IOB1
    assert [s.document for s in corpus.sentences] == [0, 0, 1]
    first = corpus.sentences[0]
    assert first.words == ("EU", "rejects")
    assert first.columns == {"pos": ("NNP", "VBZ"), "chunk": ("I-NP", "I-VP")}
    assert first.labels == ("I-ORG", "O")
    assert corpus.labels_in(Scheme.IOB2)[2] == ["B-LOC", "B-LOC"]


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("a\tO", ()),
        ("a DT O", ("pos",)),
        ("a DT I-NP O", ("pos", "chunk")),
        ("a  a DT I-NP   O", ("lemma", "pos", "chunk")),
        ("New York\tNNP\tB-LOC", ("pos",)),
    ],
)
def test_two_to_five_columns_by_tab_or_blanks(line: str, columns: tuple[str, ...]) -> None:
    assert parse_conll(line).columns == columns


def test_only_tabs_and_blanks_separate_and_only_newlines_end_a_line() -> None:
    corpus = parse_conll("a\u00a0b O\nc\x85d O\n")
    assert corpus.sentences[0].words == ("a\u00a0b", "c\x85d")


def test_carriage_returns_byte_order_mark_and_lines_of_blanks(tmp_path: Path) -> None:
    corpus = read_conll(write(tmp_path, b"\xef\xbb\xbfa\tO\r\n\t\r\n \r\nb\tO"))
    assert [s.words for s in corpus.sentences] == [("a",), ("b",)]


def test_a_document_line_does_not_decide_the_separator() -> None:
    corpus = parse_conll("-DOCSTART-\n\nNew York\tB-LOC\n")
    assert corpus.separator == "\t"
    assert corpus.sentences[0].words == ("New York",)


def test_without_document_lines_there_are_no_documents() -> None:
    assert parse_conll("a O\n\nb O").sentences[1].document is None


def test_own_labels_are_written_back_byte_for_byte(tmp_path: Path) -> None:
    write_conll(tmp_path / "out", parse_conll(FOUR))
    assert (tmp_path / "out").read_text() == FOUR


def test_labels_are_written_in_the_scheme_that_came_in() -> None:
    corpus = parse_conll(FOUR)
    assert "".join(format_conll(corpus, corpus.labels_in(Scheme.IOBES))) == FOUR
    iob2 = "".join(format_conll(corpus, corpus.labels, scheme=Scheme.IOB2))
    assert "Paris NNP I-NP B-LOC\nLyon NNP B-NP B-LOC\n" in iob2


def test_gold_labels_can_stay_beside_the_new_ones() -> None:
    corpus = parse_conll("a\tB-X\nb\tO\n")
    assert "".join(format_conll(corpus, [["O", "B-X"]], keep_gold=True)) == "a\tB-X\tO\nb\tO\tB-X\n\n"


def test_unlabelled_input_gets_a_label_column() -> None:
    corpus = parse_conll("-DOCSTART-\n\na\nb\n", labelled=False)
    assert corpus.scheme is None
    assert "".join(format_conll(corpus, [["B-X", "O"]])) == "-DOCSTART- O\n\na B-X\nb O\n\n"


def test_labels_are_found_by_the_columns_of_the_training_file() -> None:
    with_label = parse_conll("a DT O", labelled=None, columns=("pos",))
    without = parse_conll("a DT", labelled=None, columns=("pos",))
    assert with_label.sentences[0].labels == ("O",)
    assert without.sentences[0].labels is None
    with pytest.raises(ValueError, match="has 1 column; the model needs 'word pos' or 'word pos label'"):
        parse_conll("a", labelled=None, columns=("pos",))
    with pytest.raises(ValueError, match="say whether the last one is a label: --labelled or --unlabelled"):
        parse_conll("a DT I-NP O", labelled=None, columns=())
    with pytest.raises(ValueError, match="labelled=None needs columns"):
        parse_conll("a", labelled=None)


def test_keep_columns_drops_the_others() -> None:
    corpus = parse_conll(FOUR).keep_columns(("chunk",))
    assert corpus.columns == ("chunk",)
    assert set(corpus.sentences[0].columns) == {"chunk"}
    assert parse_conll(FOUR).keep_columns().columns == ()
    with pytest.raises(ValueError, match="no column 'lemma'"):
        corpus.keep_columns(("lemma",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a DT O\nb O\n", "line 2: 2 columns separated by blanks, but line 1 has 3"),
        ("a\tO\n\nb O\n", "line 3: 1 column separated by tabs"),
        ("a\tO\nb\t\n", "line 2: column 2 is empty"),
        ("", "holds no sentences"),
        ("\n \n-DOCSTART- O\n", "holds no sentences"),
        ("a O\nb Z-PER\n", "line 2: unknown tag 'Z-PER'"),
        ("a O\n\n-DOCSTART- O\nb NNP\n", "line 4: unknown tag 'NNP'"),
        ("a\n", "has 1 column; a labelled file has the word"),
    ],
)
def test_bad_files_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        read_conll(path)
    assert str(path) in str(caught.value)


def test_a_wrong_encoding_names_byte_and_line_and_what_to_try(tmp_path: Path) -> None:
    path = write(tmp_path, "a O\nZürich B-LOC\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 2: byte 0xfc at position 5 is not utf-8 text; try --encoding latin-1"):
        read_conll(path)
    assert read_conll(path, encoding="latin-1").sentences[0].words[1] == "Zürich"


def test_utf16_is_recognised_with_and_without_its_mark(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-le"):
        with pytest.raises(ValueError, match="try --encoding utf-16"):
            read_conll(write(tmp_path, "a O\n".encode(encoding)))
    with pytest.raises(ValueError, match="unknown encoding 'utf-99'"):
        read_conll(write(tmp_path, "a O\n"), encoding="utf-99")


def test_a_missing_file_or_a_folder_is_a_value_error(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match="cannot read"):
            read_conll(path)


def test_labels_must_fit_the_tokens_and_nothing_is_half_written(tmp_path: Path) -> None:
    corpus = parse_conll("a O\nb O\n\nc O\n")
    with pytest.raises(ValueError, match=r"1 labels for the 2 tokens of sentence 1 of input \('a b'\)"):
        write_conll(tmp_path / "out", corpus, [["O"], ["O"]])
    with pytest.raises(ValueError, match="1 label sequences for the 2 sentences"):
        write_conll(tmp_path / "out", corpus, [["O"]])
    with pytest.raises(ValueError, match="as ascii"):
        write_conll(tmp_path / "out", parse_conll("é O\n"), encoding="ascii")
    with pytest.raises(ValueError, match="cannot write"):
        write_conll(tmp_path / "no" / "out", corpus)
    assert list(tmp_path.iterdir()) == []


def test_sentences_check_their_lengths() -> None:
    with pytest.raises(ValueError, match="2 words but 1 values in column 'pos'"):
        Sentence(("a", "b"), {"pos": ("DT",)})
    with pytest.raises(ValueError, match="2 words but 3 values in column 'label'"):
        Sentence(("a", "b"), labels=("O",) * 3)
    with pytest.raises(ValueError, match="at least one word"):
        Sentence(())
    with pytest.raises(ValueError, match="has no labels"):
        _ = Corpus([Sentence(("a",))]).labels


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["eng.train", "eng.testa"])
def test_conll2003_is_read_and_written_back_as_it_was(data_folder: Path, name: str) -> None:
    path = data_folder / "conll2003" / name
    corpus = read_conll(path)
    assert corpus.scheme is Scheme.IOB1
    assert len(corpus) == {"eng.train": 14041, "eng.testa": 3250}[name]
    assert "".join(format_conll(corpus)).rstrip("\n") == path.read_text().rstrip("\n")


@pytest.mark.realdata
def test_wnut17_is_read(data_folder: Path) -> None:
    corpus = read_conll(data_folder / "wnut17" / "wnut17train.conll")
    assert (len(corpus), corpus.scheme, corpus.separator) == (3394, Scheme.IOB2, "\t")
