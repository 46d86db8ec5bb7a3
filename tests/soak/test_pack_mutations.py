"""Packs that mislead are refused in one sentence, or train a model that can be loaded; damaged ones are refused."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from soak.budget import tries
from soak.mutations import changed_arrays, changed_json, mutated
from soak.pack_folders import KINDS, arrays_of, laid_out, manifest_of, replace_arrays, rewrite, used, whole_pack

import casimir as cs


def tried(folder: Path) -> str:
    """What is said against the pack, or "" where it is taken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            used(folder)
    except ValueError as error:
        return str(error) or "(nothing)"
    return ""


def test_packs_that_mislead_are_refused_or_train(tmp_path: Path) -> None:
    trained = refused = 0
    for seed in tries(90, share=0.04):
        rng = np.random.default_rng(seed)
        folder = laid_out(KINDS[seed % len(KINDS)], tmp_path / "pack")
        try:
            mislead(folder, rng)
        except (TypeError, ValueError, AttributeError):  # what no file can hold
            continue
        try:
            said = tried(folder)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        assert "\n" not in said, seed
        trained += not said
        refused += bool(said)
    assert min(trained, refused) > 0


def mislead(folder: Path, rng: np.random.Generator) -> None:
    given = manifest_of(folder)
    how = rng.random()
    if how < 0.5:
        rewrite(folder, changed_json(given, rng))
    elif how < 0.6:
        rewrite(folder, given | {"about": changed_json(given["about"], rng)})
    else:
        entry = given["vocabulary"] if given["vocabulary"] and rng.random() < 0.3 else given["shards"][0]
        if how < 0.9:
            replace_arrays(folder, entry, changed_arrays(arrays_of(folder, entry), rng))
        else:
            change_header(folder / entry["file"], entry, rng)
        rewrite(folder, given)


def change_header(file: Path, entry: dict[str, Any], rng: np.random.Generator) -> None:
    data = file.read_bytes()
    size = int.from_bytes(data[8:16], "little")
    header = json.dumps(changed_json(json.loads(data[16 : 16 + size]), rng)).encode()
    header += b" " * (-(len(header) + 16) % 64)
    file.write_bytes(changed := data[:8] + len(header).to_bytes(8, "little") + header + data[16 + size :])
    entry["bytes"] = len(changed)


def test_damaged_packs_are_refused(tmp_path: Path) -> None:
    """Whatever is done to the bytes of the manifest or of the arrays: digests cover them all."""
    for seed in tries(60, share=0.02):
        rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        folder = laid_out(kind, tmp_path / "pack")
        names = sorted(whole_pack(kind))
        file = folder / names[int(rng.integers(len(names)))]
        before = file.read_bytes()
        body = 0 if file.suffix == ".json" else 16 + int.from_bytes(before[8:16], "little")
        after = before[:body] + mutated(before[body:], rng)
        file.write_bytes(after)
        assert (after == before) == (tried(folder) == ""), seed


def test_whole_packs_are_taken(tmp_path: Path) -> None:
    for kind in KINDS:
        assert tried(laid_out(kind, tmp_path / "pack")) == ""
        assert len(cs.open_pack(tmp_path / "pack")) == 3
