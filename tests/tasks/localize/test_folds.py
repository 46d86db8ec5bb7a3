"""How `--folds` reports on localization."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from casimir.cli import app
from casimir.tasks.localize.task import TASK
from casimir.tasks.parts import fold_parts
from casimir.tasks.task import Fit, Given

pytest.importorskip("cv2.ximgproc")
IMAGES, FOLDS, EPOCHS = 8, 3, 5  # 8 images: two folds of three and one of two
COLUMNS = ("corloc", "ap", "mean_iou")


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("casimir.tasks.localize.task._MADE_UP", IMAGES)
    words = ("train", "localize", "--model", tmp_path / "m", "--folds", FOLDS, "--epochs", EPOCHS, "--seed", 4)
    result = CliRunner().invoke(app, [*map(str, words), "-q", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["cross_validation"]


def test_every_fold_is_scored_by_a_model_that_never_saw_its_pictures(figures: Any) -> None:
    given = Given(TASK.train_options(), Fit(epochs=EPOCHS, seed=4), has_data=False)
    parts = list(fold_parts(TASK.made_up()[0], FOLDS, seed=4))
    assert [fold["n"] for fold in figures["folds"]] == [len(held_out) for _, held_out in parts] == [3, 3, 2]
    for fold, (learned, held_out) in zip(figures["folds"], parts, strict=True):
        names = [{picture.name for picture in part.pictures} for part in (learned, held_out)]
        assert not names[0] & names[1]
        assert len(names[0] | names[1]) == IMAGES
        with pytest.warns(UserWarning, match="Training ended after"):
            model = TASK.train(learned, given, ())
        scores = TASK.score(model, held_out, given)
        assert [fold[name] for name in COLUMNS] == pytest.approx([getattr(scores, name) for name in COLUMNS])


def test_folds_count_alike_whatever_their_size(figures: Any) -> None:
    for name in COLUMNS:
        assert figures[name] == pytest.approx(sum(fold[name] for fold in figures["folds"]) / FOLDS)
    by_image = sum(fold["n"] * fold["mean_iou"] for fold in figures["folds"]) / IMAGES
    assert figures["mean_iou"] != pytest.approx(by_image), "these folds would not tell the two means apart"
    assert "folds" not in figures["baselines"]["largest box"]
