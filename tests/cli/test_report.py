"""`casimir report`: a page for tagging models of either kind of labels, a clear refusal for the others."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import casimir as cs
from casimir.cli import app
from casimir.datasets import news_path
from casimir.datasets.treebank import treebank_text


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def ner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ner") / "model"
    result = invoke("train", "ner", "--train", news_path("heldout"), "--model", folder, "--tol", 0.5, "-q")
    assert result.exit_code == 0, result.output
    return folder


def test_a_page_about_entities_has_the_scores_of_evaluate(ner: Path, tmp_path: Path) -> None:
    done = invoke("report", ner, news_path("train"), "--out", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    assert "1,500 sentences" in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    HTMLParser().feed(page)
    corpus_scores = cs.load(ner).evaluate(read(news_path("train")))
    assert f"<dt>F1</dt><dd>{corpus_scores.f1:.4f}</dd>" in page
    assert f"<dt>token accuracy</dt><dd>{corpus_scores.accuracy:.4f}</dd>" in page


def read(path: Path) -> Any:
    from casimir.tasks.ner import read_conll

    return read_conll(path)


def test_a_page_about_tags_is_called_report_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.conllu").write_text(treebank_text("dev"), encoding="utf-8")
    options = ("--word", 2, "--label", 4, "--columns", "word", "--tol", 0.5, "-q")
    assert invoke("train", "tag", "--train", "train.conllu", "--model", "m", *options).exit_code == 0
    done = invoke("report", "m", "train.conllu", "-q")
    assert done.exit_code == 0, done.output
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Scores by label" in page
    assert "1 (not calibrated)" in page
    assert "<dt>F1</dt>" not in page
    refused = invoke("report", "m/baselines/most frequent label", "train.conllu")
    assert refused.exit_code == 2
    assert "holds a baseline" in refused.stderr


def test_other_models_are_refused(tmp_path: Path) -> None:
    assert invoke("train", "align", "--model", tmp_path / "m", "--tol", 0.9, "-q").exit_code == 0
    refused = invoke("report", tmp_path / "m", "x", "--out", tmp_path / "page.html")
    assert refused.exit_code == 2
    assert "this one is of `casimir train align`" in refused.stderr
    assert not (tmp_path / "page.html").exists()


def test_training_with_dev_data_calibrates(tmp_path: Path) -> None:
    files = ("--train", news_path("heldout"), "--dev", news_path("train"))
    done = invoke("train", "ner", *files, "--model", tmp_path / "m", "--tol", 0.5, "-q", "--no-baselines")
    assert done.exit_code == 0, done.output
    model = cs.load(tmp_path / "m")
    assert model.tagger.temperature_ != 1.0
    likely = [tagger.temperature_ for tagger in (model.tagger, model.alone)]
    assert all(0.01 < temperature < 1.0 for temperature in likely)
