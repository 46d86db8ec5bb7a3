"""Labellers of dependency trees: features, training, model folders and the command line."""

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
from casimir.datasets.treebank import treebank_text
from casimir.persistence import load_folder, save_folder
from casimir.tasks.deprel import Treebank, label_scores, parse_conllu, read_conllu
from casimir.tasks.deprel.features import tree_features
from casimir.tasks.deprel.model import DeprelModel, train
from casimir.tasks.training import Training

TRAIN, DEV = (parse_conllu(treebank_text(part), name=part) for part in ("train", "dev"))
SMALL = 2**12


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def model() -> DeprelModel:
    return train(TRAIN, n_features=SMALL)


def test_features_are_names_that_depend_on_the_tree_and_not_on_labels() -> None:
    tree = DEV.trees[0]
    features = tree_features(tree)
    assert len(features) == len(tree)
    assert all(isinstance(name, str) for node in features for name in node)
    unlabelled = parse_conllu("\n".join(line.replace("\t" + "nsubj" + "\t", "\tobj\t") for line in tree.lines))
    assert tree_features(unlabelled.trees[0]) == features
    root = tree.parents.index(-1)
    assert "side=root" in features[root]
    assert all("side=root" not in node for v, node in enumerate(features) if v != root)


def test_scores_count_labels_words_and_whole_trees() -> None:
    scores = label_scores([["a", "punct"], ["b"]], [["a", "punct"], ["c"]])
    assert (scores.accuracy, scores.words, scores.trees, scores.nodes) == (2 / 3, 1 / 2, 1 / 2, 3)
    assert (scores.by_label["c"].precision, scores.by_label["b"].recall, scores.by_label["a"].f1) == (0.0, 0.0, 1.0)
    assert scores.to_dict()["labels"]["a"]["support"] == 1


def test_edge_scores_beat_independent_nodes(model: DeprelModel) -> None:
    """The label of a particle follows from the label of its head, which independent nodes do not see."""
    assert model.run.status == "converged"
    assert model.run.gap <= 1e-2
    independent = train(TRAIN, edges=False, n_features=SMALL)
    with_edges, without = model.evaluate(DEV), independent.evaluate(DEV)
    assert with_edges.accuracy > 0.99
    assert without.accuracy < with_edges.accuracy - 0.02
    for name in ("case", "mark"):
        assert with_edges.by_label[name].f1 > without.by_label[name].f1


def test_a_crf_learns_the_same(model: DeprelModel) -> None:
    crf = train(TRAIN, Training(1 / len(TRAIN), "lbfgs", 0.05), loss="crf", n_features=SMALL)
    assert crf.run.gap <= 0.05
    assert crf.evaluate(DEV).accuracy > 0.99


def test_predictions_are_those_of_the_composed_path(model: DeprelModel) -> None:
    from casimir.tasks.deprel.model import Packed

    linear, tree = Packed(DEV, SMALL).model(len(model.classes))
    expected = tree.max(linear.scores(model.w)).outputs
    assert model.predict(DEV) == [[model.classes[j] for j in y] for y in expected]


def test_subtypes_are_kept_when_asked_for() -> None:
    text = treebank_text("train").replace("\tadvcl\t", "\tadvcl:late\t")
    treebank = parse_conllu(text)
    plain, full = (train(treebank, Training(tol=0.3), subtypes=kept, n_features=SMALL) for kept in (False, True))
    assert "advcl" in plain.classes
    assert "advcl:late" in full.classes
    assert full.evaluate(treebank).accuracy > 0.9
    assert plain.evaluate(treebank).accuracy > 0.9


