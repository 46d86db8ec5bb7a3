"""Packs as a stranger may write them: every digest is right, and what it covers is not."""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import casimir as cs
from casimir.packs import shard_file
from casimir.persistence.seal import sealed
from casimir.tasks.tag.options import Options
from casimir.tasks.tag.packed_text import PackedText
from casimir.tasks.tag.packing import pack_files, recipe_of, train_pack

SENTENCES = [[{"word": "Ada", "size": 0.5}, {"word": "slept"}], [{"word": "Bob"}], [{"word": "in"}, {"word": "Leeds"}]]
LABELS = [["PER", "O"], ["PER"], ["O", "LOC"]]
TEXT = "-DOCSTART- O\n\nAda B-PER\nslept O\n\nin O\nLeeds B-LOC\n\n-DOCSTART- O\n\nBob B-PER\nran O\n"
KINDS = ("hashed", "exact", "text")


@cache
def whole_pack(kind: str) -> dict[str, bytes]:
    """The files of a pack, by their places in its folder."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pack"
        if kind == "text":
            file = Path(name) / "a.conll"
            file.write_text(TEXT, encoding="utf-8")
            recipe = recipe_of(Options(n_features=64), [file], "utf-8", 2**24)
            pack_files([Path(file)], folder, recipe)
        else:
            cs.pack(SENTENCES, 16 if kind == "hashed" else None, y=LABELS, sample_weight=[1.0, 2.0, 0.5], out=folder)
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def laid_out(kind: str, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in whole_pack(kind).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def manifest_of(folder: Path) -> dict[str, Any]:
    given: dict[str, Any] = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    del given["digest"]
    return given


def rewrite(folder: Path, given: Any) -> None:
    """pack.json of these words. TypeError or ValueError where JSON has none for them."""
    (folder / "pack.json").write_bytes(sealed(given) if isinstance(given, dict) else json.dumps(given).encode())


def arrays_of(folder: Path, entry: dict[str, Any]) -> dict[str, np.ndarray]:
    return dict(shard_file.ShardFile.open(folder / entry["file"], entry["bytes"], entry["sha256"]).arrays)


def replace_arrays(folder: Path, entry: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Another file of these arrays in the place of an entry of a manifest."""
    stem = entry["file"].rpartition("-")[0]
    file, n_bytes, sha256 = shard_file.write_shard(folder, stem, {k: a.reshape(-1) for k, a in arrays.items()})
    entry.update(file=file, bytes=n_bytes, sha256=sha256)


def used(folder: Path) -> None:
    """Whatever reads a pack; a ValueError refuses it."""
    pack = cs.open_pack(folder)
    repr(pack)
    pack.check_content()
    if "task" in pack.manifest.about:
        PackedText.of(pack)
        model = train_pack(pack, lambda one: cs.SequenceTagger(tol=0.5, max_epochs=1))
        model.save(folder / "model")
    else:
        cs.SequenceTagger(tol=0.5, max_epochs=1).fit(pack).save(folder / "model")
    cs.load(folder / "model")


def read_pack_json(file: Path) -> None:
    """As the manifest of a pack beside its shards, with a digest that is right."""
    given = json.loads(file.read_bytes())
    folder = laid_out("text" if isinstance(given, dict) and given.get("about") else "hashed", file.parent / "pack")
    try:
        rewrite(folder, given)
    except TypeError as error:  # what JSON does not hold
        raise ValueError(str(error)) from None
    used(folder)


def read_shard(file: Path) -> None:
    """As the only shard of a pack, with digests that are right."""
    folder, data = laid_out("hashed", file.parent / "pack"), file.read_bytes()
    given = manifest_of(folder)
    entry = given["shards"][0]
    size = int.from_bytes(data[8:16], "little")
    if 0 < size <= len(data) - 16:
        sha256 = hashlib.sha256(data[16 + size :]).hexdigest()
        header = data[16 : 16 + size].replace(entry["sha256"].encode(), sha256.encode())
        data = data[:16] + header + data[16 + size :]
        name = f"{entry['file'].rpartition('-')[0]}-{sha256[:16]}.bin"
        given["shards"] = [entry | {"file": name, "bytes": len(data), "sha256": sha256}]
        (folder / name).write_bytes(data)
    else:
        (folder / entry["file"]).write_bytes(data)
    rewrite(folder, given)
    used(folder)


def whole_manifests() -> list[bytes]:
    found = [json.loads(whole_pack(kind)["pack.json"]) for kind in ("hashed", "text")]
    return [json.dumps({k: v for k, v in one.items() if k != "digest"}).encode() for one in found]


def whole_shards() -> list[bytes]:
    return [data for name, data in whole_pack("hashed").items() if name.startswith("shard-")]
