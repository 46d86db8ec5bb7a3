"""Models of tasks that earlier versions wrote are read, and predict what they predicted."""

from __future__ import annotations

import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import casimir as cs
import casimir.tasks
from casimir.datasets.blobs import make_blobs
from casimir.datasets.handwriting import make_words
from casimir.datasets.objects import load_objects
from casimir.persistence import load_folder
from casimir.tasks.align.bitext import format_links, parse_bitext
from casimir.tasks.boxes import images_of
from casimir.tasks.deprel.conllu import parse_conllu
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.ocr.words import words_of
from casimir.tasks.tag.columns import parse_conll

GOLDEN = Path(__file__).parent / "golden" / "tasks-1"
BITEXT = "the house ||| la maison\nthe blue house ||| la maison bleue\nblue ||| bleu\n"
GOLD = "1-1 2-2\n1-1 2-3 3-2\n1-1\n"
TREES = (
    "1\tdogs\tdog\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
    "1\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\t_\n2\tloudly\tloudly\tADV\tRB\t_\t1\tadvmod\t_\t_\n\n"
)


@pytest.mark.parametrize("name", ["tagger-2", "tagger-3"])
def test_a_tagger_with_rules_costs_and_few_weights(name: str) -> None:
    tagger = cs.load(GOLDEN.parent / name)
    assert tagger.constraints_.scheme == "IOB2"
    assert (tagger.label_costs, tagger.class_weight, tagger.l1_ratio) == ({("*", "O"): 3.0}, {"B-LOC": 2.0}, 0.3)
    words = ["New", "York", "slept"]
    tokens = [
        {"word": word, "title": word.istitle(), "context": {"before": words[i - 1] if i else "<s>"}}
        for i, word in enumerate(words)
    ]
    assert tagger.predict_single(tokens) == ["B-LOC", "I-LOC", "O"]
    assert tagger.predict_single(tokens, fixed=["O", None, None])[:2] != ["O", "I-LOC"]


def test_align() -> None:
    model = cs.load(GOLDEN / "align")
    assert [format_links(links) for links in model.align(parse_bitext(BITEXT))] == GOLD.splitlines()


def test_ner() -> None:
    model = cs.load(GOLDEN / "ner")
    new = "Ada NNP\nslept VBD\nin IN\nLeeds NNP\n. .\n\nBob NNP\nis VBZ\nlarge JJ\n. .\n"
    labels = [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "O", "O"]]
    assert model.tag(parse_conll(new, labelled=False)) == labels


def test_ocr() -> None:
    model = cs.load(GOLDEN / "ocr")
    assert model.read(words_of(make_words()).select(np.arange(12, 16))) == ["enggnt", "oor", "duur", "uiio"]


def test_align_with_several_links_per_word() -> None:
    model = cs.load(GOLDEN.parent / "tasks-2" / "align")
    assert (model.fertility, model.missed) == (2, 1.0)
    text = "the house ||| la maison\ndo not ||| ne pas\nhouses do not ||| maisons ne pas\n"
    expected = ["1-1 2-2", "1-1 1-2 2-1 2-2", "1-1 2-2 2-3 3-2 3-3"]
    assert [format_links(links) for links in model.align(parse_bitext(text))] == expected


def test_deprel() -> None:
    model = cs.load(GOLDEN / "deprel")
    assert model.predict(parse_conllu(TREES)) == [["nsubj", "root"], ["root", "advmod"]]


def test_boxes() -> None:
    model = cs.load(GOLDEN / "boxes")
    assert model.find(images_of(load_objects().heldout[:2])).tolist() == [[72, 48, 119, 87], [8, 40, 111, 103]]


