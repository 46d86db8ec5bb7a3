"""`casimir train tag` and its presets: any labels, any columns, JSON lines, plain text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from casimir._threads import n_threads
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


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_a_folder_of_a_baseline_is_refused_in_one_sentence(command: str, model: Path, files: Path) -> None:
    result = invoke(command, model / "baselines" / "most frequent label", files / "dev.conllu")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "name the model folder it is in" in result.stderr


def test_evaluate_shows_accuracy_its_interval_and_the_baseline(model: Path, files: Path) -> None:
    shown = invoke("evaluate", model, files / "dev.conllu")
    assert shown.exit_code == 0, shown.output
    for word in ("token accuracy", "most frequent label", "NOUN", "95 %"):
        assert word in shown.stdout
    assert "F1" not in shown.stdout.split("\n")[2]
    figures = json.loads(invoke("evaluate", model, files / "dev.conllu", "--json").stdout)
    low, high = figures["accuracy_interval"]
    assert low <= figures["accuracy"] <= high


def test_what_comes_from_stdin_is_said_to_come_from_there(model: Path, files: Path) -> None:
    text = (files / "dev.conllu").read_text(encoding="utf-8")
    piped = invoke("evaluate", model, "-", stdin=text)
    named = invoke("evaluate", model, files / "dev.conllu")
    assert piped.exit_code == named.exit_code == 0
    assert "100 sentences in stdin\n" in piped.stdout
    assert piped.stdout.splitlines()[2:] == named.stdout.splitlines()[2:]


def test_labels_that_are_all_the_same_are_told(files: Path, tmp_path: Path) -> None:
    """The last column of CoNLL-U files is mostly empty: a tagger of it would be right everywhere."""
    arguments = ("--train", files / "train.conllu", "--tol", 0.9, "-q", "--no-baselines")
    done = invoke("train", "pos", *arguments, "--model", tmp_path / "m")
    assert done.exit_code == 0, done.output
    assert "Every word has the label '_'. If another column was meant, name it: --word 2 --label 4" in done.stderr
    other = invoke("train", "pos", *arguments, "--word", 2, "--label", 4, "--model", tmp_path / "m")
    assert "Every word has the label" not in other.stderr


def test_a_model_of_many_labels_that_saw_little_can_be_used(tmp_path: Path) -> None:
    """Its folder is small beside the weights of all buckets and labels, of which most are 0."""
    words = [f"word{t} label{t % 40}" for t in range(60)]
    (tmp_path / "few.txt").write_text("\n".join([*words, "", "word1 label1", ""]), encoding="utf-8")
    arguments = ("--train", tmp_path / "few.txt", "--model", tmp_path / "m", "--held-out", 0)
    done = invoke("train", "tag", *arguments, "--tol", 0.9, "-q", "--no-baselines")
    assert done.exit_code == 0, done.output
    used = invoke("evaluate", tmp_path / "m", tmp_path / "few.txt", "-q")
    assert used.exit_code == 0, used.output


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
    assert invoke("predict", model, files / "dev.conllu", "-o", written).exit_code == 0
    lines = gzip.decompress(written.read_bytes()).decode().split("\n")
    given = (files / "dev.conllu").read_text().split("\n")
    assert [line for line in lines if line.startswith("#")] == [line for line in given if line.startswith("#")] != []
    assert [line.split("\t")[:3] for line in lines] == [line.split("\t")[:3] for line in given]


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


def test_true_labels_are_asked_for_only_where_there_is_room_for_them(model: Path, files: Path, tmp_path: Path) -> None:
    inline = invoke("predict", model, files / "dev.conllu", "--inline", "--keep-gold")
    assert inline.exit_code == 2
    assert inline.stderr.startswith("error: --inline has no room for the true labels of --keep-gold.")
    (tmp_path / "text").write_text("la kira slept .")
    for option in ("--keep-gold", "--labelled"):
        plain = invoke("predict", model, tmp_path / "text", "--text", option)
        assert plain.exit_code == 2
        assert plain.stderr.startswith("error: Plain text has no labels: leave --keep-gold and --labelled out")


def test_inline_needs_spans(model: Path, files: Path) -> None:
    result = invoke("predict", model, files / "dev.conllu", "--labelled", "--inline")
    assert (result.exit_code, "--inline writes spans" in result.stderr) == (2, True)


def test_costs_of_entities_that_are_none_lower_recall(tmp_path: Path) -> None:
    def recall(name: str, *options: object) -> float:
        arguments = ("--model", tmp_path / name, "--tol", 0.2, "--columns", "word", "-q", "--json", "--no-baselines")
        result = invoke("train", "ner", *arguments, *options)
        assert result.exit_code == 0, result.output
        return float(json.loads(result.stdout)["dev"]["recall"])

    assert recall("b", "--cost", "O:*=8") < recall("a", "--boost", 0)
    crf = invoke("train", "ner", "--model", tmp_path / "c", "--cost", "*:O=5", "--loss", "crf")
    assert (crf.exit_code, "belongs to the hinge loss" in crf.stderr) == (2, True)


def test_clusters_and_names_are_kept_in_the_model(tmp_path: Path) -> None:
    text = "Preston Summers visited Leeds. He left Leeds. Preston met Summers in Leeds.\n" * 3
    (tmp_path / "text.txt").write_text(text)
    (tmp_path / "place.txt").write_text("Leeds\n")
    (tmp_path / "more.tsv").write_text("Preston Summers\tperson\n")
    clusters = tmp_path / "clusters.tsv"
    learnt = invoke("cluster", tmp_path / "text.txt", "--out", clusters, "--clusters", 4)
    assert learnt.exit_code == 0, learnt.output
    assert "Wrote 4 clusters" in learnt.stderr
    bits, word, count = clusters.read_text().split("\n")[0].split("\t")
    assert set(bits) <= {"0", "1"}
    assert int(count) == text.replace(".", " .").split().count(word)
    names = ("--gazetteer", tmp_path / "place.txt", "--gazetteer", tmp_path / "more.tsv")
    arguments = ("--model", tmp_path / "m", "--tol", 0.5, "--columns", "word", "-q", "--no-baselines")
    made = invoke("train", "ner", *arguments, "--clusters", clusters, *names)
    assert made.exit_code == 0, made.output
    before = invoke("predict", tmp_path / "m", tmp_path / "text.txt", "--text").stdout
    for path in (clusters, tmp_path / "place.txt", tmp_path / "more.tsv"):
        path.unlink()
    assert invoke("predict", tmp_path / "m", tmp_path / "text.txt", "--text").stdout == before != ""
    refused = invoke("train", "ner", *arguments, "--clusters", clusters)
    assert (refused.exit_code, "cannot read" in refused.stderr) == (2, True)


def test_too_little_text_for_clusters_ends_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one two three\n")
    result = invoke("cluster", tmp_path / "text.txt", "--out", tmp_path / "c.tsv")
    assert (result.exit_code, "Give more text" in result.stderr) == (2, True)
    assert not (tmp_path / "c.tsv").exists()


def test_the_boost_is_told_and_chosen_where_there_is_something_to_choose_on(tmp_path: Path) -> None:
    def train(*options: object) -> Any:
        shared = ("--model", tmp_path / "m", "--tol", 0.5, "--columns", "word", "--no-baselines", "--json")
        return invoke("train", "ner", *shared, *options)

    assert json.loads(train("--boost", "0.3", "-q").stdout)["boosts"] == [0.3, 0.3]
    assert json.loads(train("--cost", "O:*=8", "-q").stdout)["boosts"] == [0.0, 0.0]  # which finds too little
    costly = train("--cost", "O:*=8", "--boost", "auto")
    assert max(json.loads(costly.stdout)["boosts"]) > 0.0
    assert "Score of O lowered by" in costly.stderr
    assert json.loads(train("--cost", "O:*=8", "--boost", "auto", "--held-out", 0.1, "-q").stdout)["boosts"][0] > 0.0
    refused = train("--boost", "much")
    assert (refused.exit_code, "--boost much" in refused.stderr) == (2, True)


def test_folds_side_by_side_score_as_one_after_another(tmp_path: Path) -> None:
    def folds(*options: object) -> Any:
        shared = ("--model", tmp_path / "m", "--folds", 3, "--tol", 0.5, "-q", "--json")
        result = invoke("train", "pos", *shared, *options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)["cross_validation"]

    assert folds("--jobs", 3) == folds("--jobs", 1) == folds()


def test_jobs_are_threads_of_the_command_alone(model: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr("casimir.cli.run.evaluate", lambda *_: seen.append(n_threads()))
    with monkeypatch.context() as eight:
        eight.setattr("casimir._threads.allowed_cpus", lambda: 8)
        n_threads.cache_clear()
        before = n_threads()
        assert invoke("evaluate", model, files / "dev.conllu", "--jobs", 7).exit_code == 0
        assert (seen, n_threads()) == ([7], before)
    n_threads.cache_clear()
    assert invoke("evaluate", model, files / "dev.conllu", "--jobs", 0).exit_code == 2
