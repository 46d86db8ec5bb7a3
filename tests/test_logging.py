"""The library is silent until it is asked, and then tells what it chose and how far it came."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import casimir as cs

X = [[["the"], ["cat"]], [["the"], ["dog"]], [["a"], ["dog"]]]
Y = [["D", "N"], ["D", "N"], ["D", "N"]]


def test_nothing_is_shown_unless_it_is_asked_for() -> None:
    code = f"import casimir as cs; cs.SequenceTagger().fit({X!r}, {Y!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_training_tells_the_solver_its_epochs_and_the_end(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="casimir"):
        tagger = cs.SequenceTagger().fit(X, Y)
    records = [record for record in caplog.records if record.name.startswith("casimir.solvers.")]
    said = [(record.name, record.levelname, record.getMessage()) for record in records]
    assert said[0][:2] == ("casimir.solvers.choose", "INFO")
    assert said[0][2].startswith(f"auto takes {type(tagger.solver_).__name__}(")
    assert said[-1][:2] == ("casimir.solvers.run", "INFO")
    assert "converged" in said[-1][2]
    epochs = [text for name, level, text in said if (name, level) == ("casimir.solvers.run", "DEBUG")]
    assert [text.split(":")[0] for text in epochs] == [f"epoch {row.epoch}" for row in tagger.trace_]


def test_epochs_are_not_told_at_the_level_info(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="casimir"):
        cs.SequenceTagger().fit(X, Y)
    assert len(caplog.records) == 2


def test_saving_and_loading_name_the_folder(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    tagger = cs.SequenceTagger().fit(X, Y)
    with caplog.at_level(logging.INFO, logger="casimir"):
        tagger.save(tmp_path / "model")
        cs.load(tmp_path / "model")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all(str(tmp_path / "model") in text for text in said)
