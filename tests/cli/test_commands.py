"""The command line: results on stdout, progress and one-sentence errors on stderr, exit codes, nothing half-written."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from running_commands import send_at, started
from typer.testing import CliRunner

import casimir.cli.demo
from casimir.cli import app
from casimir.datasets import news_path
from casimir.tasks.ner import entity_scores, read_conll
from casimir.tasks.task import lam_of

RUN = [sys.executable, "-c", "from casimir.cli import main; main()"]


def sentences_of(part: str, n: int) -> str:
    return "\n\n".join(news_path(part).read_text(encoding="utf-8").split("\n\n")[:n]) + "\n\n"


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.txt").write_text(sentences_of("train", 60), encoding="utf-8")
    (folder / "dev.txt").write_text(sentences_of("heldout", 40), encoding="utf-8")
    words = "\n".join(line.split(" ")[0] for line in sentences_of("heldout", 10).split("\n"))
    (folder / "words.txt").write_text(words, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(files: Path) -> Path:
    result = invoke("train", "ner", "--train", files / "train.txt", "--model", files / "model", "--tol", "0.1", "-q")
    assert result.exit_code == 0, result.output
    return files / "model"


# --- help


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], ["demo", "train", "evaluate", "predict"]),
        (["train", "--help"], ["ner"]),
        (
            ["train", "ner", "--help"],
            ["--train", "--dev", "--model", "--solver", "--lam", "--loss", "--seed", "Ctrl-C"],
        ),
        (["evaluate", "--help"], ["DIR", "FILE", "--json"]),
        (["predict", "--help"], ["DIR", "FILE", "--output"]),
        (["demo", "--help"], ["--output"]),
        (["--version"], ["casimir 0."]),
    ],
)
def test_help_tells_what_is_there(arguments: list[str], needed: list[str]) -> None:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"})
    assert result.exit_code == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)
    assert all(word in text for word in needed)


# --- train


def test_train_shows_progress_on_stderr_and_results_on_stdout(files: Path, tmp_path: Path) -> None:
    result = invoke(
        "train", "ner", "--train", files / "train.txt", "--dev", files / "dev.txt", "--model", tmp_path / "m"
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"epoch +\d+  objective [\d.]+  certified gap \S+  dev F1 0\.\d+", result.stderr)
    assert "relative duality gap" in result.stdout
    assert re.search(r"all +0\.\d+ +0\.\d+ +0\.\d+", result.stdout)
    assert names(tmp_path) == ["m"]


def test_train_as_json(files: Path, tmp_path: Path) -> None:
    arguments = ["--train", files / "train.txt", "--dev", files / "dev.txt", "--model", tmp_path / "m", "--json"]
    result = invoke("train", "ner", *arguments, "--tol", "0.2", "--features", "paper", "--lam", "2/n", "--seed", "3")
    figures = json.loads(result.stdout)
    assert figures["status"] == "converged"
    assert figures["gap"] <= 0.2
    n = len(read_conll(files / "train.txt"))
    assert figures["lam"] == pytest.approx(2 / n)
    assert figures["scheme"] == "IOB2"
    assert 0.0 < figures["dev"]["f1"] < 1.0
    assert figures["oracle_calls"] > n


def test_quiet_training_is_quiet_but_for_the_folder(files: Path, tmp_path: Path) -> None:
    arguments = ["--train", files / "train.txt", "--model", tmp_path / "m", "--loss", "crf", "--tol", "0.5", "-q"]
    result = invoke("train", "ner", *arguments, "--exact-vocabulary", "--scheme", "IOB1", "--columns", "word")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("\n") == 1


def test_a_gap_not_reached_is_a_note_and_the_model_is_saved(files: Path, tmp_path: Path) -> None:
    arguments = ["--train", files / "train.txt", "--model", tmp_path / "m", "--epochs", "1", "-q"]
    result = invoke("train", "ner", *arguments)
    assert result.exit_code == 0
    assert "note: Training ended after 1 epochs" in result.stderr
    assert names(tmp_path) == ["m"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train", "{files}/none.txt", "--model", "{out}/m"], "cannot read"),
        (["--train", "{files}", "--model", "{out}/m"], "cannot read"),
        (["--train", "{files}/train.txt", "--model", "{files}/train.txt"], "is a file"),
        (["--train", "{files}/train.txt", "--model", "{files}"], "not a casimir model"),
        (["--train", "{files}/words.txt", "--model", "{out}/m"], "1 column"),
        (["--train", "{files}/train.txt", "--dev", "{files}/none.txt", "--model", "{out}/m"], "none.txt"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--encoding", "klingon"], "unknown encoding"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--columns", "pos"], "no column 'pos'"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--solver", "magic"], "magic"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--loss", "log"], "log"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--lam", "-1"], "-1"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--lam", "1/m"], "1/m"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--tol", "nan"], "tol"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--epochs", "0"], "--epochs"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--features", "best"], "best"),
        (["--train", "{files}/train.txt", "--model", "{out}/m", "--n-features", "9", "--exact-vocabulary"], "one of"),
        (["--dev", "{files}/train.txt", "--model", "{out}/m"], "come with --train"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(
    files: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    before = names(files)
    result = invoke("train", "ner", *(a.format(files=files, out=tmp_path) for a in arguments))
    assert result.exit_code == 2
    assert message in re.sub(r"\s*│?\n│?\s*", " ", result.stderr)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert names(tmp_path) == []
    assert names(files) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Paris B-LOC\nsleeps O extra\n", "line 2"),
        (b"Z\xfcrich B-LOC\n", "latin-1"),
        (b"", "no sentences"),
        (b"Paris NNP\n", "unknown tag"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    result = invoke("train", "ner", "--train", tmp_path / "bad.txt", "--model", tmp_path / "m")
    assert result.exit_code == 2
    assert "bad.txt" in result.stderr
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert names(tmp_path) == ["bad.txt"]


def test_lam_in_units_of_one_over_n() -> None:
    assert lam_of(None, 10) is None
    assert lam_of("1e-3", 10) == 1e-3
    assert lam_of("0.5/n", 10) == 0.05


# --- evaluate and predict


def test_evaluate_counts_entities(model: Path, files: Path) -> None:
    text, plain = invoke("evaluate", model, files / "dev.txt", "--json"), invoke("evaluate", model, files / "dev.txt")
    figures = json.loads(text.stdout)
    assert set(figures["types"]) == {"LOC", "MISC", "ORG", "PER"}
    assert f"{figures['f1']:.4f}" in plain.stdout
    assert plain.stderr == ""


def test_predict_writes_the_file_with_labels(model: Path, files: Path, tmp_path: Path) -> None:
    result = invoke("predict", model, files / "dev.txt")
    assert result.exit_code == 0
    invoke("predict", model, files / "dev.txt", "--output", tmp_path / "tagged.txt")
    assert (tmp_path / "tagged.txt").read_text(encoding="utf-8") == result.stdout
    gold, predicted = read_conll(files / "dev.txt"), read_conll(tmp_path / "tagged.txt")
    assert [s.words for s in gold.sentences] == [s.words for s in predicted.sentences]
    f1 = json.loads(invoke("evaluate", model, files / "dev.txt", "--json").stdout)["f1"]
    assert entity_scores(gold.labels, predicted.labels).f1 == pytest.approx(f1)


def test_predict_on_words_alone_and_with_gold_kept(model: Path, files: Path) -> None:
    plain = invoke("predict", model, files / "words.txt")
    assert plain.exit_code == 0
    assert all(len(line.split(" ")) == 2 for line in plain.stdout.split("\n") if line)
    kept = invoke("predict", model, files / "dev.txt", "--keep-gold")
    assert all(len(line.split(" ")) == 3 for line in kept.stdout.split("\n") if line and "DOCSTART" not in line)


def test_predict_reads_more_columns_when_told_that_the_last_is_a_label(model: Path, tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_text("Paris\tNNP\tI-NP\tI-LOC\nsleeps\tVBZ\tI-VP\tO\n\n")
    assert invoke("predict", model, tmp_path / "wide.txt").exit_code == 2
    result = invoke("predict", model, tmp_path / "wide.txt", "--labelled")
    assert result.exit_code == 0
    assert result.stdout.startswith("Paris\tNNP\tI-NP\t")


def test_other_encodings_go_in_and_out(model: Path, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Zürich\nschläft\n\n".encode("latin-1"))
    result = invoke("predict", model, tmp_path / "latin.txt", "--encoding", "latin-1")
    assert result.stdout_bytes.startswith("Zürich ".encode("latin-1"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "{files}/none", "{files}/dev.txt"],
        ["evaluate", "{files}/train.txt", "{files}/dev.txt"],
        ["evaluate", "{model}", "{files}/none.txt"],
        ["evaluate", "{model}", "{files}/words.txt"],
        ["predict", "{model}", "{files}/words.txt", "--keep-gold"],
        ["predict", "{model}", "{files}/words.txt", "--output", "{files}/no/such/folder.txt"],
        ["predict", "{model}", "{files}/words.txt", "--output", "{files}"],
    ],
)
def test_errors_are_one_sentence_and_code_2(model: Path, files: Path, arguments: list[str]) -> None:
    before = names(files)
    result = invoke(*(a.format(files=files, model=model) for a in arguments))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert names(files) == before


# --- Ctrl-C


def test_interrupt_saves_the_best_model_so_far(files: Path, tmp_path: Path) -> None:
    arguments = ["train", "ner", "--train", str(files / "train.txt"), "--model", str(tmp_path / "m")]
    process = started([*RUN, *arguments, "--tol", "0", "--epochs", "1000000"])
    send_at(process, "epoch  3", signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in rest
    assert "best model so far" in rest
    assert names(tmp_path) == ["m"]
    assert invoke("evaluate", tmp_path / "m", files / "dev.txt").exit_code == 0


def test_interrupt_before_the_first_epoch_saves_nothing(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("casimir.tasks.tag.task.parse_conll", interrupt)
    result = invoke("train", "ner", "--train", files / "train.txt", "--model", tmp_path / "m")
    assert result.exit_code == 130
    assert "nothing was saved" in result.stderr
    assert names(tmp_path) == []


def test_interrupt_after_training_says_that_the_model_is_saved(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("casimir.tasks.tag.model.scores_of", interrupt)
    result = invoke(
        "train",
        "ner",
        *("--train", files / "train.txt", "--dev", files / "dev.txt"),
        *("--model", tmp_path / "m", "--tol", "0.1", "--quiet"),
    )
    assert result.exit_code == 130
    assert "the model is in" in result.stderr
    assert "nothing was saved" not in result.stderr
    monkeypatch.undo()
    assert invoke("evaluate", tmp_path / "m", files / "dev.txt").exit_code == 0


# --- demo


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    news = casimir.datasets.News(files / "train.txt", files / "dev.txt")
    monkeypatch.setattr(casimir.cli.demo, "load_news", lambda: news)


@pytest.mark.usefixtures("small_demo")
def test_demo_leaves_a_model_and_a_plot(tmp_path: Path) -> None:
    result = invoke("demo", "--output", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    assert names(tmp_path / "demo") == ["convergence.png", "model"]
    assert "held-out F1" in result.stderr
    for needed in ("Held-out entities", "relative duality gap", "oracle calls", "seconds", "mistakes"):
        assert needed in result.stdout
    assert re.search(r"\[\S.* (PER|LOC|ORG|MISC)\]", result.stdout)


@pytest.mark.usefixtures("small_demo")
def test_demo_without_matplotlib_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = invoke("demo", "--output", tmp_path / "demo", "--json")
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert figures["plot"] is None
    assert 0.0 < figures["heldout"]["f1"] <= 1.0
    assert 'pip install "casimir[plot]"' in result.stderr


def test_the_command_runs_in_a_process_of_its_own(model: Path, files: Path) -> None:
    result = subprocess.run([*RUN, "predict", str(model), str(files / "words.txt")], capture_output=True, check=True)
    assert result.stdout.decode() == invoke("predict", model, files / "words.txt").stdout
    assert result.stderr == b""


def test_a_closed_pipe_is_no_error(model: Path, files: Path) -> None:
    process = subprocess.Popen(
        [*RUN, "predict", str(model), str(files / "dev.txt")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in errors
