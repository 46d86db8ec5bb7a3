"""What reads files of strangers, by the kind of file: whole ones to begin with, and a function that reads any."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from letter_files import text_lines, write_npz
from soak.pack_folders import read_pack_json, read_shard, whole_manifests, whole_shards

import casimir
import casimir as cs
from casimir.compat import from_crfsuite
from casimir.datasets.handwriting import make_words
from casimir.persistence import checkpoint_file, description, load_folder, save_folder
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
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.plain import parse_plain
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.templates.extract import extract
from casimir.tasks.tag.templates.read import read_templates
from casimir.tasks.tag.tokens import Tokens
from casimir.tasks.text import read_text

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = TESTS / "golden"
TOKENS = [[{"word": "New"}, {"word": "York"}], [{"word": "slept", "title": True}]]

COLUMNS = b"-DOCSTART- O\n\nAda B-PER\nslept O\n\nin O\nLeeds B-LOC\nZ\xc3\xbcrich I-LOC\n"
TREE = b"# sent_id = 1\n1\tdogs\tdog\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
LINES = b'{"tokens": ["Ada", "slept"], "tags": ["B-PER", "O"]}\n{"tokens": ["Bob", "left"], "tags": ["B-PER", "O"]}'
CRFPP = b'# of CRF++\nU00:%x[-1,0]\nU01:%x[0,0]/%x[1,1]\nB\nu:%m[0,0,"^.?"]\nu:%T[0,1,"\\d"]\n'
XML = (
    b"<annotation><size><width>90</width><height>80</height></size><object><name>cat</name><difficult>0</difficult>"
    b"<bndbox><xmin>3</xmin><ymin>4</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object></annotation>"
)


@dataclass(frozen=True)
class Reader:
    """whole: bytes that are read without complaint; read: of a file, where a ValueError refuses it."""

    whole: Callable[[], list[bytes]]
    read: Callable[[Path], Any]
    suffix: str = ".txt"


def tried(name: str, data: bytes, folder: Path) -> str:
    """What a reader says against these bytes in one sentence, or "" where it takes them; any other error is raised."""
    file = folder / f"given{READERS[name].suffix}"
    file.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            READERS[name].read(file)
    except ValueError as error:
        return str(error) or "(nothing)"
    return ""


# --- models


@cache
def _models() -> dict[str, tuple[Any, dict[str, np.ndarray]]]:
    """By kind: what a golden model says, and its arrays."""
    found = {}
    for file in sorted(GOLDEN.rglob("model.json")):
        if not file.parent.name.startswith("model-format"):
            kind, meta, arrays = load_folder(file.parent)
            found[kind] = meta, arrays
    return found


def _used(folder: Path) -> None:
    model = cs.load(folder)
    if isinstance(model, cs.SequenceTagger):
        model.predict(TOKENS)


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _of_tagger() -> tuple[bytes, bytes]:
    [json_file] = (GOLDEN / "tagger-3").glob("model.json")
    [arrays] = (GOLDEN / "tagger-3").glob("*.safetensors")
    return json_file.read_bytes(), arrays.read_bytes()


def read_model_json(file: Path) -> None:
    """Beside arrays that are whole."""
    folder = _empty(file.parent / "model")
    [arrays] = (GOLDEN / "tagger-3").glob("*.safetensors")
    shutil.copy(arrays, folder)
    shutil.copy(file, folder / "model.json")
    _used(folder)


def read_arrays(file: Path) -> None:
    """As arrays of a model whose digests are right."""
    folder, payload = _empty(file.parent / "model"), file.read_bytes()
    kind, (meta, _) = "sequence-tagger", _models()["sequence-tagger"]
    (folder / description.arrays_file(payload)).write_bytes(payload)
    (folder / "model.json").write_bytes(description.encode(kind, meta, payload))
    _used(folder)


def read_meta(file: Path) -> None:
    """As what a model says of itself, of any kind, with arrays and digests that are right."""
    given = json.loads(file.read_bytes())
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str) or given["kind"] not in _models():
        raise ValueError("of no kind")
    folder, arrays = _empty(file.parent / "model"), _models()[given["kind"]][1]
    try:
        save_folder(folder, given["kind"], given.get("meta"), arrays)  # type: ignore[arg-type]
    except TypeError as error:  # what JSON does not hold
        raise ValueError(str(error)) from None
    _used(folder)


def whole_metas() -> list[bytes]:
    made = [json.dumps({"kind": kind, "meta": meta}).encode() for kind, (meta, _) in _models().items()]
    return [one for one in made if len(one) < 6000]


@cache
def whole_checkpoint() -> bytes:
    """What stands behind the first line of one."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        X = cs.pack([[["a", "b"], ["b"]], [["c"]]], n_features=4)
        objective = cs.Objective(cs.LinearChainModel(X, 2), cs.Chain(2), cs.Hamming(), [[0, 1], [0]], 0.1)
        cs.minimize(objective, cs.DualProximal(), 2, 0.0, checkpoint=cs.Checkpoint(folder, 0))
        return (Path(folder) / checkpoint_file.FILE).read_bytes().partition(b"\n")[2]


