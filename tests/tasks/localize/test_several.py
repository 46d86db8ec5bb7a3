"""Several classes in one run: shared candidates, a model each, one folder, scores by class and their means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner
from voc_folder import write_voc

import casimir as cs
from casimir.cli import app
from casimir.datasets import objects
from casimir.persistence import load_folder, save_folder
from casimir.tasks.localize import CandidateSet, ClassModels, HandMade, Picture, collect, train, train_classes
from casimir.tasks.localize.metrics import ClassScores, LocalizeScores
from casimir.tasks.localize.pool import Pool
from casimir.tasks.localize.several import joint_run
from casimir.tasks.localize.tables import read_classes
from casimir.tasks.training import Training

cv2 = pytest.importorskip("cv2")
pytest.importorskip("cv2.ximgproc")

TOP = 60  # candidates, to be quick


def corner(picture: Picture) -> Picture:
    """The same picture with another object: its upper left part."""
    height, width = picture.read().shape[:2]
    return Picture(picture.name, picture.source, np.array([0, 0, height // 2, width // 2]))


@pytest.fixture(scope="module")
def by_class() -> dict[str, list[Picture]]:
    """16 pictures with an oval and 12 with a corner; eight have both."""
    made = [Picture(f"p{i}", o.pixels, o.box) for i, o in enumerate(objects.make_objects(20, seed=1))]
    return {"oval": made[:16], "corner": [corner(picture) for picture in made[8:]]}


@pytest.fixture(scope="module")
def pool(by_class: dict[str, list[Picture]]) -> Pool:
    return Pool.of(by_class, lambda pictures: collect(pictures, HandMade(), top=TOP))


@pytest.fixture(scope="module")
def models(pool: Pool) -> ClassModels:
    images = pool.images()
    return train_classes({name: images.labelled(name) for name in pool.boxes}, HandMade(), top=TOP)


# --- pictures


def test_a_picture_of_two_classes_is_described_once(by_class: dict[str, list[Picture]]) -> None:
    seen: list[str] = []

    class Counted(HandMade):
        def describe(self, pixels: Any, boxes: Any) -> Any:
            seen.append("described")
            return super().describe(pixels, boxes)

    pool = Pool.of(by_class, lambda pictures: collect(pictures, Counted(), top=TOP))
    images = pool.images()
    parts = [images.labelled(name) for name in by_class]
    assert [len(part) for part in parts] == [16, 12]
    assert len(seen) == len(images) == 20


def test_candidates_of_a_class_have_its_boxes(pool: Pool, by_class: dict[str, list[Picture]]) -> None:
    images = pool.images().select([0, 9, 19])
    assert len(images) == 3
    own = images.labelled("corner")
    assert own.names == ["p9", "p19"]
    np.testing.assert_array_equal(own.truth, [by_class["corner"][1].box, by_class["corner"][11].box])
    assert [box is None for box in images.boxes("oval")] == [False, False, True]


def test_two_boxes_of_a_class_in_a_picture_are_refused(by_class: dict[str, list[Picture]]) -> None:
    twice = {"oval": [by_class["oval"][0]] * 2, "corner": by_class["corner"]}
    with pytest.raises(ValueError, match="'p0' is there twice as a picture of the class 'oval'"):
        Pool.of(twice, lambda pictures: collect(pictures, HandMade()))


# --- models


def test_each_class_is_trained_as_if_it_were_alone(models: ClassModels, pool: Pool) -> None:
    own = pool.images().labelled("corner")
    alone = train(own, HandMade(), top=TOP, target="corner")
    np.testing.assert_array_equal(models.models[1].w, alone.w)
    np.testing.assert_array_equal(models.find_all(own)["corner"].boxes, alone.find(own).boxes)
    assert models.run.lam == pytest.approx(1 / 28)


def test_the_joint_run_is_that_of_the_joint_problem(models: ClassModels) -> None:
    """F = (1/N) sum_i f_i + (lam/2) |w|^2 over both classes, and its bound."""
    (a, b), run = [model.run for model in models.models], models.run
    squares = [float(model.w @ model.w) for model in models.models]
    losses = [one.objective - one.lam / 2 * square for one, square in zip((a, b), squares, strict=True)]
    joint = (16 * losses[0] + 12 * losses[1]) / 28 + run.lam / 2 * sum(squares)
    assert run.objective == pytest.approx(joint, rel=1e-12)
    assert run.dual <= run.objective
    assert run.gap == pytest.approx((run.objective - run.dual) / run.objective)
    assert run.oracle_calls == a.oracle_calls + b.oracle_calls


def test_a_given_lam_is_that_of_the_joint_problem(pool: Pool) -> None:
    parts = {name: pool.images().labelled(name) for name in pool.boxes}
    trained = train_classes(parts, HandMade(), Training(lam=0.07, tol=0.5), top=TOP)
    assert trained.run.lam == pytest.approx(0.07)
    assert [model.run.lam for model in trained.models] == pytest.approx([0.07 * 28 / 16, 0.07 * 28 / 12])


def test_a_run_that_did_not_converge_is_told(models: ClassModels) -> None:
    from dataclasses import replace

    runs = [model.run for model in models.models]
    assert joint_run([replace(runs[0], status="epochs"), runs[1]], [16, 12]).status == "epochs"
    step = joint_run([replace(run, prox_gradient=3.0, convex=False) for run in runs], [1, 1])
    assert step.prox_gradient == pytest.approx(np.hypot(1.5, 1.5))


def test_ctrl_c_keeps_the_classes_so_far(pool: Pool) -> None:
    def stop(row: Any, predictor: Any) -> None:
        raise KeyboardInterrupt

    parts = {name: pool.images().labelled(name) for name in pool.boxes}
    with pytest.warns(UserWarning, match="was interrupted"):
        trained = train_classes(parts, HandMade(), Training(callbacks=(stop,)), top=TOP)
    assert trained.targets == ("oval",)
    assert trained.run.status == "interrupted"


def test_a_class_without_pictures_is_refused(pool: Pool) -> None:
    images = pool.images().select(range(4))
    parts = {name: images.labelled(name) for name in pool.boxes}
    with pytest.raises(ValueError, match="No picture to train on has an object of the class 'corner'"):
        train_classes(parts, HandMade(), Training(tol=0.5), top=TOP)


def test_a_folder_of_several_classes_predicts_the_same(models: ClassModels, pool: Pool, tmp_path: Path) -> None:
    models.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert loaded.targets == ("oval", "corner")
    assert loaded.run == models.run
    assert loaded.pictures == models.pictures
    found, again = (one.find_all(pool.candidates) for one in (models, loaded))
    for name in models.targets:
        np.testing.assert_array_equal(found[name].boxes, again[name].boxes)
        np.testing.assert_array_equal(found[name].confidence, again[name].confidence)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": {}}, "it has no classes"),
        ({"classes": 3}, "no proper"),
        ({"classes": {"oval": {}}}, "no proper 'run'"),
        ({"classes": {"none": None}}, "no proper"),
    ],
)
def test_damaged_folders_of_several_classes_are_refused(
    models: ClassModels, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    models.save(tmp_path / "m")
    kind, meta, arrays = load_folder(tmp_path / "m")
    save_folder(tmp_path / "m", kind, {**meta, **change}, arrays)
    with pytest.raises(ValueError, match=message):
        cs.load(tmp_path / "m")
    save_folder(tmp_path / "m", kind, meta, {"w.oval": arrays["w.oval"]})
    with pytest.raises(ValueError, match="no array 'w'"):
        cs.load(tmp_path / "m")


def test_features_in_half_precision_give_the_same_boxes(pool: Pool) -> None:
    """Training keeps "full" rows as float16; the objective of the float32 rows is the same to three digits."""
    from casimir.tasks.localize.features import FeatureMap
    from casimir.tasks.localize.metrics import best_candidates
    from casimir.tasks.localize.model import training_objective
    from casimir.tasks.localize.scores import make_score

    own: CandidateSet = pool.images().labelled("oval")
    trained = train(own, HandMade(), top=TOP)
    features = FeatureMap(HandMade.cells, HandMade.channels, "full")
    half = training_objective(own, features, make_score("linear", features.cells, features.n_channels), 1 / 16)
    assert half.model.features.dtype == np.float16
    y = [np.array([j]) for j in best_candidates(own.boxes, own.truth)]  # type: ignore[arg-type]
    boxes = [b.astype(np.float64) for b in own.boxes]
    single = cs.LinearCandidateModel.of_rows(*features.stacked(own))
    exact = cs.Objective(single, cs.Candidates(), cs.IoU(boxes), y, 1 / 16)
    assert exact.value(trained.w) == pytest.approx(half.value(trained.w), rel=1e-3)


# --- scores


def test_scores_of_classes_are_averaged() -> None:
    scores = ClassScores({"a": LocalizeScores(1.0, 0.5, 0.8, 4), "b": LocalizeScores(0.5, 0.1, 0.4, 1)})
    assert (scores.corloc, scores.ap, scores.n) == (0.75, 0.3, 5)
    assert scores.mean_iou == pytest.approx(0.6)
    assert scores.to_dict()["classes"]["b"]["corloc"] == 0.5
    assert ClassScores({"a": LocalizeScores(1.0, None, 0.8, 4)}).ap is None


# --- the command line


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def voc(by_class: dict[str, list[Picture]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_voc(tmp_path_factory.mktemp("VOCdevkit") / "VOC2012", by_class)


@pytest.fixture(scope="module")
def saved(voc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    options = ["--train", voc, "--class", "oval", "--class", "corner", "--top", TOP, "--cache", folder / "cache"]
    result = invoke("train", "localize", *options, "--pictures", folder / "seen", "--model", folder / "m")
    assert result.exit_code == 0, result.output
    (folder / "stdout").write_text(result.stdout)
    (folder / "stderr").write_text(result.stderr)
    return folder


def test_train_reports_every_class_and_their_mean(saved: Path) -> None:
    shown, told = (saved / "stdout").read_text(), (saved / "stderr").read_text()
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.strip()}
    assert float(rows["casimir"][0]) == pytest.approx((float(rows["oval"][0]) + float(rows["corner"][0])) / 2, abs=1e-4)
    assert "oval: " in told
    assert len(list((saved / "cache").glob("*.safetensors"))) == 16  # 12 + 8 pictures to train on, of which 4 are both
    drawn = cv2.imread(str(saved / "seen" / "overview.png"))[:, :, ::-1].reshape(-1, 3)
    assert len(drawn)


def test_evaluate_and_predict_know_all_classes(saved: Path, voc: Path, tmp_path: Path) -> None:
    result = invoke("evaluate", saved / "m", voc, "--split", "val", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert [figures["classes"][name]["n"] for name in ("oval", "corner")] == [4, 4]
    assert set(figures["baselines"]["best candidate"]["classes"]) == {"oval", "corner"}
    table = voc / "JPEGImages" / "found.csv"
    options = ("--cache", saved / "cache", "--pictures", tmp_path / "drawn", "--output", table)
    result = invoke("predict", saved / "m", voc / "JPEGImages", *options)
    assert result.exit_code == 0, result.output
    lines = table.read_text().splitlines()
    assert lines[0] == "image,class,top,left,bottom,right,score"
    assert [line.split(",")[1] for line in lines[1:5]] == ["oval", "corner"] * 2
    assert len(lines) == 41
    again = invoke("evaluate", saved / "m", table, "--cache", saved / "cache", "--json")
    assert json.loads(again.stdout)["mean_iou"] == 1.0
    new = invoke("predict", saved / "m", table, "--cache", saved / "cache")
    assert new.stdout.splitlines() == lines
    table.unlink()
    drawn = cv2.imread(str(next((tmp_path / "drawn").glob("0*.png"))))[:, :, ::-1]
    for colour in ([255, 122, 30], [0, 158, 115]):
        assert (drawn == colour).all(axis=2).any()


def test_classes_after_a_comma_and_training_on_all(saved: Path, voc: Path, tmp_path: Path) -> None:
    options = ["--train", voc, "--class", "oval,corner", "--top", TOP, "--cache", saved / "cache", "--test", voc]
    result = invoke("train", "localize", *options, "--held-out", 0, "--model", tmp_path / "m", "--json", "-q")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["test"]["n"] == len(cs.load(tmp_path / "m").pictures) + 4
    assert figures["status"] == "converged"


def test_a_table_needs_the_column_class(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("image,top,left,bottom,right\nx.jpg,0,0,1,1\n")
    with pytest.raises(ValueError, match="there is no column 'class', which says of which of the 2 classes"):
        read_classes(tmp_path / "t.csv", ["a", "b"], labelled=True)
    (tmp_path / "t.csv").write_text("image,class,top,left,bottom,right\nx.jpg,a,0,0,1,1\n")
    with pytest.raises(ValueError, match=r"no line of the class 'b'; there is a\."):
        read_classes(tmp_path / "t.csv", ["b"], labelled=True)
