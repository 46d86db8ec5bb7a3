"""Reading PASCAL VOC: which pictures, which boxes, and errors that name the file."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from casimir.tasks.localize.voc import read_voc

HEIGHT, WIDTH = 40, 60


def thing(name: str = "dog", box: tuple[object, ...] = (1, 1, 60, 40), difficult: int | None = 0) -> str:
    """An object; box is xmin, ymin, xmax, ymax as VOC orders them."""
    sides = "".join(f"<{k}>{v}</{k}>" for k, v in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True))
    mark = "" if difficult is None else f"<difficult>{difficult}</difficult>"
    part = f"<part><name>dog</name><bndbox>{sides}</bndbox></part>"  # parts are not objects
    return f"<object><name>{name}</name>{mark}{part}<bndbox>{sides}</bndbox></object>"


def annotation(*objects: str, size: str = f"<size><width>{WIDTH}</width><height>{HEIGHT}</height></size>") -> str:
    return f"<annotation>{size}{''.join(objects)}</annotation>"


ANNOTATIONS = {
    "one": annotation(thing(box=(3, 5, 30, 40)), thing("person")),
    "two": annotation(thing(), thing(box=(2, 2, 5, 5))),
    "one_and_difficult": annotation(thing(), thing(difficult=1)),
    "only_difficult": annotation(thing(difficult=1)),
    "none": annotation(thing("person")),
    "broken_pixels": annotation(thing(box=("45.70", "1.2", "59.6", "30.49"), difficult=None)),
}
FLAGS = {"one": 1, "two": 1, "one_and_difficult": 1, "only_difficult": 0, "none": -1, "broken_pixels": 1}


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    folder = tmp_path / "VOCdevkit" / "VOC2012"
    for part in ("Annotations", "ImageSets/Main", "JPEGImages"):
        (folder / part).mkdir(parents=True)
    for stem, text in ANNOTATIONS.items():
        (folder / "Annotations" / f"{stem}.xml").write_text(text)
        cv2.imwrite(str(folder / "JPEGImages" / f"{stem}.jpg"), np.full((HEIGHT, WIDTH, 3), 90, dtype=np.uint8))
    write_list(folder, "train", "".join(f"{stem}\n" for stem in FLAGS))
    write_list(folder, "dog_train", "".join(f"{stem} {flag:2d}\n" for stem, flag in FLAGS.items()))
    write_list(folder, "person_train", "one 1\nnone 1\n")
    return folder


def write_list(folder: Path, name: str, text: str) -> None:
    (folder / "ImageSets" / "Main" / f"{name}.txt").write_text(text)


def names(folder: Path, name: str = "dog", **options: object) -> list[str]:
    return [picture.name for picture in read_voc(folder, name, **options)]  # type: ignore[arg-type]


def test_pictures_with_exactly_one_object_are_read(voc: Path) -> None:
    assert names(voc) == ["one", "broken_pixels"]
    assert names(voc, "person") == ["one", "none"]


def test_a_picture_that_is_listed_twice_is_read_once(voc: Path) -> None:
    write_list(voc, "dog_train", "one 1\nbroken_pixels 1\none 1\n")
    assert names(voc) == ["one", "broken_pixels"]


def test_a_difficult_object_counts_and_alone_is_kept_on_demand(voc: Path) -> None:
    assert names(voc, difficult=True) == ["one", "only_difficult", "broken_pixels"]


def test_boxes_count_from_zero_and_broken_pixels_are_rounded(voc: Path) -> None:
    one, broken = read_voc(voc, "dog")
    assert one.box is not None
    assert broken.box is not None
    assert one.box.tolist() == [4, 2, 39, 29]  # top, left, bottom, right of xmin 3, ymin 5, xmax 30, ymax 40
    assert broken.box.tolist() == [0, 45, 29, 59]
    assert one.box.dtype == np.int64
    assert one.read().shape == (HEIGHT, WIDTH, 3)


def test_trainval_is_preferred_and_other_splits_are_found(voc: Path) -> None:
    write_list(voc, "dog_trainval", "broken_pixels 1\n")
    assert names(voc) == ["broken_pixels"]
    assert names(voc, split="train") == ["one", "broken_pixels"]
    with pytest.raises(ValueError, match=r"no split 'val' in .*It has train, trainval\."):
        names(voc, split="val")


def test_the_devkit_is_found_by_its_year(voc: Path) -> None:
    devkit = voc.parent
    assert names(devkit) == names(devkit, year=2012) == names(voc, year="2012") == names(voc)
    with pytest.raises(FileNotFoundError, match="no folder VOC2007; there is 2012"):
        names(devkit, year=2007)
    with pytest.raises(ValueError, match="is not the folder of 2007"):
        names(voc, year=2007)
    (devkit / "VOC2007").mkdir()
    with pytest.raises(ValueError, match="has the years 2007, 2012"):
        names(devkit)
    with pytest.raises(FileNotFoundError, match=r"no folder '.*VOC2007.Annotations'"):
        names(devkit, year=2007)


def test_without_lists_of_classes_the_annotations_decide(voc: Path) -> None:
    for file in (voc / "ImageSets" / "Main").glob("*_train.txt"):
        file.unlink()
    assert names(voc) == ["one", "broken_pixels"]
    with pytest.raises(ValueError, match=r"no 'cat' in .*there is dog, person"):
        names(voc, "cat")


def test_an_unknown_class_is_answered_with_those_there_are(voc: Path) -> None:
    with pytest.raises(ValueError, match=r"no class 'dgo' in .*there is dog, person"):
        names(voc, "dgo")


def test_missing_folders_are_named(voc: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder '.*nowhere'"):
        names(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"no Annotations/ and no folder such as VOC2012/"):
        names(tmp_path)
    (voc / "JPEGImages").rename(voc / "elsewhere")
    with pytest.raises(FileNotFoundError, match="JPEGImages'"):
        names(voc)


def test_without_lists_the_error_says_so(voc: Path) -> None:
    for file in (voc / "ImageSets" / "Main").iterdir():
        file.unlink()
    with pytest.raises(ValueError, match=r"no split trainval and no split train in .* no lists of pictures"):
        names(voc)


def test_a_missing_annotation_is_named(voc: Path) -> None:
    (voc / "Annotations" / "two.xml").unlink()
    with pytest.raises(FileNotFoundError, match=r"annotation '.*two\.xml' cannot be read"):
        names(voc)


def test_a_missing_image_is_named(voc: Path) -> None:
    (voc / "JPEGImages" / "one.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"no image '.*one\.jpg'"):
        names(voc)


def test_no_picture_with_exactly_one_object_is_said(voc: Path) -> None:
    write_list(voc, "dog_train", "two 1\nonly_difficult 0\n")
    with pytest.raises(ValueError, match=r"None of the 2 pictures that may have a dog .* not difficult"):
        names(voc)


ATTACK = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><annotation><filename>&y;</filename></annotation>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no element found"),
        ("<annotation><size>", "no element found"),
        ("rubbish", "syntax error"),
        ("<html></html>", "begins with <html>"),
        (ATTACK, "DOCTYPE"),
        (annotation(thing(), size=""), "no <size>, <height>"),
        (annotation(thing(), size="<size><width>60</width><height>many</height></size>"), "<height> is 'many'"),
        (annotation(thing(), size="<size><width>0</width><height>40</height></size>"), "0 x 40 pixels"),
        (annotation("<object><name>dog</name></object>"), "no <bndbox>, <ymin>"),
        (annotation(thing(box=(1, 1, "", 5))), "<xmax> is ''"),
        (annotation(thing(box=(1, 1, "nan", 5))), "<xmax> is 'nan'"),
        (annotation(thing(box=(1, 1, 1e300, 5))), r"<xmax> is '1e\+300'"),
        (annotation(thing(box=(1, 1, 61, 40))), r"dog \(ymin 1, xmin 1, ymax 40, xmax 61\) does not lie in .* 60 x 40"),
        (annotation(thing(box=(0, 1, 60, 40))), "counted from 1"),
        (annotation(thing(box=(9, 1, 8, 40))), "does not lie"),
    ],
)
def test_a_bad_annotation_is_named(voc: Path, text: str, message: str) -> None:
    (voc / "Annotations" / "one.xml").write_text(text)
    with pytest.raises(ValueError, match=f"one.xml'.*{message}"):
        names(voc)


@pytest.mark.parametrize("line", ["one", "one 2", "one 1 1", "../one 1", ".. 1"])
def test_a_bad_line_of_a_list_is_named(voc: Path, line: str) -> None:
    write_list(voc, "dog_train", f"two 1\n\n{line}\n")
    with pytest.raises(ValueError, match=r"dog_train\.txt, line 3: .* is not "):
        names(voc)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "n"), [("sheep", 73), ("cow", 73), ("aeroplane", 253), ("cat", 485), ("dog", 532), ("horse", 155)]
)
def test_the_real_data_have_these_many_pictures(name: str, n: int) -> None:
    folder = Path(os.environ.get("CASIMIR_DATA", "")) / "VOCdevkit"
    if not os.environ.get("CASIMIR_DATA") or not folder.is_dir():
        pytest.skip("CASIMIR_DATA does not point at a folder with VOCdevkit")
    assert len(read_voc(folder, name)) == n
