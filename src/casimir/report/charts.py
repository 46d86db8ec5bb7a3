"""The pictures of a report: convergence, calibration, transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from casimir.report.data import Curve
from casimir.report.svg import Scale, axes, dot, line, number, path, picture, rect, text
from casimir.scores import FloatArray

_WIDTH, _HEIGHT = 460.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 14.0, 46.0
_KINDS = ("first", "second", "third")


def convergence(trace: Mapping[str, Sequence[float]]) -> str:
    """Objective and lower bound over epochs."""
    epochs, objective, dual = (list(map(float, trace[name])) for name in ("epoch", "objective", "dual"))
    shown = [value for value in (*objective, *dual) if value > 0.0]
    if not shown:
        return ""
    x, y = _scales(epochs, shown)
    parts = [axes(x, y, "epochs", "objective", _whole(x))]
    for values, kind, name in ((objective, "first", "objective"), (dual, "second", "lower bound")):
        points = [(e, v) for e, v in zip(epochs, values, strict=True) if v > 0.0]
        parts.append(path([(x(e), y(v)) for e, v in points], kind))
        parts += [dot(x(e), y(v), 2.5, kind, f"epoch {e:g}: {name} {v:.6g}") for e, v in points]
    parts += _legend(x.end, _TOP, ("objective", "lower bound"))
    return picture(_WIDTH, _HEIGHT, f"Objective and lower bound over {len(epochs)} epochs", parts)


def gap(trace: Mapping[str, Sequence[float]], tol: float | None) -> str:
    """The certified gap over epochs."""
    rows = [(float(e), float(g)) for e, g in zip(trace["epoch"], trace["gap"], strict=True) if g > 0.0]
    if not rows:
        return ""
    x, y = _scales([e for e, _ in rows], [g for _, g in rows] + ([tol] if tol else []))
    parts = [axes(x, y, "epochs", "certified gap", _whole(x)), path([(x(e), y(g)) for e, g in rows], "third")]
    parts += [dot(x(e), y(g), 2.5, "third", f"epoch {e:g}: gap {g:.3g}") for e, g in rows]
    if tol:
        parts.append(line(x.start, y(tol), x.end, y(tol), "wanted"))
        parts.append(text(x.start + 4, y(tol) - 6, f"asked for: {number(tol)}", "tick", "start"))
    return picture(_WIDTH, _HEIGHT, f"Certified relative gap over {len(rows)} epochs", parts)


def reliability(curves: Sequence[Curve]) -> str:
    """Share of right predictions by confidence; the diagonal is what is hoped for."""
    size = 320.0
    x, y = Scale(0, 1, _LEFT, size - _RIGHT), Scale(0, 1, size - _BOTTOM, _TOP)
    parts = [axes(x, y, "confidence", "share that is right"), line(x(0), y(0), x(1), y(1), "wanted")]
    for curve, kind in zip(curves, _KINDS, strict=False):
        rows = list(zip(curve.confidence, curve.accuracy, curve.counts, strict=True))
        parts.append(path([(x(c), y(a)) for c, a, _ in rows], kind))
        for c, a, n in rows:
            radius = 3.0 + 4.0 * (n / max(curve.counts)) ** 0.5
            parts.append(dot(x(c), y(a), radius, kind, f"{curve.name}: {n:,} at {c:.2f}, {a:.1%} right"))
    parts += _legend(x.end, y(0.0) - 14 * len(curves) - 4, [curve.name for curve in curves])
    return picture(size, size, "Calibration: how often predictions are right, by confidence", parts)


def heat_map(labels: Sequence[str], weights: FloatArray) -> str:
    """Weights (from, to): blue above 0, orange below, the stronger the farther."""
    has_numbers = len(labels) <= 14
    cell, left, top = (
        34.0 if has_numbers else 16.0,
        16.0 + 7.2 * max(map(len, labels)),
        16.0 + 7.2 * max(map(len, labels)),
    )
    most = float(np.abs(weights).max()) or 1.0
    parts = []
    for a, label in enumerate(labels):
        parts.append(text(left - 8, top + cell * (a + 0.5) + 4, label, "tick", "end"))
        parts.append(text(left + cell * (a + 0.5) + 4, top - 8, label, "tick", "start", turned=True))
        for b, other in enumerate(labels):
            weight = float(weights[a, b])
            place = left + cell * b, top + cell * a
            title = f"{label} → {other}: {weight:.3f}"
            kind, shade = "plus" if weight >= 0 else "minus", 0.8 * abs(weight) / most
            parts.append(rect(*place, cell - 1, cell - 1, kind, title, shade))
            if has_numbers:
                parts.append(text(place[0] + cell / 2, place[1] + cell / 2 + 4, _short(weight, most), "cell"))
    side = cell * len(labels) + 4
    name = "Weights of transitions, from the row's label to the column's"
    return picture(left + side, top + side, name, parts, shrinks=has_numbers)


def _short(weight: float, most: float) -> str:
    """As many digits as the largest weight gives sense to; nothing where they would all be 0."""
    shown = f"{weight:.2f}" if most < 1.0 else f"{weight:.1f}"
    return "" if float(shown) == 0.0 else shown.replace("0.", ".", 1) if abs(weight) < 1.0 else shown


def _scales(epochs: Sequence[float], values: Sequence[float]) -> tuple[Scale, Scale]:
    low, high = min(values), max(values)
    low, high = (low / 1.3, high * 1.3) if high / low < 1.5 else (low / 1.1, high * 1.1)
    last = max(epochs)
    x = Scale(min(epochs), last, _LEFT, _WIDTH - _RIGHT)
    return x, Scale(low, high, _HEIGHT - _BOTTOM, _TOP, log=True)


def _whole(x: Scale) -> list[float]:
    return [value for value in x.ticks() if value == round(value)] or [x.low]


def _legend(right: float, top: float, names: Sequence[str]) -> list[str]:
    parts = []
    for k, (name, kind) in enumerate(zip(names, _KINDS, strict=False)):
        y = top + 8 + 16 * k
        parts += [dot(right - 6, y, 4, kind, name), text(right - 16, y + 4, name, "tick", "end")]
    return parts
