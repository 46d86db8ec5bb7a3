"""Features, training on made-up images, the search against exhaustive search, model folders and the command line."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from box_problem import exhaustive
from typer.testing import CliRunner

import casimir as cs
from casimir.cli import app
from casimir.datasets import objects
from casimir.datasets.objects import make_objects
from casimir.persistence import load_folder, save_folder
from casimir.tasks.boxes import Image, box_scores, describe, images_of, learn_words, train, whole_images
from casimir.tasks.boxes.features import N_DESCRIPTORS
from casimir.tasks.boxes.grid import to_pixels
from casimir.tasks.boxes.metrics import centre_boxes, relative_box
from casimir.tasks.boxes.model import BoxesModel

cv2 = pytest.importorskip("cv2")


@pytest.fixture(scope="module")
def images() -> list[Image]:
    return images_of(make_objects(50, seed=1))


@pytest.fixture(scope="module")
def model(images: list[Image]) -> BoxesModel:
    return train(images[:30], n_words=40)


# --- features and metrics


def test_descriptors_tell_colours_and_directions_apart() -> None:
    pixels = np.zeros((16, 33, 3), dtype=np.uint8)
    pixels[:, :16] = (255, 0, 0)
    pixels[:, 16:32:4] = pixels[:, 17:32:4] = 255  # stripes from top to bottom: the gradient goes across
    cells = describe(pixels, 16)
    assert cells.shape == (1, 3, N_DESCRIPTORS)
    np.testing.assert_allclose(cells[0, 0, :6], [1, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(cells[0, 1, :6], 0.5)
    assert np.argmax(cells[0, 1, 6:]) == 0
    turned = describe(np.ascontiguousarray(pixels.transpose(1, 0, 2)), 16)
    assert np.argmax(turned[1, 0, 6:]) == 2


def test_words_are_the_same_for_the_same_seed(images: list[Image]) -> None:
    descriptors = [describe(image.pixels, 8) for image in images[:5]]
    one, other = learn_words(descriptors, 10, seed=0), learn_words(descriptors, 10, seed=0)
    np.testing.assert_array_equal(one.centres, other.centres)
    indicators = one.indicators(descriptors[0])
    assert indicators.shape == (descriptors[0].shape[0] * descriptors[0].shape[1], 10)
    np.testing.assert_array_equal(indicators.sum(axis=1), 1.0)


def test_few_cells_give_few_words() -> None:
    flat = describe(np.zeros((8, 8, 3), dtype=np.uint8), 4)
    assert len(learn_words([flat], 64, seed=0)) == 1


def test_scores_and_baselines() -> None:
    images = [Image("a", np.zeros((10, 20, 3), dtype=np.uint8), np.array([0, 0, 4, 9]))]
    true = np.array([[0, 0, 4, 9]])
    assert asdict(box_scores(true, true)) == {"mean_iou": 1.0, "corloc": 1.0, "n": 1}
    assert box_scores(true, whole_images(images)).mean_iou == 0.25
    share = relative_box(images, true)
    assert share.tolist() == [0.5, 0.5]
    assert centre_boxes(images, share).tolist() == [[2, 5, 6, 14]]
    with pytest.raises(ValueError, match="1 true and 0 found"):
        box_scores(true, true[:0])


# --- the model


def test_training_is_certified_and_beats_the_baselines(model: BoxesModel, images: list[Image]) -> None:
    assert model.run.status == "converged"
    assert model.run.gap <= 1e-2
    scores = model.evaluate(images[30:])
    assert scores["casimir"].mean_iou > 0.7
    assert scores["casimir"].corloc > 0.8
    assert max(scores[name].mean_iou for name in ("centre box", "whole image")) < 0.5


def test_the_search_finds_what_exhaustive_search_finds(model: BoxesModel, images: list[Image]) -> None:
    for image, box in zip(images, model.find(images), strict=True):
        _, expected = exhaustive(model.score_map(image))
        assert box.tolist() == to_pixels(expected, image.pixels, model.cell).tolist()


def test_a_saved_model_finds_the_same(model: BoxesModel, images: list[Image], tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert loaded.run == model.run
    np.testing.assert_array_equal(loaded.find(images), model.find(images))
    assert isinstance(cs.load(tmp_path / "m"), BoxesModel)


def test_a_damaged_model_is_refused(model: BoxesModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    kind, meta, arrays = load_folder(tmp_path / "m")
    for broken_meta, broken_arrays in [
        ({"run": meta["run"]}, arrays),
        (meta, {**arrays, "w": arrays["w"][1:]}),
        (meta, {name: arrays[name] for name in arrays if name != "share"}),
        ({**meta, "cell": 0}, arrays),
        ({**meta, "run": {}}, arrays),
    ]:
        save_folder(tmp_path / "m", kind, broken_meta, broken_arrays)
        with pytest.raises(ValueError, match="the model file is damaged"):
            cs.load(tmp_path / "m")


def test_bad_training_data_is_refused(images: list[Image]) -> None:
    with pytest.raises(ValueError, match="at least one image"):
        train([])
    with pytest.raises(ValueError, match="has no box"):
        train([Image("a", images[0].pixels)])
    with pytest.raises(ValueError, match="cell=0; it must be"):
        train(images[:1], cell=0)


# --- the command line


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def files(images: list[Image], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    lines = ["image,top,left,bottom,right"]
    for i, image in enumerate(images[:24]):
        (folder / f"{i}.png").write_bytes(cv2.imencode(".png", image.pixels[:, :, ::-1])[1].tobytes())
        assert image.box is not None
        lines.append(",".join([f"{i}.png", *map(str, image.box.tolist())]))
    (folder / "train.csv").write_text("\n".join(lines[:17]) + "\n", encoding="utf-8")
    (folder / "dev.csv").write_text("\n".join([lines[0], *lines[17:]]) + "\n", encoding="utf-8")
    (folder / "new.csv").write_text("image\n20.png\n21.png\n", encoding="utf-8")
    return folder


def test_train_evaluate_and_predict_tables(files: Path, tmp_path: Path) -> None:
    options = ["--dev", files / "dev.csv", "--words", 20, "--tol", "0.05", "--json", "-q"]
    result = invoke("train", "boxes", "--train", files / "train.csv", "--model", tmp_path / "m", *options)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["status"] == "converged"
    assert (figures["words"], figures["dev"]["n"]) == (20, 8)
    assert figures["dev"]["mean_iou"] > figures["dev"]["baselines"]["centre box"]["mean_iou"]
    evaluated = invoke("evaluate", tmp_path / "m", files / "dev.csv", "--json")
    assert json.loads(evaluated.stdout)["mean_iou"] == figures["dev"]["mean_iou"]
    shown = invoke("evaluate", tmp_path / "m", files / "dev.csv")
    assert all(word in shown.stdout for word in ("mean IoU", "CorLoc", "casimir", "centre box", "whole image"))
    predicted = invoke("predict", tmp_path / "m", files / "new.csv")
    assert predicted.stdout.splitlines()[0] == "image,top,left,bottom,right"
    assert len(predicted.stdout.splitlines()) == 3
    written = invoke("predict", tmp_path / "m", files / "new.csv", "--output", tmp_path / "found.csv")
    assert written.exit_code == 0
    assert (tmp_path / "found.csv").read_text(encoding="utf-8") == predicted.stdout


def test_errors_are_one_sentence(files: Path, tmp_path: Path) -> None:
    result = invoke("train", "boxes", "--dev", files / "dev.csv", "--model", tmp_path / "m")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "come with --train" in result.stderr


def test_without_data_the_command_runs_on_made_up_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = objects.Objects(make_objects(12), make_objects(4, seed=9))
    monkeypatch.setattr(objects, "load_objects", lambda: few)
    result = invoke("train", "boxes", "--model", tmp_path / "m", "--tol", "0.1", "--words", "16", "-q")
    assert result.exit_code == 0, result.output
    assert "4 images, dev data" in result.stdout
    assert "relative duality gap" in result.stdout
