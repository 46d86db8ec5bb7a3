"""A few shapes of SVG, drawn in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Scale:
    """low .. high of the data -> start .. end of the picture, evenly or by logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, place = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        share = 0.5 if high == low else (place - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round numbers between low and high."""
        if self.log:
            return _log_ticks(self.low, self.high)
        span = (self.high - self.low) or 1.0
        rough = span / count
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten; 1, 2 and 5 times them where there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 2 else (1,)
    found = [m * 10.0**p for p in powers for m in factors]
    kept = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return kept[:: max(1, len(kept) // 5)]


def number(value: float) -> str:
    """A short form for axes."""
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e") if 0 < abs(value) < 1e-3 else f"{value:g}"


def picture(width: float, height: float, label: str, parts: Sequence[str], shrinks: bool = True) -> str:
    """An SVG that says to screen readers what it shows; one that does not shrink scrolls where its place is narrow."""
    room = f"max-width:{width:g}px" if shrinks else f"width:{width:g}px"
    box = f'viewBox="0 0 {width:g} {height:g}" style="{room}"'
    head = f'<svg {box} role="img" aria-label="{escape(label)}">'
    return f"{head}<title>{escape(label)}</title>{''.join(parts)}</svg>"


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "", opacity: float = 1.0) -> str:
    inner = f"<title>{escape(title)}</title>" if title else ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {place} fill-opacity="{opacity:.3f}">{inner}</rect>'


def dot(x: float, y: float, radius: float, kind: str, title: str = "") -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{escape(title)}</title></circle>'


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="{kind}" fill="none" d="M{steps}"/>' if points else ""


def axes(x: Scale, y: Scale, x_label: str, y_label: str, x_ticks: Sequence[float] | None = None) -> str:
    """Grid lines, ticks and names of both axes."""
    parts = []
    for value in y.ticks():
        parts += [
            line(x.start, y(value), x.end, y(value), "grid"),
            text(x.start - 6, y(value) + 4, number(value), "tick", "end"),
        ]
    for value in x.ticks() if x_ticks is None else x_ticks:
        parts.append(text(x(value), y.start + 18, f"{value:g}", "tick"))
    parts.append(line(x.start, y.start, x.end, y.start, "axis"))
    middle = (x.start + x.end) / 2
    parts.append(text(middle, y.start + 36, x_label, "name"))
    parts.append(text(14, (y.start + y.end) / 2, y_label, "name", turned=True))
    return "".join(parts)
