"""Training on made-up pictures with both scores, folds, model folders, pictures of results, and the command line."""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import replace
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
from casimir.tasks.localize import (
    CandidateSet,
    EluScore,
    Found,
    HandMade,
    LocalizeModel,
    Picture,
    collect,
    pictures_of,
    read_pictures,
    solver_for,
    train,
)
from casimir.tasks.localize.features import FeatureMap
from casimir.tasks.localize.overlays import Guess, Overlay, write_overlays
from casimir.tasks.training import Training

cv2 = pytest.importorskip("cv2")
pytest.importorskip("cv2.ximgproc")


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    return pictures_of(objects.make_objects(24, seed=1))


@pytest.fixture(scope="module")
def candidates(pictures: list[Picture]) -> CandidateSet:
    return collect(pictures, HandMade())


@pytest.fixture(scope="module")
def model(candidates: CandidateSet) -> LocalizeModel:
    return train(candidates.select(range(16)), HandMade())


# --- the model


def test_training_is_certified_and_beats_the_baselines(model: LocalizeModel, candidates: CandidateSet) -> None:
    assert model.run.status == "converged"
    assert model.recipe.features.kind == "full"
    assert model.run.gap <= 1e-2
    assert model.run.lam == 1 / 16
    scores = model.evaluate(candidates.select(range(16, 24)))
    ours, best = scores["casimir"], scores["best candidate"]
    assert ours.corloc >= 0.8
    assert ours.ap is not None
    assert ours.ap >= 0.7
    assert best.mean_iou >= ours.mean_iou > scores["largest box"].mean_iou > scores["random candidate"].mean_iou


def test_the_found_box_is_the_first_best_candidate(model: LocalizeModel, candidates: CandidateSet) -> None:
    found = model.find(candidates)
    values = model.values(candidates, 3)
    assert found.confidence[3] == values.max()
    assert found.boxes[3].tolist() == candidates.boxes[3][np.argmax(values)].tolist()
    nothing = replace(model, w=np.zeros_like(model.w)).find(candidates)
    assert nothing.boxes.tolist() == [boxes[0].tolist() for boxes in candidates.boxes]


def test_the_elu_score_trains_by_prox_linear_steps(candidates: CandidateSet) -> None:
    rows: list[float] = []
    trained = train(
        candidates.select(range(16)),
        HandMade(),
        Training(epochs=10, callbacks=(lambda row, w: rows.append(row.objective),)),
        score="elu",
        hidden=8,
    )
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < 0.8 * rows[0]
    assert not trained.run.convex
    assert trained.recipe.features.kind == "geometry"
    assert trained.run.prox_gradient is not None
    assert trained.evaluate(candidates.select(range(16, 24)))["casimir"].corloc >= 0.6


@pytest.mark.parametrize("solver", ["casimir", "svrg", "bcfw", "sgd"])
def test_other_solvers_end_near_the_same_objective(candidates: CandidateSet, model: LocalizeModel, solver: str) -> None:
    again = train(candidates.select(range(16)), HandMade(), Training(solver=solver, tol=0.05, epochs=200))
    assert again.run.objective <= 1.06 * model.run.objective
    assert again.run.dual <= model.run.objective


def test_solvers_by_name() -> None:
    assert solver_for("casimir", "linear") == cs.Casimir(inner=cs.SVRG(smoothing=cs.L2(k=10)))
    assert solver_for("auto", "elu") == cs.ProxLinear()
    assert solver_for("casimir", "elu") == cs.ProxLinear(
        inner=cs.Casimir.paper("const", cs.SVRG(smoothing=cs.L2(k=10), iterate="average", sampling="replacement"))
    )
    assert isinstance(solver_for("sgd", "elu"), cs.SGD)
    assert solver_for("auto", "linear") == "auto"
    with pytest.raises(ValueError, match="'bcfw' needs a score that is linear"):
        solver_for("bcfw", "elu")


