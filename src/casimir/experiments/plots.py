"""Pictures of experiments: a row per case, a column per measure, one legend. Needs matplotlib."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from casimir.experiments.counts import MEASURES
from casimir.experiments.curves import Curve, curve
from casimir.experiments.manifest import Cell
from casimir.experiments.optimum import Interval
from casimir.experiments.results import Results

# Okabe and Ito's colours, which colour-blind readers can tell apart; beyond them, dashes
_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#000000", "#999999")
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
_NAMES = {"objective": "F", "f1": "F1", "corloc": "CorLoc", "ap": "AP"}
MOST_BYTES = 200_000
_LOWEST = 1e-6  # where the axis of (F - F*) / F* ends: one method far below would flatten all others
_BEYOND = 1.05  # of the budget, where an axis ends: rows come once per epoch, and long epochs end far beyond it
_MOST_COLUMNS = 4  # of the legend
_MOST_POINTS = 600  # of all curves of one measure, so that an SVG stays below that


def figure_of(results: Results, column: str) -> Any:
    """One column of the traces: means as lines, one standard deviation as bands."""
    cases = results.cases
    figure = empty_figure(10.5, 0.9 + 2.3 * len(cases))
    axes = figure.subplots(len(cases), len(MEASURES), squeeze=False, sharey="row")
    styles = styles_of([cell.label for cell in results.manifest.cells])
    points = int(np.clip(_MOST_POINTS // (len(cases) * len(styles)), 12, 60))
    for row, case in zip(axes, cases, strict=True):
        best = results.optima[case] if column == "objective" else None
        cells = [cell for cell in results.cells if cell.case == case]
        for panel, measure in zip(row, MEASURES, strict=True):
            for cell in cells:
                _draw(panel, results, cell, column, measure, best, styles[cell.label], points)
            tidy(panel)
            panel.set_xlim(0.0, _right(panel, results.manifest.passes if measure == "paper" else math.inf))
            if column != "objective":
                panel.margins(y=0.02)
        _mark_row(row, case, column, best)
    for panel, measure in zip(axes[-1], MEASURES, strict=True):
        panel.set_xlabel(MEASURES[measure], fontsize=9)
    handles = [handle(label, style) for label, style in styles.items()]
    rows = -(-len(handles) // _MOST_COLUMNS)
    ncols = -(-len(handles) // rows)
    figure.legend(handles=handles, loc="outside upper center", ncols=ncols, frameon=False, fontsize=9)
    return figure


def _right(panel: Any, budget: float) -> float:
    """The end of an axis of oracle calls or seconds: little beyond the budget, where tables take their last row."""
    return min(float(panel.get_xlim()[1]), _BEYOND * budget)


# --- files


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """As PNG and SVG, the same bytes every time, small enough to keep in a repository."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path, content in zip(files, (_png(figure), _svg(figure, name)), strict=True):
        path.write_bytes(content)
        if len(content) > MOST_BYTES:
            warnings.warn(f"{path} has {len(content):,} bytes, more than {MOST_BYTES:,}.", stacklevel=3)
    return files


def _png(figure: Any) -> bytes:
    """In 128 colours, at the first resolution that is small enough."""
    from PIL import Image

    content = b""
    for dpi in (110, 90, 70):
        raw, small = io.BytesIO(), io.BytesIO()
        figure.savefig(raw, format="png", dpi=dpi)
        Image.open(raw).convert("RGB").quantize(128).save(small, format="png", optimize=True)
        content = small.getvalue()
        if len(content) <= MOST_BYTES:
            break
    return content


def _svg(figure: Any, name: str) -> bytes:
    """Text as text, and as few bytes as will do."""
    from matplotlib import rc_context

    raw = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):  # ids are random without a salt
        figure.savefig(raw, format="svg", metadata={"Date": None})

    text = re.sub(r'\b(?:d|x|y)="[^"]*"', _shorter, raw.getvalue())
    text = re.sub(r"'DejaVu Sans'[^;]*sans-serif", "sans-serif", text)
    text = re.sub(r'<g id="[a-zA-Z0-9]+_\d+">|(?<=") transform="rotate\(-0 [^"]*"', _bare, text)
    return re.sub(r">\s+<", "><", text).encode()


def _bare(found: re.Match[str]) -> str:
    """Groups need no names, and text that is not turned need not say so."""
    return "<g>" if found[0].startswith("<g") else ""