def read_checkpoint(file: Path) -> None:
    """Behind a first line whose digest is right."""
    payload = file.read_bytes()
    first = b"casimir checkpoint 1 " + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    (file.parent / checkpoint_file.FILE).write_bytes(first + payload)
    found = checkpoint_file.read(file.parent)
    assert found is not None
    found[1]()


# --- data


def letters() -> list[bytes]:
    return ["".join(text_lines(words_of(make_words()).select(np.arange(2)))).encode()]


@cache
def archive() -> list[bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return [write_npz(Path(folder) / "a.npz", words_of(make_words()).select(np.arange(2))).read_bytes()]


def templates() -> list[bytes]:
    """Those that read no lexicons."""
    sets = Path(casimir.__file__).parent / "tasks" / "tag" / "templates" / "sets"
    texts = [file.read_bytes() for file in sorted(sets.glob("*.txt"))]
    plain = [text for text in texts if not any(word in text for word in (b"cluster", b"names", b"known"))]
    return [b"w={word}\n{word lower first 3 @-1}/{word shape}\n", *plain]


@cache
def _tokens() -> Tokens:
    words = ("Ada", "Z\u00fcrich-2", "NATO")
    return Tokens.of([Sentence(words, {"pos": ("N", "N", "")}, document=0), Sentence(words[:1], {"pos": ("N",)})])


def read_template_set(file: Path) -> Any:
    """And extracts features by them."""
    return extract(_tokens(), read_templates(file, ("word", "pos", "label")), Lexicons(), 32)


def text_of(file: Path) -> str:
    return read_text(file, "utf-8", "a text")


def read_pairs(file: Path) -> Any:
    return parse_bitext(text_of(file), "1-1 2-2\n")


def read_links(file: Path) -> Any:
    return parse_bitext("a b ||| c d\n", text_of(file))


def read_lines(file: Path) -> Any:
    return parse_json_lines(text_of(file), labelled=True)


def read_plain(file: Path) -> Any:
    return parse_plain(text_of(file))


def read_names(file: Path) -> Any:
    return read_gazetteers([file])


def read_boxes(file: Path) -> Any:
    return read_table(file, True, "utf-8")


def dump() -> list[bytes]:
    return [(GOLDEN / "crfsuite-dump" / "model.txt").read_bytes()]


READERS: dict[str, Reader] = {
    "columns": Reader(lambda: [COLUMNS], read_conll),
    "packed-columns": Reader(lambda: [gzip.compress(COLUMNS, mtime=0)], read_conll, ".gz"),
    "conllu": Reader(lambda: [TREE], read_conllu, ".conllu"),
    "json-lines": Reader(lambda: [LINES], read_lines, ".jsonl"),
    "plain": Reader(lambda: [b"Ada slept in Leeds. Bob left.\n"], read_plain),
    "pairs": Reader(lambda: [b"the house ||| la maison\n"], read_pairs),
    "links": Reader(lambda: [b"1-1 2p2\n"], read_links),
    "letters": Reader(letters, read_letters, ".data"),
    "letters-npz": Reader(archive, read_letters, ".npz"),
    "npz": Reader(archive, read_npz, ".npz"),
    "clusters": Reader(lambda: [b"0010\tAda\t4\n0110\tBob\t7\n"], read_clusters),
    "names": Reader(lambda: [b"New York\nLeeds\n"], read_names),
    "boxes": Reader(lambda: [b"image,top,left,bottom,right\na.png,1,2,3,4\n"], read_boxes, ".csv"),
    "templates": Reader(templates, read_template_set),
    "crfpp-templates": Reader(lambda: [CRFPP], read_template_set),
    "voc": Reader(lambda: [XML], read_annotation, ".xml"),
    "dump": Reader(dump, from_crfsuite),
    "model-json": Reader(lambda: [_of_tagger()[0]], read_model_json, ".json"),
    "model-meta": Reader(whole_metas, read_meta, ".json"),
    "safetensors": Reader(lambda: [_of_tagger()[1]], read_arrays, ".safetensors"),
    "pack-json": Reader(whole_manifests, read_pack_json, ".json"),
    "shard": Reader(whole_shards, read_shard, ".bin"),
    "checkpoint": Reader(lambda: [whole_checkpoint()], read_checkpoint, ".checkpoint"),
}


def whole_files() -> Iterator[tuple[str, bytes]]:
    for name, reader in READERS.items():
        for data in reader.whole():
            yield name, data