def test_saved_models_predict_the_same(model: DeprelModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = cs.load(tmp_path / "model")
    assert loaded.run == model.run
    assert loaded.predict(DEV) == model.predict(DEV)


@pytest.mark.parametrize("what", ["classes", "n_features", "run", "weights", "nan", "version"])
def test_damaged_models_are_refused(model: DeprelModel, tmp_path: Path, what: str) -> None:
    model.save(tmp_path / "model")
    kind, meta, arrays = load_folder(tmp_path / "model")
    if what == "weights":
        arrays = {"weights": np.zeros((3, 3))}
    elif what == "nan":
        arrays = {
            name: a * np.nan if name.endswith(("rows", "entries")) or name == "weights" else a
            for name, a in arrays.items()
        }
    elif what == "version":
        meta["features_version"] = 99
    else:
        del meta[what]
    save_folder(tmp_path / "model", kind, meta, arrays)
    with pytest.raises(ValueError, match="another version" if what == "version" else "damaged"):
        cs.load(tmp_path / "model")


def test_the_command_line_trains_evaluates_and_predicts(tmp_path: Path) -> None:
    files = {part: tmp_path / f"{part}.conllu" for part in ("train", "dev")}
    for part, path in files.items():
        path.write_text(treebank_text(part), encoding="utf-8")
    folder = tmp_path / "model"
    trained = invoke(
        "train", "deprel", "--train", files["train"], "--dev", files["dev"], "--model", folder, "--json", "-q"
    )
    assert trained.exit_code == 0, trained.output
    figures = json.loads(trained.stdout)
    assert figures["gap"] <= 1e-2
    assert figures["dev"]["accuracy"] > figures["dev"]["baselines"]["independent nodes"]["accuracy"]
    evaluated = invoke("evaluate", folder, files["dev"], "--json")
    assert json.loads(evaluated.stdout)["accuracy"] == figures["dev"]["accuracy"]
    shown = invoke("evaluate", folder, files["dev"])
    assert "accuracy" in shown.stdout
    assert "nsubj" in shown.stdout
    predicted = invoke("predict", folder, files["dev"], "--output", tmp_path / "out.conllu")
    assert predicted.exit_code == 0
    again = parse_conllu((tmp_path / "out.conllu").read_text(encoding="utf-8"))
    assert label_scores(DEV.labels(), again.labels()).accuracy == figures["dev"]["accuracy"]
    assert invoke("predict", folder, files["dev"]).stdout == (tmp_path / "out.conllu").read_text(encoding="utf-8")


def test_without_files_the_made_up_treebank_is_used(tmp_path: Path) -> None:
    result = invoke("train", "deprel", "--model", tmp_path / "model", "--tol", "0.5", "-q")
    assert result.exit_code == 0, result.output
    assert "independent nodes" in result.stdout


def test_bad_input_ends_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.conllu").write_text("1\tw\n", encoding="utf-8")
    result = invoke("train", "deprel", "--train", tmp_path / "bad.conllu", "--model", tmp_path / "model")
    assert result.exit_code == 2
    assert "bad.conllu, line 1: 2 columns" in result.stderr.replace("\n", " ")
    assert not (tmp_path / "model").exists()
    result = invoke("train", "deprel", "--dev", tmp_path / "bad.conllu", "--model", tmp_path / "model")
    assert "come with --train" in result.stderr


@pytest.mark.realdata
def test_edge_scores_help_on_universal_dependencies() -> None:
    folder = Path(os.environ.get("CASIMIR_DATA", "")) / "ud" / "EWT"
    if not os.environ.get("CASIMIR_DATA") or not folder.is_dir():
        pytest.skip("CASIMIR_DATA does not point at ud/EWT")
    treebank, dev = (read_conllu(folder / f"en_ewt-ud-{part}.conllu") for part in ("train", "dev"))
    assert (len(treebank), treebank.n_nodes, len(dev)) == (12544, 204577, 2001)
    some = Treebank(treebank.trees[::4], treebank.name)
    with_edges, without = (train(some, Training(tol=0.1), edges=edges) for edges in (True, False))
    assert with_edges.evaluate(dev).accuracy > max(0.96, without.evaluate(dev).accuracy)
