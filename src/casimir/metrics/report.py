"""A report of entity scores as text or as a dict, laid out as scikit-learn and seqeval lay out theirs."""

from __future__ import annotations

from typing import Any

from casimir.metrics.averages import Labels, averaged, scores_of

_AVERAGES = ("micro", "macro", "weighted")
_COLUMNS = ("precision", "recall", "f1-score", "support")


def classification_report(
    y_true: Labels,
    y_pred: Labels,
    *,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: str | float = "warn",
    mode: str | None = None,
    scheme: Any = None,
    suffix: bool = False,
) -> str | dict[str, dict[str, float]]:
    """Precision, recall, F1 and number of true entities by type, and their averages; options as in `f1_score`.

    digits       behind the point
    output_dict  {type: {"precision": ..., "recall": ..., "f1-score": ..., "support": ...}} instead of text
    """
    found = scores_of(y_true, y_pred, mode, scheme, suffix)
    columns = averaged(found, None, 1.0, zero_division)
    rows = {kind or "_": row for kind, row in zip(found.by_type, zip(*columns, strict=True), strict=True)}
    quiet = 0 if zero_division == "warn" else zero_division
    means = {f"{average} avg": averaged(found, average, 1.0, quiet) for average in _AVERAGES}
    if output_dict:
        return {name: _as_dict(row) for name, row in (rows | means).items()}
    return _text(rows, means, digits)


def _as_dict(row: tuple[Any, ...]) -> dict[str, float]:
    numbers = (float(row[0]), float(row[1]), float(row[2]), int(row[3]))
    return dict(zip(_COLUMNS, numbers, strict=True))


def _text(rows: dict[str, tuple[Any, ...]], means: dict[str, tuple[Any, ...]], digits: int) -> str:
    width = max(len(name) for name in (rows | means))
    lines = [" " * (width + 1) + "".join(f" {column:>9}" for column in _COLUMNS), ""]
    for part in (rows, means):
        for name, row in part.items():
            ratios = "".join(f" {value:9.{digits}f}" for value in row[:3])
            lines.append(f"{name:>{width}} {ratios} {row[3]:9d}")
        lines.append("")
    return "\n".join(lines)
