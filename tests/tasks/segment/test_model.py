"""Training on made-up pictures, baselines, saving and damaged models; and the horses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir import load
from casimir.datasets.blobs import make_blobs
from casimir.persistence import load_folder, save_folder
from casimir.tasks.segment import features as segment_features
from casimir.tasks.segment.features import learn_features
from casimir.tasks.segment.metrics import SegmentScores, segment_scores
from casimir.tasks.segment.model import SegmentModel, train, train_weights
from casimir.tasks.segment.overlays import write_overlays
from casimir.tasks.segment.pictures import Picture, read_folder, read_image
from casimir.tasks.training import Training


def three_scores(
    learned: list[Picture], held_out: list[Picture]
) -> tuple[SegmentModel, SegmentScores, SegmentScores, SegmentScores]:
    """The graph cut, and scores on held-out pictures: its own, without edges, all background."""
    features, graphs = learn_features(learned)
    model, alone = (train_weights(features, graphs, Training(tol=0.02), edges=edges) for edges in (True, False))
    truth = [picture.mask for picture in held_out if picture.mask is not None]
    shown = [features.graph(picture.image) for picture in held_out]

    def scores(one: SegmentModel) -> SegmentScores:
        return segment_scores(truth, [one.mask(graph, mask.shape) for graph, mask in zip(shown, truth, strict=True)])

    nothing = segment_scores(truth, [np.zeros_like(mask) for mask in truth])
    return model, scores(model), scores(alone), nothing


def test_edges_help_on_made_up_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_features, "FIRST", replace(segment_features.FIRST, n_features=1000))  # quicker
    pictures = [Picture(str(k), blob.image, blob.mask) for k, blob in enumerate(make_blobs())]
    model, ours, alone, nothing = three_scores(pictures[:40], pictures[40:])
    assert model.run.status == "converged"
    assert model.run.gap <= 0.02
    assert model.weights[model.features.n_node_features :].min() >= 0.0
    assert ours.accuracy > alone.accuracy > nothing.accuracy
    assert ours.iou > alone.iou + 0.01
    assert ours.mean_iou > alone.mean_iou


def test_training_twice_gives_the_same_model(few_blobs: list[Picture], small_looks: None) -> None:
    first, second = (train(few_blobs[:4], Training(tol=0.1, seed=1)) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)


def test_a_prediction_has_the_shape_of_its_image(trained: SegmentModel, few_blobs: list[Picture]) -> None:
    for shape in ((48, 64), (16, 16), (33, 90), (310, 260)):
        image = np.resize(few_blobs[0].image, (*shape, 3))
        mask = trained.predict(image)
        assert mask.shape == shape
        assert mask.dtype == np.bool_
    with pytest.raises(ValueError, match="an image is an array"):
        trained.predict(np.zeros((20, 20), dtype=np.uint8))


def test_a_picture_of_one_colour_has_some_answer(trained: SegmentModel) -> None:
    assert trained.predict(np.full((48, 64, 3), 90, dtype=np.uint8)).shape == (48, 64)


def test_evaluation_needs_masks(trained: SegmentModel, few_blobs: list[Picture]) -> None:
    with pytest.raises(ValueError, match="no mask"):
        trained.evaluate([Picture("it", few_blobs[0].image)])


def test_a_saved_model_predicts_the_same(trained: SegmentModel, few_blobs: list[Picture], tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    assert again.run == trained.run
    assert isinstance(load(tmp_path / "model"), SegmentModel)
    for picture in few_blobs[8:]:
        np.testing.assert_array_equal(again.predict(picture.image), trained.predict(picture.image))


def _without(name: str) -> Any:
    return lambda meta, arrays: arrays.pop(name)


def _set(name: str, value: Any) -> Any:
    return lambda meta, arrays: arrays.update({name: value})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without("weights"), "weights"),
        (_without("look0.weights"), "look0.weights"),
        (_without("last.frequencies"), "last.frequencies"),
        (_without("shapes.masks"), "shapes.masks"),
        (_set("look0.phases", np.zeros(7, dtype=np.float32)), "look0.phases"),
        (_set("shapes.masks", np.full((2, 768), np.nan, dtype=np.float32)), "not finite"),
        (lambda meta, arrays: arrays.update(weights=-np.ones_like(arrays["weights"])), "must not be negative"),
        (lambda meta, arrays: meta.pop("run"), "training figures"),
        (lambda meta, arrays: meta.update(feature_set="looks-99"), "looks-99"),
    ],
)
def test_a_damaged_model_is_refused(trained: SegmentModel, tmp_path: Path, damage: Any, message: str) -> None:
    trained.save(tmp_path / "model")
    kind, meta, arrays = load_folder(tmp_path / "model")
    damage(meta, arrays)
    save_folder(tmp_path / "model", kind, meta, arrays)
    with pytest.raises(ValueError, match=message):
        cs.load(tmp_path / "model")


def test_overlays_show_three_panels(few_blobs: list[Picture], tmp_path: Path) -> None:
    masks = [~picture.mask for picture in few_blobs[:3] if picture.mask is not None]
    files = write_overlays(tmp_path, few_blobs[:3], masks)
    assert sorted(file.name for file in files) == ["blob00.png", "blob01.png", "blob02.png", "overview.png"]
    height, width = read_image(files[0]).shape[:2]
    assert width > 3 * (height - 30)


@pytest.mark.realdata
def test_edges_help_on_horses(horses: Path, small_looks: None) -> None:
    pictures = read_folder(horses)[::3]
    _, ours, alone, nothing = three_scores(pictures[::2], pictures[1::2])
    assert ours.accuracy > alone.accuracy > nothing.accuracy + 0.1
    assert ours.iou > alone.iou > 0.6
    assert ours.mean_iou > alone.mean_iou
