"""The data of localization: held-out pictures are never trained on, and metrics are those of the model's own boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casimir._boxes import iou
from casimir.datasets.objects import make_objects
from casimir.experiments import Data, Places, registry
from casimir.experiments.sources import localization
from casimir.experiments.sources.localization import ELU, LINEAR, localization_data, made_up, split
from casimir.tasks.localize import EluScore, HandMade, LinearScore, LocalizeModel, localize_scores, pictures_of
from casimir.tasks.localize.recipe import Recipe
from casimir.tasks.training import Run


def weights(data: Data, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=data.objective.n_params)


@pytest.mark.parametrize("n", [4, 73, 532])
def test_held_out_pictures_are_not_trained_on(n: int) -> None:
    train, rest = split(n)
    assert sorted([*train, *rest]) == list(range(n))
    assert len(train) == round(0.75 * n)


@pytest.mark.parametrize("score", [LinearScore(24), EluScore(4, 6)], ids=lambda score: score.name)
def test_metrics_are_those_of_the_models_own_boxes(score: Any) -> None:
    candidates, features = made_up()
    data = localization_data(candidates, features, score.name)
    held_out = candidates.select(split(len(candidates))[1])
    recipe, run = Recipe("hand-made", "key", features), Run("epochs", 1.0, 0.0, 1.0, 1.0, 1, 1, 0.0)
    for seed in range(5):
        w = weights(data, seed)
        found = LocalizeModel("object", recipe, score, w, (), run).find(held_out)
        assert held_out.truth is not None
        scores = localize_scores(held_out.truth, found.boxes, found.confidence)
        assert data.metrics["corloc"](w) == scores.corloc
        assert data.metrics["ap"](w) == pytest.approx(scores.ap, abs=1e-12)


def test_metrics_follow_w_and_not_the_array() -> None:
    data = localization_data(*made_up(), "linear")
    w = weights(data, 0)
    first = data.metrics["ap"](w)
    w[:] = weights(data, 1)
    assert data.metrics["ap"](w) != first


def test_the_truth_is_the_candidate_nearest_to_the_box() -> None:
    candidates, features = made_up()
    data = localization_data(candidates, features, "linear")
    for i, y in zip(split(len(candidates))[0], data.objective.y, strict=True):
        overlaps = iou(candidates.boxes[i], candidates.truth[i])
        assert overlaps[y[0]] == overlaps.max()


def test_the_linear_score_starts_at_zero_and_the_other_at_small_random_weights() -> None:
    assert localization_data(*made_up(), "linear").start is None
    start = localization_data(*made_up(), "elu").start
    assert start is not None
    np.testing.assert_array_equal(start(7), EluScore(4, 6).start(7))


@pytest.mark.parametrize("sources", [LINEAR, ELU], ids=["linear", "elu"])
def test_pictures_of_voc_are_described_once(sources: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With made-up pictures and a descriptor that needs no weights in the places of VOC and AlexNet."""
    pictures, asked = pictures_of(make_objects(4)), []

    def read(folder: Path, name: str) -> Any:
        asked.append((folder, name))
        return pictures

    monkeypatch.setattr(localization, "read_voc", read)
    monkeypatch.setattr(localization, "AlexNet", lambda path: HandMade())
    places = Places(tmp_path / "data", tmp_path / "cache")
    first = sources["cow"].load(places)
    assert asked == [(tmp_path / "data" / "VOCdevkit/VOC2012", "cow")]
    assert len(list((tmp_path / "cache" / "voc").glob("*.safetensors"))) == 4
    assert (first.objective.n_active, first.objective.n_threads) == (3, 1)
    assert first.objective.is_convex == sources["cow"].convex
    monkeypatch.setattr(HandMade, "describe", None)  # would fail if it were called
    again, w = sources["cow"].load(places), weights(first, 0)
    assert again.objective.value(w) == first.objective.value(w)
    assert again.metrics["ap"](w) == first.metrics["ap"](w)


@pytest.mark.parametrize("name", ["loc-eta", "loc-inner-budget", "loc-nonconvex-warm-start"])
def test_what_is_not_varied_has_the_tuned_values_of_loc_nonconvex(name: str) -> None:
    (experiment,), (origin,) = registry.find(name), registry.find("loc-nonconvex")
    best = next(method for method in origin.methods if method.name == "prox-linear")
    for case in experiment.cases:
        for method in experiment.methods:
            for knob, value in method.tuned[case.name].items():
                assert value == best.tuned[case.name][knob]