def _shorter(attribute: re.Match[str]) -> str:
    """Coordinates to a tenth, without the blanks that SVG does not need."""
    text = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), attribute[0])
    return re.sub(r"\s*([MLz])\s*", r"\1", text).replace(" -", "-")


# --- drawing


def empty_figure(width: float, height: float) -> Any:
    """In inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('Plotting needs matplotlib, which is not installed: pip install "casimir[plot]"') from None
    return Figure(figsize=(width, height), layout="constrained")


def styles_of(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The same colour for a method in all panels; variants of a few methods have their method's dashes."""
    names = list(dict.fromkeys(labels))
    places = _variants(names) or [(k % len(_COLOURS), k // len(_COLOURS)) for k in range(len(names))]
    return {
        label: {"color": _COLOURS[colour], "linestyle": _DASHES[dash % len(_DASHES)]}
        for label, (colour, dash) in zip(names, places, strict=True)
    }


def _variants(labels: list[str]) -> list[tuple[int, int]] | None:
    """(place of the variant, place of the method) where every label is "method, variant"; else None."""
    parts = [tuple(label.split(", ")) for label in labels]
    if any(len(part) != 2 for part in parts):
        return None
    methods, variants = (list(dict.fromkeys(part[j] for part in parts)) for j in (0, 1))
    if len(methods) > len(_DASHES) or len(variants) > len(_COLOURS):
        return None
    return [(variants.index(variant), methods.index(method)) for method, variant in parts]


def _draw(
    panel: Any,
    results: Results,
    cell: Cell,
    column: str,
    measure: str,
    best: Interval | None,
    style: dict[str, Any],
    points: int,
) -> None:
    zero = None if best is None else best.middle
    found = curve(results.records[cell.case, cell.method], column, measure, zero, points)
    if found is None:
        return
    floor = None if best is None else max(best.error / best.middle, 1e-12)
    low, mean, high = _band(found, floor)
    panel.fill_between(found.x, low, high, color=style["color"], alpha=0.18, linewidth=0)
    panel.plot(found.x, mean, linewidth=1.4, **style)


def _band(found: Curve, floor: float | None) -> tuple[Any, Any, Any]:
    """mean - std, mean, mean + std; nothing below what is certified of F* can be told apart."""
    low, high = found.mean - found.std, found.mean + found.std
    if floor is None:
        return low, found.mean, high
    return tuple(np.maximum(values, floor) for values in (low, found.mean, high))  # type: ignore[return-value]


def _mark_row(row: Any, case: str, column: str, best: Interval | None) -> None:
    """The name of the case, the scale, and, in grey, what lies within the certified interval of F*."""
    data, _, lam = case.rpartition(" ")
    row[0].set_title(f"{data}, λ = {lam}", loc="left", fontsize=10, fontweight="bold")
    row[0].set_ylabel(_NAMES.get(column, column) if best is None else "(F − F*) / F*", fontsize=9)
    if column == "objective":
        row[0].set_yscale("log")
        _mark_powers(row[0])
    if best is None:
        return
    row[1].set_title(f"F* in {best}", loc="left", fontsize=8, color="#555555")
    floor, (low, top) = best.error / best.middle, row[0].get_ylim()
    bottom = max(low, min(_LOWEST, 0.1 * top))
    if floor > bottom:
        for panel in row:
            panel.axhspan(bottom, floor, color="#dddddd", linewidth=0, zorder=0)
    row[0].set_ylim(bottom, top)


def _mark_powers(panel: Any) -> None:
    """Powers of ten; 2 and 5 times those, or all multiples, where there would be few of them."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter, NullLocator

    bottom, top = panel.get_ylim()
    panel.yaxis.set_minor_locator(NullLocator())
    if top < 100.0 * bottom:
        multiples = (1.0, 2.0, 5.0) if top > 5.0 * bottom else tuple(np.arange(1.0, 10.0))
        panel.yaxis.set_major_locator(LogLocator(subs=multiples))
        panel.yaxis.set_major_formatter("{x:g}")
    else:
        panel.yaxis.set_major_formatter(LogFormatterSciNotation())
    panel.yaxis.set_minor_formatter(NullFormatter())


def tidy(panel: Any) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", which="major", color="#e5e5e5", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize=8)


def handle(label: str, style: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, linewidth=1.8, **style)
