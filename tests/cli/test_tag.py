"""`casimir train tag` and its presets: any labels, any columns, JSON lines, plain text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from casimir.cli import app
from casimir.datasets.treebank import treebank_text


def invoke(*arguments: object, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for part in ("train", "dev"):
        (folder / f"{part}.conllu").write_text(treebank_text(part), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(files: Path) -> Path:
    options = ("--word", 2, "--label", 4, "--columns", "word", "--tol", 0.1, "-q", "--json")
    arguments = ("--train", files / "train.conllu", "--dev", files / "dev.conllu", "--model", files / "m")
    result = invoke("train", "tag", *arguments, *options)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["dev"]["accuracy"] > 0.95
    assert figures["scheme"] is None
    assert figures["dev"]["baselines"]["most frequent label"]["accuracy"] <= figures["dev"]["accuracy"]
    return files / "m"


def test_evaluate_shows_accuracy_its_interval_and_the_baseline(model: Path, files: Path) -> None:
    shown = invoke("evaluate", model, files / "dev.conllu")
    assert shown.exit_code == 0, shown.output
    for word in ("token accuracy", "most frequent label", "NOUN", "95 %"):
        assert word in shown.stdout
    assert "F1" not in shown.stdout.split("\n")[2]
    figures = json.loads(invoke("evaluate", model, files / "dev.conllu", "--json").stdout)
    low, high = figures["accuracy_interval"]
    assert low <= figures["accuracy"] <= high


def test_json_lines_go_in_and_out(model: Path, tmp_path: Path) -> None:
    line = json.dumps({"id": 3, "tokens": ["la", "kira", "."]})
    (tmp_path / "new.jsonl").write_text(line + "\n")
    result = invoke("predict", model, tmp_path / "new.jsonl")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["id"] == 3
    assert len(record["tags"]) == 3


def test_plain_text_from_stdin(tmp_path: Path) -> None:
    arguments = ("train", "ner", "--model", tmp_path / "m", "--tol", 0.5, "-q", "--no-baselines")
    assert invoke(*arguments).exit_code == 0
    text = "Preston Summers visited Leeds. He left."
    inline = invoke("predict", tmp_path / "m", "-", "--text", "--inline", stdin=text)
    assert inline.stdout.count("\n") == 2
    assert "[Preston Summers PER]" in inline.stdout
    record = json.loads(invoke("predict", tmp_path / "m", "-", "--text", "--json", stdin=text).stdout.split("\n")[0])
    span = record["spans"][0]
    assert text[span["start_char"] : span["end_char"]] == "Preston Summers"
    columns = invoke("predict", tmp_path / "m", "-", "--text", stdin=text).stdout
    assert columns.startswith("Preston B-PER\nSummers I-PER\n")


def test_packed_files_go_in_and_out(model: Path, files: Path, tmp_path: Path) -> None:
    packed = tmp_path / "dev.conllu.gz"
    packed.write_bytes(gzip.compress((files / "dev.conllu").read_bytes()))
    result = invoke("evaluate", model, packed, "--json")
    assert json.loads(result.stdout)["accuracy"] > 0.95
    bad = tmp_path / "bad.gz"
    bad.write_bytes(b"no gzip")
    refused = invoke("evaluate", model, bad)
    assert (refused.exit_code, "cannot read" in refused.stderr) == (2, True)
    (tmp_path / "words.txt").write_text("la\nkira\n")
    written = tmp_path / "out.gz"
    assert invoke("predict", model, tmp_path / "words.txt", "--unlabelled", "-o", written).exit_code == 2
    assert invoke("predict", model, files / "dev.conllu", "--labelled", "-o", written).exit_code == 0
    assert gzip.decompress(written.read_bytes()).decode().startswith("1\tla\tla\t")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--word", 4, "--label", 4), "counted from 1"),
        (("--word", 2, "--label", 14), "--word N, --label N"),
        (("--label", 0), "--label"),
        (("--columns", "pos"), "no column 'pos'"),
    ],
)
def test_columns_that_are_not_there_end_in_one_sentence(
    files: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    result = invoke("train", "tag", "--train", files / "train.conllu", "--model", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "m").exists()


def test_cross_validation_reports_means_over_folds(tmp_path: Path) -> None:
    result = invoke("train", "pos", "--model", tmp_path / "m", "--folds", 3, "--tol", 0.5, "-q", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)["cross_validation"]
    assert len(figures["folds"]) == 3
    mean = sum(fold["accuracy"] for fold in figures["folds"]) / 3
    assert figures["accuracy"] == pytest.approx(mean)


def test_inline_needs_spans(model: Path, files: Path) -> None:
    result = invoke("predict", model, files / "dev.conllu", "--labelled", "--inline")
    assert (result.exit_code, "--inline writes spans" in result.stderr) == (2, True)


def test_costs_of_missed_entities_raise_recall(tmp_path: Path) -> None:
    def recall(name: str, *options: object) -> float:
        arguments = ("--model", tmp_path / name, "--tol", 0.2, "--columns", "word", "-q", "--json", "--no-baselines")
        result = invoke("train", "ner", *arguments, *options)
        assert result.exit_code == 0, result.output
        return float(json.loads(result.stdout)["dev"]["recall"])

    assert recall("b", "--cost", "*:O=5") > recall("a")
    crf = invoke("train", "ner", "--model", tmp_path / "c", "--cost", "*:O=5", "--loss", "crf")
    assert (crf.exit_code, "belongs to the hinge loss" in crf.stderr) == (2, True)
