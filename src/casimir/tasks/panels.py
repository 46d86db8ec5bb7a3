"""Panels of pictures: enlarged, captioned, side by side and on a sheet; the pictures of results that are chosen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from casimir.tasks.opencv import opencv, write_image

Image = npt.NDArray[np.uint8]  # [H, W, 3]: red, green, blue
Colour = tuple[int, int, int]
PREDICTED, TRUTH = (255, 122, 30), (40, 170, 255)  # orange and blue, told apart by nearly everybody
CLASS_COLOURS = (PREDICTED, (0, 158, 115), (204, 80, 160), (210, 180, 0), (120, 70, 200), (180, 60, 40))
HEIGHT, WIDEST = 300, 1200  # of a panel, in pixels
_MARGIN = 8
_CAPTION = 30


@dataclass(frozen=True)
class Drawing:
    """What can be drawn: what to call it, how good it is, and its picture, made when it is asked for."""

    name: str
    rank: float
    draw: Callable[[], Image]


def write_pictures(
    folder: Path, results: Sequence[Drawing], columns: int = 2, legend: str | None = None, count: int = 12
) -> list[Path]:
    """PNG files of some results, from the worst to the best, and overview.png with all of these."""
    ranked = sorted(results, key=lambda one: one.rank)
    chosen = [ranked[place] for place in spread(len(ranked), count)]
    drawn = [result.draw() for result in chosen]
    files = [folder / f"{name}.png" for name in _file_names([result.name for result in chosen])]
    for file, image in zip(files, drawn, strict=True):
        write_image(file, image)
    whole = sheet(drawn, columns)
    write_image(folder / "overview.png", whole if legend is None else captioned(whole, f" {legend}"))
    return [*files, folder / "overview.png"]


def _file_names(names: Sequence[str]) -> list[str]:
    """Names without what a file name cannot hold, all different, and none that of the overview."""
    given: list[str] = []
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "picture"
        wanted = (plain if k == 1 else f"{plain}-{k}" for k in itertools.count(1))
        given.append(next(free for free in wanted if free.lower() not in {"overview", *map(str.lower, given)}))
    return given


def spread(n: int, count: int) -> list[int]:
    """At most `count` of the places 0 .. n - 1, evenly spread, the first and the last among them."""
    return sorted({int(place) for place in np.linspace(0, n - 1, min(count, n)).round()})


def enlarged(image: Image) -> Image:
    """The image at the height of a panel; lower where it would be too wide, as one of 1 x 20000 pixels."""
    cv2 = opencv()
    height, width = image.shape[:2]
    factor = min(HEIGHT / height, WIDEST / width)
    how = cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(cv2.resize(image, size, interpolation=how))


def captioned(panel: Image, text: str, colour: Colour | None = None) -> Image:
    """The panel with a line of text above; as wide as the text needs."""
    cv2 = opencv()
    font = (cv2.FONT_HERSHEY_SIMPLEX, 0.6)
    width = max(panel.shape[1], cv2.getTextSize(text, *font, 1)[0][0] + 4)
    strip = np.full((_CAPTION, width, 3), 255, dtype=np.uint8)
    cv2.putText(strip, text, (2, 21), *font, colour or (40, 40, 40), 1, cv2.LINE_AA)
    return np.concatenate([strip, _padded(panel, len(panel), width)])


def beside(panels: Sequence[Image]) -> Image:
    """Panels in one row."""
    height = max(len(panel) for panel in panels)
    return np.concatenate([_padded(panel, height, panel.shape[1] + _MARGIN) for panel in panels], axis=1)


def sheet(images: Sequence[Image], columns: int = 2) -> Image:
    """Images in rows, each with as much room as the largest needs."""
    width = max(image.shape[1] for image in images) + 4 * _MARGIN
    height = max(len(image) for image in images) + _MARGIN
    cells = [_padded(image, height, width) for image in images]
    cells += [np.full_like(cells[0], 255)] * (-len(cells) % columns)
    rows = [np.concatenate(cells[k : k + columns], axis=1) for k in range(0, len(cells), columns)]
    margins = ((_MARGIN, _MARGIN), (2 * _MARGIN, _MARGIN), (0, 0))
    return np.pad(np.concatenate(rows), margins, constant_values=255)


def _padded(image: Image, height: int, width: int) -> Image:
    out = np.full((height, width, 3), 255, dtype=np.uint8)
    out[: len(image), : image.shape[1]] = image
    return out


def outline(panel: Image, box: npt.NDArray[np.int64], shape: Sequence[int], colour: Colour, width: int) -> None:
    """Draw the border of a box (top, left, bottom, right, inclusive) of an image of this shape on its panel."""
    scale = np.array(panel.shape[:2]) / np.array(shape[:2])
    ends = np.concatenate([box[:2] * scale, (box[2:] + 1) * scale - 1]).round().astype(int).tolist()
    top, left, bottom, right = ends
    opencv().rectangle(panel, (left, top), (right, bottom), colour, width, opencv().LINE_AA)
