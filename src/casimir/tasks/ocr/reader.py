"""Taskar's handwritten words: `letter.data` as it is distributed (plain or .gz), or the same in one .npz file.

letter.data   one letter per line, tab separated: id, letter, id of the next letter (-1 ends a word), word, position,
              fold, 128 pixels (0 or 1), row by row
.npz          pixels uint8[T, 16]: the 128 bits of a letter, packed; lengths int[n]; folds int[n] and labels int[T]
              (0 is a) may be missing
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from casimir.scores import offsets_of
from casimir.tasks.data_files import read_data, read_npz, unpacked
from casimir.tasks.ocr.words import HEIGHT, LETTERS, WIDTH, WordImages
from casimir.tasks.text import numbered

_PIXELS = HEIGHT * WIDTH
_BEFORE = 6  # columns before the pixels


def read_letters(path: str | os.PathLike[str]) -> WordImages:
    """The words of a file. Errors name the file, and the line or the array."""
    file = Path(path)
    return _read_npz(file) if file.suffix == ".npz" else _read_text(file)


def _read_text(file: Path) -> WordImages:
    pixels, letters, lengths, folds, length = [], [], [], [], 0
    number = 0
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        letter, ends, fold, bits = _parse(line.rstrip("\r\n"), file, number)
        letters.append(letter)
        pixels.append(bits)
        length += 1
        if ends:
            lengths.append(length)
            folds.append(fold)
            length = 0
    if length or not lengths:
        what = "the last word has no end (-1 as the next letter)" if length else "there is no letter"
        raise ValueError(f"{file}, line {max(number, 1)}: {what}. Is the file complete?")
    image = np.frombuffer("".join(pixels).encode(), dtype=np.uint8) == ord("1")
    return WordImages(
        image.reshape(-1, HEIGHT, WIDTH),
        offsets_of(lengths),
        np.array(folds, dtype=np.int64),
        np.array(letters, dtype=np.int64),
        str(file),
    )


def _lines(file: Path) -> Iterator[str]:
    try:
        data = read_data(file)
        if data.startswith(b"\x1f\x8b"):
            data = unpacked(data, str(file))
        yield from data.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not a text file; give letter.data, letter.data.gz or an .npz file.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{file} cannot be unpacked ({error}). Is the file complete?") from None
    except OSError as error:
        raise _unreadable(file, error) from error


def _parse(line: str, file: Path, number: int) -> tuple[int, bool, int, str]:
    """letter, whether it ends a word, fold, 128 characters 0 or 1."""
    fields = line.rstrip("\t").split("\t")
    bits = "".join(fields[_BEFORE:])
    if len(fields) != _BEFORE + _PIXELS or len(bits) != _PIXELS or bits.strip("01"):
        raise ValueError(
            f"{file}, line {number}: it has {numbered(len(fields), 'columns')}; it needs 6 (id, letter, next, word, "
            f"position, fold) and {_PIXELS} pixels that are 0 or 1, separated by tabs."
        )
    letter = LETTERS.find(fields[1]) if len(fields[1]) == 1 else -1
    if letter < 0:
        raise ValueError(f"{file}, line {number}: the letter is {fields[1]!r}; it must be one of a to z.")
    try:
        return letter, int(fields[2]) < 0, int(fields[5]), bits
    except ValueError:
        raise ValueError(
            f"{file}, line {number}: the next letter is {fields[2]!r} and the fold {fields[5]!r}; they are numbers."
        ) from None


def _read_npz(file: Path) -> WordImages:
    try:
        given = read_npz(file, ("pixels", "lengths", "folds", "labels"))
    except OSError as error:
        raise _unreadable(file, error) from error
    pixels, lengths = _array(given, "pixels", file), _array(given, "lengths", file)
    if pixels.dtype != np.uint8 or pixels.shape[1:] != (_PIXELS // 8,):
        raise ValueError(f"{file}: pixels is {pixels.dtype}{list(pixels.shape)}; it must be uint8[T, {_PIXELS // 8}].")
    if lengths.ndim != 1 or not len(lengths) or lengths.min() < 1 or sum(lengths.tolist()) != len(pixels):
        raise ValueError(f"{file}: lengths must be [n], 1 or more each, and add up to the {len(pixels)} letters.")
    folds = _array(given, "folds", file) if "folds" in given else np.zeros(len(lengths), dtype=np.int64)
    if folds.shape != lengths.shape:
        raise ValueError(f"{file}: folds is {list(folds.shape)}; it must have one entry per word, {len(lengths)}.")
    letters = _array(given, "labels", file).astype(np.int64) if "labels" in given else None
    if letters is not None and (letters.shape != (len(pixels),) or letters.min() < 0 or letters.max() >= len(LETTERS)):
        raise ValueError(f"{file}: labels must be [T] for {len(pixels)} letters, 0 (a) to 25 (z).")
    image = np.unpackbits(pixels, axis=1).astype(np.bool_).reshape(-1, HEIGHT, WIDTH)
    return WordImages(image, offsets_of(lengths), folds.astype(np.int64), letters, str(file))


def _unreadable(file: Path, error: OSError) -> ValueError:
    needed = "give the path of letter.data, letter.data.gz or an .npz file"
    return ValueError(f"cannot read {file}: {error.strerror or error}; {needed}.")


def _array(given: dict[str, Any], name: str, file: Path) -> np.ndarray:
    if name not in given:
        raise ValueError(f"{file} has no array {name!r}; it needs pixels and lengths, and labels to train with.")
    array = np.asarray(given[name])
    if array.dtype.kind not in "iu":
        raise ValueError(f"{file}: {name} has dtype {array.dtype}; it holds whole numbers.")
    return array
