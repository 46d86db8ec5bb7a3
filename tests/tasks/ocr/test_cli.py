"""casimir train ocr -> evaluate -> predict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from letter_files import text_lines, write_npz
from typer.testing import CliRunner

from casimir.cli import app
from casimir.tasks.ocr import WordImages


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def data(words: WordImages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "letter.data"
    file.write_text("".join(text_lines(words)))
    return file


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    result = invoke("train", "ocr", "--train", data, "--model", data.parent / "m", "--tol", "0.05", "-q")
    assert result.exit_code == 0, result.output
    return data.parent / "m"


def test_train_without_data_runs_on_made_up_words(tmp_path: Path) -> None:
    result = invoke("train", "ocr", "--model", tmp_path / "m", "--tol", "0.1", "--json", "--quiet")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    scores = figures["heldout"]
    assert figures["status"] == "converged"
    assert scores["letter_accuracy"] > scores["baselines"]["letters one by one"]["letter_accuracy"] > 0.6
    assert scores["words"] == 320


def test_train_shows_a_table_of_held_out_scores(data: Path, tmp_path: Path) -> None:
    result = invoke("train", "ocr", "--train", data, "--model", tmp_path / "m", "--features", "pixels", "--lam", "5/n")
    assert result.exit_code == 0, result.output
    for needed in ("200 words, held-out data", "letters one by one", "certified"):
        assert needed in result.output


def test_training_on_all_folds_holds_nothing_out(data: Path, tmp_path: Path) -> None:
    options = ("--train", data, "--model", tmp_path / "m", "--held-out", 0, "--tol", "0.2", "--json", "-q")
    result = invoke("train", "ocr", *options)
    assert result.exit_code == 0, result.output
    assert "heldout" not in json.loads(result.stdout)


def test_evaluate_leaves_out_the_training_folds(folder: Path, data: Path) -> None:
    figures = json.loads(invoke("evaluate", folder, data, "--json").stdout)
    assert figures["words"] == 200
    assert figures["baselines"]["letters one by one"]["letter_accuracy"] < figures["letter_accuracy"]
    shown = invoke("evaluate", folder, data)
    assert "50 words of folds that the model was trained on are left out" in shown.stderr
    assert "letters one by one" in shown.stdout


def test_predict_writes_one_word_per_line(folder: Path, data: Path, words: WordImages, tmp_path: Path) -> None:
    images = write_npz(tmp_path / "images.npz", words, "labels", "folds")
    read = invoke("predict", folder, images).stdout.split("\n")[:-1]
    assert [len(word) for word in read] == words.lengths.tolist()
    both = invoke("predict", folder, data, "--keep-gold", "--output", tmp_path / "read.txt")
    assert both.exit_code == 0
    lines = [line.split("\t") for line in (tmp_path / "read.txt").read_text().splitlines()]
    assert lines == [[true, guess] for true, guess in zip(words.texts(), read, strict=True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--train-folds", "7"), "There is no fold 7 in the made-up words; the folds are 0, 1, 2, 3, 4"),
        (("--train-folds", "x"), "'x' is not a list of folds"),
        (("--features", "hog"), "not one of strokes, pixels"),
        (("--train", "nowhere.npz"), "nowhere.npz"),
    ],
)
def test_errors_are_one_sentence_and_code_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = invoke("train", "ocr", "--model", tmp_path / "m", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert not (tmp_path / "m").exists()


def test_images_without_letters_cannot_be_trained_on(words: WordImages, tmp_path: Path) -> None:
    images = write_npz(tmp_path / "images.npz", words, "labels")
    result = invoke("train", "ocr", "--train", images, "--model", tmp_path / "m")
    assert result.exit_code == 2
    assert "has no letters" in result.output
