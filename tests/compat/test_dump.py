"""CRFsuite models from their text dumps: by brute force, and against CRFsuite itself where it is installed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from crf_by_hand import distribution, marginals

from casimir.compat import CRF, from_crfsuite

DUMP = Path(__file__).resolve().parent.parent / "golden" / "crfsuite-dump" / "model.txt"


def test_weights_of_a_dump_by_hand() -> None:
    crf = from_crfsuite(DUMP)
    odd = "I --> X: odd"
    assert crf.classes_ == ["O", "B-PER", odd]
    assert crf.attributes_ == ["bias", "word:Ada: the first", "shape --> caps", "deep:inner:x"]
    assert crf.transition_features_ == {("O", "O"): 0.75, ("O", odd): -1.5, ("B-PER", odd): 2.0}
    assert crf.state_features_["shape --> caps", "B-PER"] == 1.0
    assert len(crf.state_features_) == 5
    assert from_crfsuite(DUMP.read_text(encoding="utf-8")).state_features_ == crf.state_features_


def test_predictions_of_a_dump_are_those_of_its_weights() -> None:
    crf = from_crfsuite(str(DUMP))
    given = [{"bias": 1.0, "word": "Ada: the first"}, {"bias": 0.5, "deep": {"inner": ["x"]}}, {"new": 1.0}, ["bias"]]
    plain = [{"bias": 1.0, "word:Ada: the first": 1.0}, {"bias": 0.5, "deep:inner:x": 1.0}, {}, {"bias": 1.0}]
    tables = crf.state_features_, crf.transition_features_
    outputs, probabilities, _ = distribution(plain, crf.classes_, *tables)
    assert crf.predict_single(given) == list(outputs[probabilities.argmax()])
    for row, expected in zip(crf.predict_marginals_single(given), marginals(plain, crf.classes_, *tables), strict=True):
        assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: text.index("TRANSITIONS")], "no section STATE_FEATURES, TRANSITIONS"),
        (lambda text: text[: text.rindex("}")], "a section without an end"),
        (lambda text: text.replace("      1: B-PER\n", ""), "where '1: NAME' should stand"),
        (lambda text: text.replace("(0) bias --> O", "(0) bias --> Q"), "names no weight"),
        (lambda text: text.replace("2: I --> X: odd", "2: O"), "the name 'O' twice, as 0 and 2"),
        (lambda text: text.replace("3: deep:inner:x", "3: bias"), "the name 'bias' twice"),
        (lambda text: text.replace("0: bias", "\u0660: bias"), "where '0: NAME' should stand"),
        (lambda text: text.replace("0: bias", "9" * 5000 + ": bias"), "where '0: NAME' should stand"),
        (lambda text: text.replace("0.750000", "nan"), "names no weight"),
        (lambda text: text.replace("0.750000", "1e999"), "names no weight"),
        (lambda text: text.replace("0.750000", "0_7"), "names no weight"),
        (lambda text: text.replace("0.750000", "1e"), "names no weight"),
        (lambda text: text.replace("  (1) O --> O: 0.750000\n", "  (1) O --> O: 1.0\n" * 2), "in the same place"),
        (lambda text: text.replace("  (1) O --> O: 0.750000\n", ""), "says 'num_features: 8' and has 7"),
        (lambda text: text.replace("num_labels: 3", "num_labels: 4"), "says 'num_labels: 4' and has 3"),
        (lambda text: text.replace("num_attrs: 4", "num_attrs: 3"), "says 'num_attrs: 3' and has 4"),
        (lambda text: f"{text}\nTRANSITIONS = {{\n  (1) O --> O: 9.0\n}}\n", "section TRANSITIONS twice"),
        (lambda text: text.replace("      0: O\n      1: B-PER\n      2: I --> X: odd\n", ""), "no labels"),
    ],
)
def test_what_is_no_whole_dump_is_refused(change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(ValueError, match=message):
        from_crfsuite(change(DUMP.read_text(encoding="utf-8")))


def test_counts_that_crfsuite_does_not_write_are_not_asked_for() -> None:
    text = DUMP.read_text(encoding="utf-8").replace("num_features: 8", "num_features: 0")
    assert from_crfsuite(text).state_features_ == from_crfsuite(DUMP).state_features_
    bare = text[text.index("LABELS") :]
    assert from_crfsuite(bare).transition_features_ == from_crfsuite(DUMP).transition_features_


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_files_that_are_no_text_or_never_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(DUMP.read_bytes().replace(b"bias", b"bi\xffs"))
    with pytest.raises(ValueError, match="no UTF-8 text: byte 0xff"):
        from_crfsuite(tmp_path / "latin.txt")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="only regular ones are read"):
        from_crfsuite(tmp_path / "pipe")
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + DUMP.read_bytes())
    assert from_crfsuite(tmp_path / "marked.txt").attributes_ == from_crfsuite(DUMP).attributes_


@pytest.fixture
def sentences() -> tuple[list[list[dict[str, object]]], list[list[str]]]:
    rng = random.Random(0)
    X: list[list[dict[str, object]]] = []
    y = []
    for _ in range(40):
        words = [rng.choice("abcdef") for _ in range(rng.randint(1, 7))]
        X.append([{"word": w, "up": w in "ab", "weight": rng.uniform(-0.5, 1.5)} for w in words])
        y.append([("L" if w in "abc" else "R") if rng.random() < 0.8 else "N" for w in words])
    return X, y


def test_a_dump_of_crfsuite_predicts_as_crfsuite_does(
    sentences: tuple[list[list[dict[str, object]]], list[list[str]]], tmp_path: Path
) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = sentences
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.05, "c2": 0.05})
    for xseq, yseq in zip(X[:30], y[:30], strict=True):
        trainer.append(xseq, yseq)
    trainer.train(str(tmp_path / "m.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m.crfsuite"))
    tagger.dump(str(tmp_path / "m.txt"))
    crf = from_crfsuite(tmp_path / "m.txt")
    for xseq in X[30:]:
        assert crf.predict_single(xseq) == tagger.tag(xseq)
        for t, row in enumerate(crf.predict_marginals_single(xseq)):
            assert row == pytest.approx({label: tagger.marginal(label, t) for label in tagger.labels()}, abs=1e-5)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.1, 0.1), (0.02, 0.01)])
@pytest.mark.parametrize("possible", [False, True])
def test_training_ends_where_crfsuite_ends(
    c1: float,
    c2: float,
    possible: bool,
    sentences: tuple[list[list[dict[str, object]]], list[list[str]]],
    tmp_path: Path,
) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = sentences
    options = {"c1": c1, "c2": c2, "delta": 1e-9, "epsilon": 1e-8}
    options |= {"feature.possible_states": possible, "feature.possible_transitions": possible}
    trainer = pycrfsuite.Trainer(verbose=False, params=options)
    for xseq, yseq in zip(X, y, strict=True):
        trainer.append(xseq, yseq)
    trainer.train(str(tmp_path / "m.crfsuite"))
    crf = CRF(c1=c1, c2=c2, all_possible_states=possible, all_possible_transitions=possible, delta=1e-7).fit(X, y)
    assert crf.training_log_.featgen_num_features == trainer.logparser.featgen_num_features
    assert crf.objective_ == pytest.approx(trainer.logparser.last_iteration["loss"], rel=1e-5)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m.crfsuite"))
    assert crf.classes_ == tagger.labels()
    for xseq in X:
        rows = crf.predict_marginals_single(xseq)
        tagger.set(xseq)
        for t, row in enumerate(rows):
            assert row == pytest.approx({label: tagger.marginal(label, t) for label in tagger.labels()}, abs=2e-3)
