"""Both formats of Taskar's words hold the same words; bad files are named with the line or the array."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from letter_files import text_lines, write_npz

from casimir.tasks.ocr import WordImages, read_letters


@pytest.fixture(scope="module")
def few(words: WordImages) -> WordImages:
    return words.select(np.arange(6))


def assert_same(a: WordImages, b: WordImages) -> None:
    assert a.texts() == b.texts()
    np.testing.assert_array_equal(a.pixels, b.pixels)
    np.testing.assert_array_equal(a.folds, b.folds)


def test_text_gzip_and_npz_hold_the_same_words(few: WordImages, tmp_path: Path) -> None:
    text = "".join(text_lines(few))
    (tmp_path / "letter.data").write_text(text)
    (tmp_path / "letter.data.gz").write_bytes(gzip.compress(text.encode()))
    write_npz(tmp_path / "letters.npz", few)
    for name in ("letter.data", "letter.data.gz", "letters.npz"):
        assert_same(read_letters(tmp_path / name), few)


def test_npz_without_letters_and_folds_can_be_read(few: WordImages, tmp_path: Path) -> None:
    words = read_letters(write_npz(tmp_path / "images.npz", few, "labels", "folds"))
    assert words.folds.tolist() == [0] * len(few)
    with pytest.raises(ValueError, match=r"images.npz has no letters, only images"):
        words.texts()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "line 1: there is no letter"),
        (lambda lines: lines[:1], r"line 1: the last word has no end"),
        (lambda lines: [lines[0].replace("\t0\t", "\t", 1), *lines[1:]], r"line 1: it has 133 columns; it needs 6"),
        (lambda lines: [lines[0], lines[1].replace("\t1\t", "\t2\t", 9)], r"line 2: .* 0 or 1"),
        (lambda lines: [lines[0].replace("\tf\t", "\tF\t")], r"line 1: the letter is 'F'"),
        (lambda lines: [lines[0].replace("\t2\t", "\tx\t", 1)], r"line 1: the next letter is 'x'"),
        (lambda lines: ["\u00e4\n"], "line 1: it has 1 column"),
    ],
)
def test_bad_lines_are_named(few: WordImages, tmp_path: Path, change: object, message: str) -> None:
    file = tmp_path / "letter.data"
    file.write_text("".join(change(text_lines(few))), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_letters(file)


def test_a_cut_gzip_file_is_an_error(few: WordImages, tmp_path: Path) -> None:
    file = tmp_path / "letter.data.gz"
    file.write_bytes(gzip.compress("".join(text_lines(few)).encode())[:-40])
    with pytest.raises(ValueError, match="cannot be unpacked"):
        read_letters(file)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"lengths": None}, "no array 'lengths'"),
        ({"pixels": np.zeros((2, 3), dtype=np.uint8)}, r"pixels is uint8\[2, 3\]; it must be uint8\[T, 16\]"),
        ({"lengths": np.array([1, 2])}, "add up to the 2 letters"),
        ({"lengths": np.array([2, 0])}, "1 or more each"),
        ({"folds": np.array([1, 2])}, "one entry per word, 1"),
        ({"labels": np.array([3, 26])}, r"0 \(a\) to 25"),
        ({"labels": np.array([0.5, 1.0])}, "labels has dtype float64"),
        ({"labels": np.array(["a", object()], dtype=object)}, "no .npz file of arrays"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, arrays: dict[str, np.ndarray | None], message: str) -> None:
    good = {"pixels": np.zeros((2, 16), dtype=np.uint8), "lengths": np.array([2])}
    np.savez(tmp_path / "x.npz", **{name: a for name, a in (good | arrays).items() if a is not None})
    with pytest.raises(ValueError, match=message):
        read_letters(tmp_path / "x.npz")


def test_a_file_that_is_no_npz_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"x.npz is no .npz file"):
        read_letters(tmp_path / "x.npz")
    np.save(tmp_path / "one.npy", np.arange(3))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(ValueError, match="it holds one array without a name"):
        read_letters(tmp_path / "one.npz")


@pytest.mark.parametrize("name", ["none", "none.npz", "folder", "folder.npz"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=rf"cannot read .*{name}: .*; give the path of letter.data"):
        read_letters(tmp_path / name)


def test_byte_order_mark_and_blank_lines_are_skipped(few: WordImages, tmp_path: Path) -> None:
    file = tmp_path / "letter.data"
    file.write_text("".join(text_lines(few)) + "\n\n", encoding="utf-8-sig")
    assert read_letters(file).texts() == few.texts()


def test_lengths_that_overflow_are_refused(tmp_path: Path) -> None:
    lengths = np.array([2**64 - 1, 3], dtype=np.uint64)  # they add up to 2 in 64 bits
    np.savez(tmp_path / "x.npz", pixels=np.zeros((2, 16), dtype=np.uint8), lengths=lengths)
    with pytest.raises(ValueError, match="add up to the 2 letters"):
        read_letters(tmp_path / "x.npz")


@pytest.mark.realdata
def test_taskars_words_are_all_there(taskar: WordImages) -> None:
    assert (len(taskar), len(taskar.pixels)) == (6877, 52152)
    assert sorted(set(taskar.folds.tolist())) == list(range(10))
    assert taskar.texts()[0] == "ommanding"
