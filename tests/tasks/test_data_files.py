"""Data files that are damaged, endless, or far larger than they seem end in one sentence that names them."""

from __future__ import annotations

import gzip
import io
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casimir.tasks.align.bitext import parse_bitext
from casimir.tasks.data_files import read_npz
from casimir.tasks.ocr.reader import read_letters
from casimir.tasks.tag.columns import read_conll
from casimir.tasks.text import read_text

WORDS = "Ada B-PER\nslept O\n\nBob B-PER\n"


# --- line ends and blanks


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_files_with_carriage_returns_alone_are_refused(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"old{suffix}"
    data = WORDS.replace("\n", "\r").encode()
    file.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    with pytest.raises(ValueError, match=r"old.* has lines that end in a carriage return alone.*tr "):
        read_conll(file)


def test_other_line_ends_are_read_alike(tmp_path: Path) -> None:
    for name, text in (("unix", WORDS), ("dos", WORDS.replace("\n", "\r\n")), ("one", WORDS.replace("Ada", "A\rda"))):
        (tmp_path / name).write_bytes(text.encode())
    unix, dos, one = (read_conll(tmp_path / name) for name in ("unix", "dos", "one"))
    assert [s.words for s in unix.sentences] == [s.words for s in dos.sentences] == [("Ada", "slept"), ("Bob",)]
    assert one.sentences[0].words[0] == "A\rda"


@pytest.mark.parametrize("blank", ["\u3000", "\u00a0", "\u2003", "\u2028", "\x0b", "\x0c", "\x85", "\x1c"])
def test_other_blanks_are_part_of_a_word_so_that_links_stay_where_they_are(blank: str) -> None:
    pairs = parse_bitext(f"the{blank}house is ||| la maison{blank}est là\n", "1-1 2-3\n")
    assert [len(words) for words in (pairs.source[0], pairs.target[0])] == [2, 3]
    assert pairs.gold[0].sure.tolist() == [[0, 0], [1, 2]]
    with pytest.raises(ValueError, match="is no link"):
        parse_bitext("a b ||| c d\n", f"1-1{blank}2-2\n")


# --- sizes


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.txt.gz"
    bomb.write_bytes(gzip.compress(bytes(40 * 2**20)))
    assert bomb.stat().st_size < 50_000
    for read in (lambda: read_text(bomb, "utf-8", "a text"), lambda: read_letters(bomb)):
        with pytest.raises(ValueError, match=r"bomb.* unpacks to more than 64 times .*CASIMIR_MAX_INPUT_MB"):
            read()
    monkeypatch.setenv("CASIMIR_MAX_INPUT_MB", "100")
    with pytest.raises(ValueError, match="NUL character"):  # it is read, and is no text
        read_text(bomb, "utf-8", "a text")
    monkeypatch.setenv("CASIMIR_MAX_INPUT_MB", "30")
    with pytest.raises(ValueError, match=r"bomb.* has more than 30 MB.*CASIMIR_MAX_INPUT_MB"):
        read_text(bomb, "utf-8", "a text")


def test_a_text_that_packs_well_is_read(tmp_path: Path) -> None:
    file = tmp_path / "much.gz"
    file.write_bytes(gzip.compress(b"a B-PER\n" * 10**6))
    assert len(read_text(file, "utf-8", "a text")) == 8 * 10**6


def test_a_file_larger_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASIMIR_MAX_INPUT_MB", "1")
    file = tmp_path / "large.txt"
    with open(file, "wb") as stream:
        stream.truncate(2**40)  # sparse
    with pytest.raises(ValueError, match=r"large\.txt has more than 1 MB.*CASIMIR_MAX_INPUT_MB"):
        read_text(file, "utf-8", "a text")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices here")
def test_a_device_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASIMIR_MAX_INPUT_MB", "2")
    (tmp_path / "link").symlink_to("/dev/zero")
    for read in (lambda: read_text(tmp_path / "link", "utf-8", "a text"), lambda: read_letters(tmp_path / "link")):
        with pytest.raises(ValueError, match=r"link has more than 2 MB"):
            read()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """As the shell's <(...) gives one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(WORDS))
    writer.start()
    assert len(read_conll(pipe)) == 2
    writer.join()


# --- archives


def archive(tmp_path: Path, method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Path:
    file = tmp_path / "given.npz"
    with zipfile.ZipFile(file, "w", method) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return file


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_archives_come_back(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros((0, 4), np.uint8), "c": np.array(3)}
    arrays["d"] = np.asfortranarray(arrays["a"])
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        found = read_npz(tmp_path / "x.npz")
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array, strict=True)
        assert set(read_npz(tmp_path / "x.npz", ("a", "z"))) == {"a"}


@pytest.mark.parametrize("method", [1, 5, 6, 97, 99])
def test_an_unknown_compression_is_named(tmp_path: Path, method: int) -> None:
    data = bytearray(archive(tmp_path, zipfile.ZIP_STORED, pixels=npy(np.zeros(4))).read_bytes())
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.index(signature) + place
        data[start : start + 2] = method.to_bytes(2, "little")
    (tmp_path / "given.npz").write_bytes(data)
    for read in (read_npz, read_letters):
        with pytest.raises(ValueError, match=r"given\.npz is no \.npz file of arrays, or it is damaged"):
            read(tmp_path / "given.npz")


@pytest.mark.parametrize("shape", ["(1000000000000, 8)", "(100000000000000000000000,)", "(-1,)", "(3,)", "(1, 2, 3)"])
def test_an_array_that_says_it_is_larger_than_it_is_is_refused(tmp_path: Path, shape: str) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(8 * 4)
    with pytest.raises(ValueError, match=r"is no \.npz file of arrays, or it is damaged"):
        read_npz(archive(tmp_path, pixels=content))


def test_an_archive_bomb_is_refused(tmp_path: Path) -> None:
    file = archive(tmp_path, pixels=npy(np.zeros(4 * 2**20)))
    with pytest.raises(ValueError, match=r"unpacks to more than 64 times its"):
        read_npz(file)


def test_objects_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", pixels=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"is no \.npz file of arrays"):
        read_npz(tmp_path / "x.npz")


def test_any_single_flipped_bit_is_harmless(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {"pixels": rng.integers(0, 255, (3, 16), dtype=np.uint8), "lengths": np.array([3])}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    refused = 0
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        (tmp_path / "x.npz").write_bytes(data)
        try:
            for name, array in read_npz(tmp_path / "x.npz").items():
                if name in arrays:
                    np.testing.assert_array_equal(array, arrays[name])
        except ValueError:
            refused += 1
        data[bit // 8] ^= 1 << bit % 8
    assert refused > 4 * len(data)  # checksums notice what is in the arrays; the rest are dates and the like


# --- pictures


def test_a_damaged_jpeg_is_named(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    pytest.importorskip("cv2.ximgproc")
    from casimir.tasks.opencv import decode_rgb

    rng = np.random.default_rng(0)
    picture = cv2.resize(rng.integers(0, 255, (20, 30, 3), dtype=np.uint8), (320, 240))
    data = cv2.imencode(".jpg", picture)[1].tobytes()
    whole = decode_rgb(data, "whole.jpg")  # warnings are errors here
    assert whole.shape == (240, 320, 3)
    middle = len(data) // 2
    damaged = data[:middle] + data[middle + 500 :]
    with pytest.warns(UserWarning, match=r"'bad\.jpg' is damaged \(Corrupt JPEG data.*\); what could be read of it"):
        decode_rgb(damaged, "bad.jpg")
    with pytest.raises(ValueError, match=r"'cut\.jpg' is not an image"):
        decode_rgb(data[:middle], "cut.jpg")
