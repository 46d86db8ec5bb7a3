"""Mutated files of every kind are read, or refused in one sentence; nothing else ever happens."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from soak.budget import tries
from soak.mutations import mutated
from soak.readers import READERS, tried, whole_files


@pytest.mark.parametrize("name", READERS)
def test_whole_files_are_read(name: str, tmp_path: Path) -> None:
    for data in READERS[name].whole():
        assert tried(name, data, tmp_path) == ""


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    whole, said = list(whole_files()), 0
    for seed in tries(480, share=0.15):
        name, data = whole[seed % len(whole)]
        try:
            refused = tried(name, mutated(data, np.random.default_rng(seed)), tmp_path)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}") from error
        said += bool(refused)
        assert "\n" not in refused, (seed, name)
    assert said


def test_mutated_pictures_are_read_or_refused() -> None:
    cv2 = pytest.importorskip("cv2")
    pytest.importorskip("cv2.ximgproc")
    from casimir.tasks.opencv import decode_rgb

    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    whole = {kind: cv2.imencode(kind, pixels)[1].tobytes() for kind in (".jpg", ".png", ".bmp")}
    said = []
    for seed in tries(60, share=0.02):
        kind = list(whole)[seed % len(whole)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert decode_rgb(mutated(whole[kind], np.random.default_rng(seed)), f"x{kind}").ndim == 3
        except ValueError as error:
            said.append(str(error))
    assert said
    assert all("is not an image that OpenCV can read" in text for text in said)


def test_the_harness_changes_bytes() -> None:
    data = io.BytesIO(b"some text that is long enough").getvalue()
    assert sum(mutated(data, np.random.default_rng(seed)) != data for seed in range(100)) > 90
