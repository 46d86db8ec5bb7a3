"""Training word aligners, model folders and the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import casimir as cs
from casimir.cli import app
from casimir.datasets.phrases import Phrases, make_phrases
from casimir.persistence import load_folder
from casimir.tasks.align import Bitext, Links, link_scores, parse_bitext, read_bitext
from casimir.tasks.align.baselines import baseline_scores, links_of, thresholds
from casimir.tasks.align.cost import LinkCost
from casimir.tasks.align.features import shapes_of
from casimir.tasks.align.model import AlignModel, decode_model, train
from casimir.tasks.training import Training


@pytest.fixture(scope="module")
def phrases() -> Phrases:
    return make_phrases(120)


@pytest.fixture(scope="module")
def parts(phrases: Phrases) -> tuple[Bitext, Bitext]:
    return halves(parse_bitext(phrases.text, phrases.gold))


@pytest.fixture(scope="module")
def model(parts: tuple[Bitext, Bitext]) -> AlignModel:
    return train(parts[0], Training(tol=0.05), text=[parts[1]])


def halves(bitext: Bitext) -> tuple[Bitext, Bitext]:
    """A random half of the pairs and the rest, each in its order."""
    drawn = np.random.default_rng(0).permutation(len(bitext))[: round(0.5 * len(bitext))]
    chosen = np.isin(np.arange(len(bitext)), drawn)
    return bitext.select(chosen), bitext.select(~chosen)


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_training_certifies_its_gap_and_beats_the_baselines(model: AlignModel, parts: tuple[Bitext, Bitext]) -> None:
    assert model.run.status == "converged"
    assert model.run.gap <= 0.05
    ours = model.evaluate(parts[1])
    chosen = thresholds(model.features.words, parts[0])
    baselines = baseline_scores(model.features.words, chosen, parts[1])
    assert ours.aer < 0.1
    assert ours.aer < 0.5 * min(scores.aer for scores in baselines.values())


def test_held_out_links_are_not_read(parts: tuple[Bitext, Bitext]) -> None:
    labelled, other = parts[0], Bitext(parts[1].source, parts[1].target)
    a, b = (train(labelled, Training(tol=0.3), text=[text], missed=1.0) for text in (other, parts[1]))
    np.testing.assert_array_equal(a.w, b.w)


def two_words_for_one(bitext: Bitext) -> Bitext:
    """Every target word becomes two, both linked to what it was linked to."""
    target = [[half for word in sentence for half in (word, word + "'")] for sentence in bitext.target]
    links = []
    for pair in bitext.gold:
        both = np.concatenate([pair.sure * (1, 2), pair.sure * (1, 2) + (0, 1)])
        links.append(Links(both, both))
    return Bitext(bitext.source, target, links)


def test_a_word_gets_as_many_links_as_the_training_pairs_need(parts: tuple[Bitext, Bitext], tmp_path: Path) -> None:
    labelled, held_out = (two_words_for_one(part) for part in parts)
    model = train(labelled, Training(tol=0.1), text=[held_out], missed=1.0)
    assert (model.fertility, model.missed) == (2, 1.0)
    ours = model.evaluate(held_out)
    best_one_to_one = 1.0 - 2.0 * 0.5 / (0.5 + 1.0)  # half of the links, and no others
    assert ours.aer < 0.6 * best_one_to_one
    found = model.align(held_out)
    assert max(np.bincount(links[:, 0]).max() for links in found) == 2
    model.save(tmp_path / "model")
    loaded = cs.load(tmp_path / "model")
    assert (loaded.fertility, loaded.missed, loaded.names()) == (2, 1.0, model.names())
    for a, b in zip(loaded.align(held_out), found, strict=True):
        np.testing.assert_array_equal(a, b)
    one = train(labelled, Training(tol=0.3), text=[held_out], fertility=1, missed=1.0)
    assert one.evaluate(held_out).aer > best_one_to_one
    with pytest.raises(ValueError, match="fertility=0; it must be a whole number"):
        train(labelled, fertility=0)


def test_the_objective_is_that_of_pairs_whatever_their_parts() -> None:
    """With weights of almost 0, F is what the worst links cost: 1 for each cell that a matching of a part can take."""
    bitext = parse_bitext("a b ||| c d\na b ||| c d\n", "\n\n")
    for fertility, links in ((1, 2), (2, 4)):
        model = train(bitext, Training(lam=1e9), fertility=fertility, missed=1.0)
        assert model.run.objective == pytest.approx(links)
        assert model.run.lam == 1e9


def test_a_word_has_at_most_one_link(model: AlignModel, parts: tuple[Bitext, Bitext]) -> None:
    for links in model.align(parts[1]):
        assert len(set(links[:, 0].tolist())) == len(set(links[:, 1].tolist())) == len(links)


def test_a_saved_model_is_the_same(model: AlignModel, parts: tuple[Bitext, Bitext], tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = cs.load(tmp_path / "model")
    assert isinstance(cs.load(tmp_path / "model"), AlignModel)
    np.testing.assert_array_equal(loaded.w, model.w)
    assert loaded.run == model.run
    for a, b in zip(loaded.align(parts[1]), model.align(parts[1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_damaged_models_are_refused(model: AlignModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    _, meta, arrays = load_folder(tmp_path / "model")
    for name in arrays:
        with pytest.raises(ValueError, match="the model file is damaged"):
            decode_model(meta, {k: v for k, v in arrays.items() if k != name})
        with pytest.raises(ValueError, match="the model file is damaged"):
            decode_model(meta, {**arrays, name: arrays[name][:-1]})
    for name in meta.keys() - {"thresholds"}:  # models of the first version have none
        with pytest.raises(ValueError, match="the model file is damaged"):
            decode_model({k: v for k, v in meta.items() if k != name}, arrays)
    with pytest.raises(ValueError, match="not those of this casimir"):
        decode_model({**meta, "features": ["other", *meta["features"][1:]]}, arrays)


def test_train_evaluate_and_predict_on_the_command_line(phrases: Phrases, tmp_path: Path) -> None:
    text, gold = tmp_path / "text", tmp_path / "gold"
    text.write_text(phrases.text, encoding="utf-8")
    gold.write_text(phrases.gold, encoding="utf-8")
    folder = tmp_path / "model"
    result = invoke("train", "align", "--train", text, "--gold", gold, "--model", folder, "--tol", 0.1, "-q", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["gap"] <= 0.1
    assert figures["fertility"] == 1
    assert figures["missed"] == cs.load(folder).missed
    assert figures["missed"] in (1.0, 3.0, 9.0, 27.0)
    assert figures["heldout"]["aer"] < figures["heldout"]["baselines"]["Dice matching"]["aer"]
    result = invoke("evaluate", folder, text, "--gold", gold)
    assert result.exit_code == 0, result.output
    assert "AER" in result.stdout
    result = invoke("predict", folder, text, "--output", tmp_path / "links")
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "links").read_text(encoding="utf-8")
    found = parse_bitext(phrases.text, lines)
    assert len(found) == 120
    assert invoke("predict", folder, text).stdout == lines


def test_fertility_and_cost_can_be_given(tmp_path: Path) -> None:
    text, gold = tmp_path / "text", tmp_path / "gold"
    text.write_text(make_phrases(9).text, encoding="utf-8")
    gold.write_text(make_phrases(9).gold, encoding="utf-8")
    options = ["--fertility", 2, "--missed", 2.5, "--held-out", 0, "--json", "-q"]
    result = invoke("train", "align", "--train", text, "--gold", gold, "--model", tmp_path / "model", *options)
    assert result.exit_code == 0, result.output
    figures, model = json.loads(result.stdout), cs.load(tmp_path / "model")
    assert (figures["fertility"], figures["missed"]) == (model.fertility, model.missed) == (2, 2.5)


def test_mistakes_on_the_command_line_are_one_sentence(phrases: Phrases, model: AlignModel, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(phrases.text, encoding="utf-8")
    model.save(tmp_path / "model")
    calls = [
        (("train", "align", "--train", text, "--model", tmp_path / "new"), "give them with --gold FILE"),
        (("train", "align", "--model", tmp_path / "new", "--held-out", 1), "is not a share of the data"),
        (("train", "align", "--model", tmp_path / "new", "--missed", "-1"), "is not a cost such as 1 or 2.5, or auto"),
        (("train", "align", "--model", tmp_path / "new", "--wrong", 0), "missed='auto' is a multiple of it"),
        (("evaluate", tmp_path / "model", text), "give them with --gold"),
        (("evaluate", tmp_path / "model", text, "--gold", text), "line 1"),
    ]
    for arguments, message in calls:
        result = invoke(*arguments)
        assert result.exit_code == 2, result.output
        assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "new").exists()


def hansards() -> Bitext:
    """English-French parliament debates, 447 pairs."""
    folder = Path(os.environ.get("CASIMIR_DATA", "")) / "align"
    if not os.environ.get("CASIMIR_DATA") or not folder.is_dir():
        pytest.skip("CASIMIR_DATA does not point at align")
    bitext = read_bitext(folder / "enfr.src-tgt", folder / "enfr.gold")
    assert len(bitext) == 447
    return bitext


@pytest.mark.realdata
def test_hansards_error_rate() -> None:
    """Train on a half, error rates on the other."""
    labelled, held_out = halves(hansards())
    model = train(labelled, text=[held_out])
    assert model.run.gap <= 1e-2
    assert model.fertility == 1
    chosen = thresholds(model.features.words, labelled)
    aer = {name: scores.aer for name, scores in baseline_scores(model.features.words, chosen, held_out).items()}
    ours = model.evaluate(held_out).aer
    assert ours < 0.12
    assert ours < 0.4 * aer["Dice matching"]
    assert ours < 0.25 * aer["diagonal"]
    assert ours < 0.55 * aer["IBM 1 matching"]


@pytest.mark.realdata
def test_hansards_error_rate_is_below_that_of_any_one_to_one_links_when_all_links_are_sure() -> None:
    given = hansards()
    bitext = Bitext(given.source, given.target, [Links(pair.possible, pair.possible) for pair in given.gold])
    labelled, held_out = halves(bitext)
    best = LinkCost(held_out.gold, shapes_of(held_out)).targets()
    one_to_one = link_scores(held_out.gold, links_of(best, shapes_of(held_out)))
    assert one_to_one.precision == 1.0
    some, rest = labelled.select(np.arange(100)), labelled.select(np.arange(100, len(labelled)))
    model = train(some, Training(tol=0.05), text=[rest, held_out])
    assert model.fertility == 4
    assert model.evaluate(held_out).aer < one_to_one.aer - 0.02