@pytest.mark.parametrize(
    ("name", "second", "confidence"),
    [
        ("localize", [11, 32, 12, 59], [0.73857019, 0.60901559]),
        ("localize-elu", [26, 0, 47, 26], [0.77321434, 0.67115468]),
    ],
)
def test_localize(name: str, second: list[int], confidence: list[float]) -> None:
    model = cs.load(GOLDEN / name)
    rng = np.random.default_rng(0)
    low = rng.integers(0, 40, size=(2, 6, 2))
    offered = np.concatenate([low, low + rng.integers(1, 40, size=(2, 6, 2))], axis=2)
    shapes = np.array([[80, 90], [90, 80]])
    descriptors = [rng.random((6, 621), dtype=np.float32) for _ in range(2)]
    found = model.find(CandidateSet(["a", "b"], list(offered), descriptors, shapes=shapes))
    assert found.boxes.tolist() == [[12, 1, 42, 30], second]
    np.testing.assert_allclose(found.confidence, confidence, rtol=1e-5)


def test_localize_with_several_classes() -> None:
    model = cs.load(GOLDEN.parent / "tasks-3" / "localize-classes")
    rng = np.random.default_rng(0)
    low = rng.integers(0, 40, size=(2, 6, 2))
    offered = np.concatenate([low, low + rng.integers(1, 40, size=(2, 6, 2))], axis=2)
    descriptors = [rng.random((6, 621), dtype=np.float32) for _ in range(2)]
    found = model.find_all(CandidateSet(["a", "b"], list(offered), descriptors))
    assert model.pictures == list("abcde")
    assert {name: own.boxes[:, 0].tolist() for name, own in found.items()} == {"cat": [34, 20], "dog": [12, 11]}
    np.testing.assert_allclose(found["dog"].confidence, [0.00984086, 0.01032943], rtol=1e-5)


def test_segment() -> None:
    pytest.importorskip("cv2.ximgproc")
    mask = cs.load(GOLDEN.parent / "tasks-3" / "segment").predict(make_blobs()[5].image)
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (18, 31, 26, 43)
    assert abs(int(mask.sum()) - 190) <= 4  # superpixels of another OpenCV may differ by a pixel


def test_a_tagger_of_format_2() -> None:
    model = cs.load(GOLDEN.parent / "tasks-4" / "tag")
    assert model.tag(parse_conll("the\ncats\nbark\n.\n", labelled=False)) == [["DT", "NNS", "VBP", "."]]


@pytest.mark.parametrize(
    ("name", "new", "labels"),
    [
        ("tag", "the\ncats\nbark\n.\n", ["DT", "NNS", "VBP", "."]),
        ("pos", "a\ndog\nsleeps\nhere\n", ["DT", "NN", "VBZ", "RB"]),
        ("chunk", "a DT\ndog NN\nsleeps VBZ\nhere RB\n", ["B-NP", "I-NP", "B-VP", "B-ADVP"]),
    ],
)
def test_taggers(name: str, new: str, labels: list[str]) -> None:
    model = cs.load(GOLDEN.parent / "tasks-3" / name)
    assert model.tag(parse_conll(new, labelled=False)) == [labels]


def test_the_baseline_of_a_tagger() -> None:
    model = cs.load(GOLDEN.parent / "tasks-3" / "tag" / "baselines" / "most frequent label")
    assert model.tag(parse_conll("the\ndogs\nwhistle\n", labelled=False)) == [["DT", "NNS", "."]]


def test_every_task_has_a_golden_model() -> None:
    kinds = {json.loads(file.read_text())["kind"] for file in GOLDEN.parent.glob("tasks-*/*/model.json")}
    own = {one.name for one in pkgutil.iter_modules(casimir.tasks.__path__) if one.ispkg}
    assert kinds == own


PAGE = Path(__file__).parents[1] / "docs" / "model-format.md"


@pytest.mark.skipif(not PAGE.exists(), reason="needs the source tree")
@pytest.mark.parametrize("folder", sorted(GOLDEN.parent.glob("tasks-*/*")), ids=lambda path: "-".join(path.parts[-2:]))
def test_the_page_on_model_folders_names_all_that_is_in_them(folder: Path) -> None:
    kind, meta, arrays = load_folder(folder)
    page = PAGE.read_text(encoding="utf-8")
    assert f'`"{kind}"`' in page
    assert [name for name in meta if f"`{name}`" not in page] == []
    groups = {name: name.partition(".")[0] for name in arrays}
    assert [name for name in arrays if not any(f"`{one}`" in page for one in (name, f"{groups[name]}.*"))] == []