def test_bad_training_data_is_refused(candidates: CandidateSet) -> None:
    with pytest.raises(ValueError, match="at least one picture"):
        train(candidates.select([]), HandMade())
    with pytest.raises(ValueError, match="need the box of every picture"):
        train(replace(candidates, truth=None), HandMade())
    with pytest.raises(ValueError, match="one of linear, elu"):
        train(candidates, HandMade(), score="cubic")
    with pytest.raises(ValueError, match="one of full, geometry, paper, raw"):
        train(candidates, HandMade(), features="max")


def test_training_twice_gives_the_same_model(candidates: CandidateSet, model: LocalizeModel) -> None:
    again = train(candidates.select(range(16)), HandMade())
    np.testing.assert_array_equal(again.w, model.w)


# --- model folders


@pytest.mark.parametrize("score", ["linear", "elu"])
def test_a_saved_model_finds_the_same(candidates: CandidateSet, tmp_path: Path, score: str) -> None:
    some = candidates.select(range(6))
    trained = train(some, HandMade(), Training(epochs=2, tol=0.9), score=score, hidden=3, target="oval")
    trained.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert (loaded.run, loaded.recipe, loaded.score, loaded.target) == (
        trained.run,
        trained.recipe,
        trained.score,
        "oval",
    )
    assert loaded.pictures == some.names
    np.testing.assert_array_equal(loaded.find(candidates).boxes, trained.find(candidates).boxes)
    np.testing.assert_array_equal(loaded.find(candidates).confidence, trained.find(candidates).confidence)
    assert isinstance(cs.load(tmp_path / "m"), LocalizeModel)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda meta, arrays: arrays.pop("w"), "no array 'w'"),
        (lambda meta, arrays: arrays.update(w=arrays["w"][1:]), "its array 'w' is"),
        (lambda meta, arrays: arrays.update(w=arrays["w"] * np.nan), "not finite"),
        (lambda meta, arrays: meta.pop("recipe"), "no proper 'recipe'"),
        (lambda meta, arrays: meta["recipe"].pop("key"), "no proper 'key'"),
        (lambda meta, arrays: meta["recipe"]["features"].update(cells=0), "how its features are made"),
        (lambda meta, arrays: meta["recipe"]["features"].update(kind="max"), "one of full, geometry, paper, raw"),
        (lambda meta, arrays: meta["recipe"].update(descriptor="resnet"), "'resnet' is not known"),
        (lambda meta, arrays: meta["recipe"]["features"].pop("kind"), "no proper 'kind'"),
        (lambda meta, arrays: meta["recipe"].update(weights=3), "how its features are made"),
        (lambda meta, arrays: meta.update(score="cubic"), "cubic"),
        (lambda meta, arrays: meta.update(pictures=None), "damaged"),
        (lambda meta, arrays: meta.update(run={}), "training figures"),
    ],
)
def test_a_damaged_model_is_refused(model: LocalizeModel, tmp_path: Path, damage: Any, message: str) -> None:
    model.save(tmp_path / "m")
    kind, meta, arrays = load_folder(tmp_path / "m")
    damage(meta, arrays)
    save_folder(tmp_path / "m", kind, meta, arrays)
    with pytest.raises(ValueError, match=message):
        cs.load(tmp_path / "m")


def test_another_descriptor_is_refused(model: LocalizeModel, pictures: list[Picture], tmp_path: Path) -> None:
    other = replace(model, recipe=replace(model.recipe, key="hand-made-0"))
    with pytest.raises(ValueError, match="is not the one that this model was trained with"):
        other.collect(pictures[:1])
    with pytest.raises(ValueError, match="hand-made descriptor, which has no weights file"):
        model.collect(pictures[:1], weights=tmp_path / "w.npz")


def _weights(file: Path, seed: int) -> Path:
    """An .npz like AlexNet's, with random numbers."""
    rng = np.random.default_rng(seed)
    shapes = {0: (64, 3, 11, 11), 3: (192, 64, 5, 5), 6: (384, 192, 3, 3), 8: (256, 384, 3, 3)}
    arrays = {f"features.{k}.weight": rng.normal(scale=0.05, size=shape) for k, shape in shapes.items()}
    arrays |= {f"features.{k}.bias": rng.normal(size=shape[0]) for k, shape in shapes.items()}
    np.savez(file, **{name: array.astype(np.float32) for name, array in arrays.items()})
    return file


