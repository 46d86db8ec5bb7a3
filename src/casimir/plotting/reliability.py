"""Whether a tagger is as sure as it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from casimir.plotting.style import BLUE, GREY, check_choice, new_axes, tidy

if TYPE_CHECKING:  # scikit-learn takes a second to load, which other pictures need not wait for
    from casimir.estimators.calibration import Reliability


class ReliabilityDisplay:
    """The share of right predictions over their confidence; on the diagonal both agree.

    reliability  `Reliability`: confidence, accuracy and counts of the bins
    name         for the legend

    After `plot`: ax_, figure_, line_.
    """

    def __init__(self, reliability: Reliability, *, name: str | None = None) -> None:
        self.reliability, self.name = reliability, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        of: str = "tokens",
        n_bins: int = 10,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Of a fitted tagger on labelled sentences: of its "tokens", or of its "spans"."""
        from casimir.estimators.calibration import span_outcomes, token_outcomes

        check_choice(of, "of", ("tokens", "spans"))
        right, confidence = (token_outcomes if of == "tokens" else span_outcomes)(estimator, X, y)
        return cls.from_predictions(right, confidence, n_bins=n_bins, name=name or of, ax=ax, **line)

    @classmethod
    def from_predictions(
        cls, right: Any, confidence: Any, *, n_bins: int = 10, name: str | None = None, ax: Any = None, **line: Any
    ) -> Self:
        """Of predictions: whether each is right, and how sure it is."""
        from casimir.estimators.calibration import Reliability

        return cls(Reliability.of(right, confidence, n_bins), name=name).plot(ax, **line)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw into `ax`, or into a new figure; `line` goes to matplotlib's plot. Larger dots are more predictions."""
        self.ax_ = new_axes(ax, (4.8, 4.8))
        self.figure_ = self.ax_.figure
        if not any(drawn.get_gid() == "diagonal" for drawn in self.ax_.get_lines()):
            (diagonal,) = self.ax_.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
            diagonal.set_gid("diagonal")
        r = self.reliability
        label = f"{self.name or 'predictions'} (expected error {r.expected_error:.3f})"
        style = {"color": BLUE, "linewidth": 1.6, "label": label} | line
        (self.line_,) = self.ax_.plot(r.confidence, r.accuracy, **style)
        self.ax_.scatter(r.confidence, r.accuracy, s=15 + 85 * r.counts / r.counts.max(), color=self.line_.get_color())
        self.ax_.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal", xlabel="confidence", ylabel="share that is right")
        self.ax_.legend(loc="best", frameon=False)
        tidy(self.ax_)
        return self
