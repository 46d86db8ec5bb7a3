"""Mutated data files are read, or refused in one sentence; nothing else ever happens."""

from __future__ import annotations

import gzip
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from letter_files import text_lines, write_npz
from soak.budget import tries
from soak.mutations import mutated

import casimir
from casimir.compat import from_crfsuite
from casimir.datasets.handwriting import make_words
from casimir.tasks.align.bitext import parse_bitext
from casimir.tasks.boxes.images import read_table
from casimir.tasks.data_files import read_npz
from casimir.tasks.deprel.conllu import read_conllu
from casimir.tasks.localize.voc import read_annotation
from casimir.tasks.ocr.reader import read_letters
from casimir.tasks.ocr.words import words_of
from casimir.tasks.tag.clusters import read_clusters
from casimir.tasks.tag.columns import read_conll
from casimir.tasks.tag.gazetteers import read_gazetteers
from casimir.tasks.tag.jsonlines import parse_json_lines
from casimir.tasks.tag.plain import parse_plain
from casimir.tasks.tag.templates.language import parse_templates
from casimir.tasks.text import read_text

COLUMNS = "-DOCSTART- O\n\nAda B-PER\nslept O\n\nin O\nLeeds B-LOC\nZürich I-LOC\n"
TREE = "# sent_id = 1\n1\tdogs\tdog\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
JSON = "\n".join(
    json.dumps(one)
    for one in (
        {"tokens": ["Ada", "slept"], "tags": ["B-PER", "O"]},
        {"tokens": ["Bob", "left"], "tags": ["B-PER", "O"]},
    )
)
TEMPLATES = (Path(casimir.__file__).parent / "tasks/tag/templates/sets/paper.txt").read_bytes()
XML = (
    "<annotation><size><width>90</width><height>80</height></size><object><name>cat</name><difficult>0</difficult>"
    "<bndbox><xmin>3</xmin><ymin>4</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object></annotation>"
)
DUMP = (Path(__file__).parent.parent / "golden" / "crfsuite-dump" / "model.txt").read_bytes()


def letters() -> bytes:
    return "".join(text_lines(words_of(make_words()).select(np.arange(3)))).encode()


def npz(tmp_path: Path) -> bytes:
    return write_npz(tmp_path / "letters.npz", words_of(make_words()).select(np.arange(3))).read_bytes()


def packed() -> bytes:
    return gzip.compress(COLUMNS.encode())


def text_of(file: Path) -> str:
    return read_text(file, "utf-8", "a text")


READERS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], Any]]] = {
    "columns.txt": (lambda _: COLUMNS.encode(), read_conll),
    "columns.gz": (lambda _: packed(), read_conll),
    "trees.conllu": (lambda _: TREE.encode(), read_conllu),
    "lines.jsonl": (lambda _: JSON.encode(), lambda file: parse_json_lines(text_of(file), labelled=True)),
    "plain.txt": (lambda _: b"Ada slept in Leeds. Bob left.\n", lambda file: parse_plain(text_of(file))),
    "pairs.txt": (lambda _: b"the house ||| la maison\n", lambda file: parse_bitext(text_of(file), "1-1 2-2\n")),
    "links.txt": (lambda _: b"1-1 2p2\n", lambda file: parse_bitext("a b ||| c d\n", text_of(file))),
    "letter.data": (lambda _: letters(), read_letters),
    "letters.npz": (npz, read_letters),
    "weights.npz": (npz, read_npz),
    "clusters.txt": (lambda _: b"0010\tAda\t4\n0110\tBob\t7\n", read_clusters),
    "names.txt": (lambda _: b"New York\nLeeds\n", lambda file: read_gazetteers([file])),
    "boxes.csv": (lambda _: b"image,top,left,bottom,right\na.png,1,2,3,4\n", lambda f: read_table(f, True, "utf-8")),
    "templates.txt": (lambda _: TEMPLATES, lambda file: parse_templates(text_of(file))),
    "voc.xml": (lambda _: XML.encode(), read_annotation),
    "dump.txt": (lambda _: DUMP, from_crfsuite),
}


@pytest.mark.parametrize("name", READERS)
def test_whole_files_are_read(name: str, tmp_path: Path) -> None:
    made, read = READERS[name]
    (tmp_path / name).write_bytes(made(tmp_path))
    assert read(tmp_path / name) is not None


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    whole = {name: made(tmp_path) for name, (made, _) in READERS.items()}
    names, said = list(READERS), []
    for seed in tries(480):
        rng = np.random.default_rng(seed)
        name = names[seed % len(names)]
        file = tmp_path / name
        file.write_bytes(mutated(whole[name], rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                READERS[name][1](file)
        except ValueError as error:
            said.append(str(error))
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}") from error
    assert said
    assert all(said)


def test_mutated_pictures_are_read_or_refused() -> None:
    cv2 = pytest.importorskip("cv2")
    pytest.importorskip("cv2.ximgproc")
    from casimir.tasks.opencv import decode_rgb

    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    whole = {kind: cv2.imencode(kind, pixels)[1].tobytes() for kind in (".jpg", ".png", ".bmp")}
    said = []
    for seed in tries(60):
        kind = list(whole)[seed % len(whole)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert decode_rgb(mutated(whole[kind], np.random.default_rng(seed)), f"x{kind}").ndim == 3
        except ValueError as error:
            said.append(str(error))
    assert said
    assert all("is not an image that OpenCV can read" in text for text in said)


def test_the_harness_changes_bytes() -> None:
    data = io.BytesIO(b"some text that is long enough").getvalue()
    assert sum(mutated(data, np.random.default_rng(seed)) != data for seed in range(100)) > 90
