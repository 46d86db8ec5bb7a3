"""`casimir train segment`, `evaluate` and `predict` on pictures in folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from casimir.cli import app
from casimir.tasks.segment.model import SegmentModel
from casimir.tasks.segment.pictures import read_folder, read_image, read_mask


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def model_folder(trained: SegmentModel, tmp_path: Path) -> Path:
    trained.save(tmp_path / "model")
    return tmp_path / "model"


def test_train_evaluate_and_predict(blob_folder: Path, tmp_path: Path, small_looks: None) -> None:
    model, seen = tmp_path / "model", tmp_path / "seen"
    result = invoke(
        "train", "segment", "--train", blob_folder, "--model", model, "--pictures", seen, "--tol", 0.1, "-q"
    )
    assert result.exit_code == 0, result.output
    for row in ("casimir", "without edges", "all background", "relative duality gap"):
        assert row in result.stdout
    assert len(list(seen.glob("blob*.png"))) == 2
    assert (seen / "overview.png").exists()

    result = invoke("evaluate", model, blob_folder, "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert 0.5 < figures["accuracy"] <= 1.0
    assert figures["pictures"] == 4
    assert set(figures["baselines"]) == {"without edges", "all background"}

    result = invoke("predict", model, blob_folder, "--output", tmp_path / "masks")
    assert result.exit_code == 0, result.output
    right = [
        (read_mask(tmp_path / "masks" / f"{picture.name}.png") == picture.mask).mean()
        for picture in read_folder(blob_folder)
    ]
    assert np.mean(right) == pytest.approx(figures["accuracy"])


def test_train_without_data_uses_made_up_pictures(
    tmp_path: Path, small_looks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import casimir.datasets.blobs

    few = casimir.datasets.blobs.make_blobs(8)
    monkeypatch.setattr(casimir.datasets.blobs, "make_blobs", lambda: few)
    result = invoke("train", "segment", "--model", tmp_path / "model", "--tol", 0.1, "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["status"] == "converged"
    assert figures["heldout"]["baselines"]["all background"]["iou"] == 0.0
    assert (tmp_path / "model" / "model.json").exists()


def test_predict_one_image(model_folder: Path, blob_folder: Path, tmp_path: Path, trained: SegmentModel) -> None:
    file = blob_folder / "images" / "blob02.png"
    result = invoke("predict", model_folder, file, "--output", tmp_path / "masks")
    assert result.exit_code == 0, result.output
    assert [path.name for path in (tmp_path / "masks").iterdir()] == ["blob02.png"]
    np.testing.assert_array_equal(read_mask(tmp_path / "masks" / "blob02.png"), trained.predict(read_image(file)))


@pytest.mark.parametrize("share", [1, 0.1, 0.8, -0.5, 2])
def test_a_share_that_leaves_nothing_is_refused(blob_folder: Path, tmp_path: Path, share: float) -> None:
    result = invoke("train", "segment", "--train", blob_folder, "--model", tmp_path / "m", "--held-out", share)
    assert result.exit_code == 2
    assert "--held-out" in result.stderr or "at least 2" in result.stderr
    assert not (tmp_path / "m").exists()


def test_errors_are_one_sentence(model_folder: Path, blob_folder: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("train", "segment", "--train", tmp_path, "--model", tmp_path / "m"), "images/ and masks/"),
        (("predict", model_folder, blob_folder), "--output DIR"),
        (("predict", model_folder, blob_folder, "--output", model_folder / "model.json"), "is a file"),
        (("predict", model_folder, tmp_path / "x.png", "--output", tmp_path / "out"), "cannot be read"),
        (("evaluate", model_folder, tmp_path), "images/ and masks/"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr.replace("\n", " ")
        assert not result.stdout
