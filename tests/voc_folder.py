"""A small folder like one year of PASCAL VOC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from casimir.tasks.localize import Picture

_SPLITS = {"train": slice(None, -4), "val": slice(-4, None)}


def write_voc(root: Path, by_class: Mapping[str, Sequence[Picture]]) -> Path:
    """Pictures with an object each, numbered in the order of the classes; one that is in several classes is written
    once. The last four pictures of every class are in the split val."""
    import cv2

    for part in ("Annotations", "ImageSets/Main", "JPEGImages"):
        (root / part).mkdir(parents=True)
    distinct = {id(picture.source): picture for own in by_class.values() for picture in own}
    stems = {key: f"{i:06d}" for i, key in enumerate(distinct)}
    objects: dict[str, str] = dict.fromkeys(stems.values(), "")
    for name, own in by_class.items():
        for picture in own:
            objects[stems[id(picture.source)]] += _object(name, picture)
        for split, part in _SPLITS.items():
            listed = [stems[id(picture.source)] for picture in own[part]]
            (root / f"ImageSets/Main/{name}_{split}.txt").write_text("\n".join(f"{stem}  1" for stem in listed))
    for split in _SPLITS:
        (root / f"ImageSets/Main/{split}.txt").write_text("\n".join(stems.values()))
    for key, picture in distinct.items():
        pixels = picture.read()
        encoded = cv2.imencode(".jpg", pixels[:, :, ::-1])[1].tobytes()
        (root / "JPEGImages" / f"{stems[key]}.jpg").write_bytes(encoded)
        size = f"<size><width>{pixels.shape[1]}</width><height>{pixels.shape[0]}</height></size>"
        text = f"<annotation>{size}{objects[stems[key]]}</annotation>"
        (root / "Annotations" / f"{stems[key]}.xml").write_text(text)
    return root


def _object(name: str, picture: Picture) -> str:
    assert picture.box is not None
    top, left, bottom, right = (picture.box + 1).tolist()
    box = f"<xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax>"
    return f"<object><name>{name}</name><bndbox>{box}</bndbox></object>"