def test_a_model_asks_for_the_weights_it_was_trained_with(pictures: list[Picture], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from casimir.tasks.localize import AlexNet

    file, other = _weights(tmp_path / "a.npz", 0), _weights(tmp_path / "b.npz", 1)
    network = AlexNet(file, context=1.5)
    some = pictures[:2]
    trained = train(collect(some, network, top=20), network, Training(tol=0.5), top=20)
    trained.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert loaded.recipe.weights == str(file)
    assert loaded.recipe.context == 1.5
    here = loaded.find(loaded.collect(some)).boxes
    moved = file.rename(tmp_path / "moved.npz")
    np.testing.assert_array_equal(loaded.find(loaded.collect(some, weights=moved)).boxes, here)
    with pytest.raises(FileNotFoundError, match=r"a\.npz.*--weights FILE"):
        loaded.collect(some)
    with pytest.raises(ValueError, match=r"b\.npz' is not the one that this model was trained with"):
        loaded.collect(some, weights=other)


# --- pictures of results


def overlays(pictures: list[Picture], found: Found) -> list[Overlay]:
    pairs = zip(pictures, found.boxes, found.confidence.tolist(), strict=True)
    return [Overlay(picture, {"oval": Guess(box, score, picture.box)}) for picture, box, score in pairs]


def test_overlays_are_ranked_and_named(model: LocalizeModel, pictures: list[Picture], tmp_path: Path) -> None:
    found = model.find(collect(pictures[:3], HandMade()))
    files = write_overlays(tmp_path / "seen", overlays(pictures[:3], found))
    assert {file.name for file in files} == {f"picture_{i}.png" for i in range(3)} | {"overview.png"}
    drawn = cv2.imread(str(tmp_path / "seen" / "picture_0.png"))[:, :, ::-1].reshape(-1, 3).tolist()
    assert [255, 122, 30] in drawn
    assert [40, 170, 255] in drawn


def test_overlays_never_overwrite_each_other(pictures: list[Picture], tmp_path: Path) -> None:
    names = ["img.1", "img.2", "a b", "a_b", "overview"]
    named = [Picture(name, one.source, one.box) for name, one in zip(names, pictures, strict=False)]
    boxes = np.array([picture.box for picture in named])
    files = write_overlays(tmp_path, overlays(named, Found(boxes, np.zeros(5))))
    assert [file.stem for file in files] == ["img.1", "img.2", "a_b", "a_b-2", "overview-2", "overview"]
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.parametrize("shape", [(1, 20000), (20000, 1), (1, 1)])
def test_overlays_of_elongated_pictures_stay_small(tmp_path: Path, shape: tuple[int, int]) -> None:
    picture = Picture("x", np.zeros((*shape, 3), dtype=np.uint8), np.array([0, 0, shape[0] - 1, shape[1] - 1]))
    write_overlays(tmp_path, overlays([picture], Found(np.array([picture.box]), np.zeros(1))))
    drawn = cv2.imread(str(tmp_path / "overview.png"))
    assert max(drawn.shape[:2]) < 6000
    assert (drawn[:, :, ::-1] == [255, 122, 30]).all(axis=2).any()


# --- the command line


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def voc(pictures: list[Picture], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_voc(tmp_path_factory.mktemp("VOCdevkit") / "VOC2012", {"oval": pictures[:20]})


@pytest.fixture(scope="module")
def saved(voc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    options = ["--train", voc, "--class", "oval", "--cache", folder / "cache", "--pictures", folder / "seen", "--json"]
    result = invoke("train", "localize", *options, "--model", folder / "m")
    assert result.exit_code == 0, result.output
    (folder / "stdout").write_text(result.stdout)
    (folder / "stderr").write_text(result.stderr)
    return folder


def test_train_reports_held_out_images_and_the_missing_weights(saved: Path) -> None:
    figures = json.loads((saved / "stdout").read_text())
    assert figures["status"] == "converged"
    assert figures["descriptor"] == "hand-made"
    assert figures["heldout"]["n"] == 4
    assert set(figures["heldout"]["baselines"]) == {"largest box", "random candidate", "best candidate"}
    assert len(figures["pictures"]) == 5
    assert (saved / "seen" / "overview.png").exists()
    assert (saved / "stderr").read_text().count("torchvision.models.alexnet") == 1
    assert len(list((saved / "cache").glob("*.safetensors"))) == 16


def test_evaluate_a_voc_folder(saved: Path, voc: Path) -> None:
    result = invoke("evaluate", saved / "m", voc, "--split", "val", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["n"] == 4
    assert "trained on" not in result.stderr
    assert figures["corloc"] > figures["baselines"]["random candidate"]["corloc"]
    shown = invoke("evaluate", saved / "m", voc, "--cache", saved / "cache")
    assert all(word in shown.stdout for word in ("CorLoc", "AP", "mean IoU", "casimir", "best candidate"))
    assert "trained on 12 of these 16 images" in shown.stderr


def test_what_predict_writes_can_be_evaluated(saved: Path, voc: Path, tmp_path: Path) -> None:
    images = voc / "JPEGImages"
    table = images / "found.csv"
    result = invoke("predict", saved / "m", images, "--cache", saved / "cache", "--output", table)
    assert result.exit_code == 0, result.output
    lines = table.read_text().splitlines()
    assert lines[0] == "image,top,left,bottom,right,score"
    assert len(lines) == 21
    one = invoke("predict", saved / "m", images / "000003.jpg")
    assert one.stdout.splitlines()[1] == lines[4]
    again = invoke("evaluate", saved / "m", table, "--cache", saved / "cache", "--json")
    assert json.loads(again.stdout)["mean_iou"] == 1.0
    assert invoke("predict", saved / "m", table, "--cache", saved / "cache").stdout.splitlines() == lines
    table.unlink()


def test_predict_draws_boxes(saved: Path, voc: Path, tmp_path: Path) -> None:
    options = ("--cache", saved / "cache", "--pictures", tmp_path / "drawn")
    result = invoke("predict", saved / "m", voc / "JPEGImages" / "000003.jpg", *options)
    assert result.exit_code == 0, result.output
    drawn = cv2.imread(str(tmp_path / "drawn" / "000003.jpg.png"))[:, :, ::-1]
    assert (drawn == [255, 122, 30]).all(axis=2).any()
    assert not (drawn == [40, 170, 255]).all(axis=2).any()
    assert (tmp_path / "drawn" / "overview.png").exists()


def test_folds_report_every_image(voc: Path, saved: Path, tmp_path: Path) -> None:
    options = ["--train", voc, "--class", "oval", "--cache", saved / "cache", "--folds", 2, "--tol", "0.1", "-q"]
    result = invoke("train", "localize", *options, "--model", tmp_path / "m", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert [fold["n"] for fold in figures["cross_validation"]["folds"]] == [8, 8]
    assert len(cs.load(tmp_path / "m").pictures) == 16


def test_without_data_the_command_runs_on_made_up_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = objects.make_objects(8)
    monkeypatch.setattr(objects, "make_objects", lambda n: few)
    options = ["--score", "elu", "--epochs", 2, "--model", tmp_path / "m"]
    result = invoke("train", "localize", *options)
    assert result.exit_code == 0, result.output
    assert "2 images, held-out data" in result.stdout
    assert "prox-gradient norm" in result.stdout
    assert "torchvision" not in result.stderr
    assert isinstance(cs.load(tmp_path / "m").score, EluScore)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class", "dog"], "give both, or none of them"),
        (["--train", "."], "give both, or none of them"),
        (["--split", "val"], "--split is one of the lists of --train"),
        (["--train", "nowhere", "--class", "dog"], "There is no 'nowhere'"),
        (["--weights", "nowhere.npz"], "no file 'nowhere.npz'"),
        (["--pictures", __file__], "is a file; pictures are written into a folder"),
        (["--pictures", f"{__file__}/seen"], "There can be no folder"),
        (["--held-out", "1"], "--held-out 1 is not a share"),
        (["--held-out", "nan"], "--held-out nan is not a share"),
        (["--held-out", "0.001"], "--held-out 0.001 of 80 examples leaves 80"),
        (["--held-out", "0.5", "--folds", "4"], "exclude each other"),
        (["--folds", "81"], "--folds 81 of 80 examples"),
        (["--score", "elu", "--solver", "bcfw"], "needs a score that is linear"),
        (["--score", "cubic"], "is not one of linear, elu"),
        (["--context", "2"], "--context is for AlexNet"),
    ],
)
def test_errors_come_before_features(tmp_path: Path, options: list[str], message: str) -> None:
    result = invoke("train", "localize", "--model", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not result.stdout
    assert not (tmp_path / "m").exists()


def test_figures_are_not_lost_with_pictures(
    voc: Path, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    arguments = ["train", "localize", "--train", voc, "--class", "oval", "--model", tmp_path / "m", "--json", "--quiet"]
    arguments += ["--cache", saved / "cache", "--tol", 0.1, "--pictures", tmp_path / "seen"]
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    result = invoke(*arguments)
    monkeypatch.undo()
    assert result.exit_code == 0
    assert re.search("seen.*png' cannot be written .No space left on device", result.stderr)
    assert json.loads(result.stdout)["heldout"]["n"] > 0
    assert cs.load(tmp_path / "m").target == "oval"


def test_features_need_a_home_or_a_folder(voc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    result = invoke("train", "localize", "--train", voc, "--class", "oval", "--model", tmp_path / "m")
    assert (result.exit_code, "no home folder" in result.stderr) == (2, True)


def test_unusable_files_are_named(saved: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("evaluate", saved / "m", tmp_path), "does not say where the objects are"),
        (("evaluate", saved / "m", tmp_path / "x"), "There is no"),
        (("predict", saved / "m", tmp_path), "has no images"),
        (("predict", saved / "m", __file__), "is not an image"),
        (("predict", saved / "m", tmp_path, "--split", "val"), "--split is for VOC folders"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert not result.stdout
    with pytest.raises(FileNotFoundError, match="a VOC folder"):
        read_pictures(tmp_path / "x", "dog", labelled=True)


@pytest.mark.parametrize("moment", [(HandMade, "describe"), (FeatureMap, "stacked")])
def test_ctrl_c_says_where_features_are(
    voc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: tuple[type, str]
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*moment, stop)
    arguments = ["train", "localize", "--train", voc, "--class", "oval", "--model", tmp_path / "m", "--quiet"]
    kept = invoke(*arguments, "--cache", tmp_path / "cache")
    assert (kept.exit_code, "the same command goes on" in kept.stderr) == (130, True)
    assert "nothing was saved" in invoke(*arguments, "--no-cache").stderr


def test_features_are_kept_unless_they_should_not_be(
    voc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    arguments = ["train", "localize", "--train", voc, "--class", "oval", "--tol", "0.1", "--model", tmp_path / "m"]
    result = invoke(*arguments, "--no-cache")
    assert result.exit_code == 0
    assert not (tmp_path / "casimir").exists()
    result = invoke(*arguments)
    assert f"Features are kept in {tmp_path / 'casimir' / 'localize'}" in " ".join(result.stderr.split())
    assert len(list((tmp_path / "casimir" / "localize").glob("*.safetensors"))) == 16
    both = invoke(*arguments, "--cache", tmp_path, "--no-cache")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)


# --- real images


@pytest.mark.realdata
def test_objects_of_real_images_are_found() -> None:
    pytest.importorskip("torch")
    from casimir.tasks.localize import AlexNet, read_voc

    data = Path(os.environ.get("CASIMIR_DATA", ""))
    weights = data / "weights" / "alexnet_features.npz"
    if not os.environ.get("CASIMIR_DATA") or not weights.is_file():
        pytest.skip("CASIMIR_DATA does not point at a folder with VOCdevkit and weights")
    network = AlexNet(weights)
    found = collect(read_voc(data / "VOCdevkit" / "VOC2012", "aeroplane")[:16], network, top=200)
    trained = train(found.select(range(12)), network, top=200)
    assert trained.run.status == "converged"
    scores = trained.evaluate(found.select(range(12, 16)))
    assert scores["casimir"].mean_iou > 2 * scores["random candidate"].mean_iou
    assert trained.evaluate(found.select(range(12)))["casimir"].corloc > 0.8
