"""What all pictures share: colours, axes, and a clear word where matplotlib is missing."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours, which colour-blind readers can tell apart
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"


def needs_matplotlib() -> ImportError:
    return ImportError('Plotting needs matplotlib, which is not installed: pip install "casimir[plot]"')


def new_axes(ax: Any, size: tuple[float, float] = (6.4, 4.4)) -> Any:
    """The axes given, or those of a new figure of pyplot, which notebooks show."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise needs_matplotlib() from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def tidy(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", which="major", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def check_choice(value: str, name: str, choices: Any) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}; it must be one of {', '.join(map(repr, choices))}.")
