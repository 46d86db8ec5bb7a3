"""Mutated model folders are refused in one sentence, or give a model that predicts without an accident."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from soak.budget import tries
from soak.mutations import changed_arrays, changed_json, mutated

import casimir as cs
from casimir.persistence import load_folder, save_folder

GOLDEN = Path(__file__).parent.parent / "golden"
FOLDERS = sorted(file.parent for file in GOLDEN.rglob("model.json"))
TOKENS = [[{"word": "New"}, {"word": "York"}], [{"word": "slept", "title": True}]]


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    """Whatever is done to the bytes of a folder of format 2: a digest covers them all."""
    folders = [folder for folder in FOLDERS if len(list(folder.glob("model-*.safetensors")))]
    for seed in tries(60, share=0.05):
        rng = np.random.default_rng(seed)
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folders[seed % len(folders)], out, ignore=shutil.ignore_patterns("baselines"))
        files = sorted(out.iterdir())
        file = files[int(rng.integers(len(files)))]
        before = file.read_bytes()
        after = mutated(before, rng)
        file.write_bytes(after)
        if after == before:
            continue
        with pytest.raises((ValueError, OSError)) as refused:
            cs.load(out)
        assert "\n" not in str(refused.value), seed


def test_folders_that_mislead_are_refused_or_predict(tmp_path: Path) -> None:
    """The digest is right, and what it covers is not."""
    loaded = refused = 0
    for seed in tries(120, share=0.08):
        rng = np.random.default_rng(seed)
        folder = FOLDERS[seed % len(FOLDERS)]
        if folder.name == "model-format-1" or folder.name == "model-format-2":
            continue
        kind, meta, arrays = load_folder(folder)
        if rng.random() < 0.5:
            meta = changed_json(meta, rng)
        else:
            arrays = changed_arrays(arrays, rng)
        try:
            save_folder(tmp_path / "out", kind, meta if isinstance(meta, dict) else {}, arrays)
        except (TypeError, ValueError):  # what JSON cannot hold
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = cs.load(tmp_path / "out")
                if isinstance(model, cs.SequenceTagger):
                    model.predict(TOKENS)
            loaded += 1
        except (ValueError, ImportError):
            refused += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, {folder.name}") from error
    assert min(loaded, refused) > 0
