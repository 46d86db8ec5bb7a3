"""Small reports to look at."""

from __future__ import annotations

import numpy as np

from casimir.report import Curve, Report, ReportData, SentenceView

NASTY = "</script><script>alert(1)</script>&\"'"


def view(
    words: str, gold: list[tuple[int, int, str]], spans: list[tuple[int, int, str, float]], likely: float = -1.0
) -> SentenceView:
    given = words.split()
    labels = [_labels(places, len(given)) for places in (gold, [span[:3] for span in spans])]
    return SentenceView(given, labels[0], labels[1], [0.9] * len(given), gold, spans, -0.05, likely)


def _labels(spans: list[tuple[int, int, str]], n: int) -> list[str]:
    labels = ["O"] * n
    for start, end, kind in spans:
        labels[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return labels


SENTENCES = [
    view("Ada met Bob", [(0, 1, "PER"), (2, 3, "PER")], [(0, 1, "PER", 0.9), (2, 3, "PER", 0.8)], -0.1),
    view("Paris is large", [(0, 1, "LOC")], [(0, 1, "PER", 0.4)], -3.0),
    view("the Bank of Leeds opens", [(1, 4, "ORG")], [(3, 4, "LOC", 0.6)], -5.0),
    view("New York City sleeps", [(0, 3, "LOC")], [(0, 2, "LOC", 0.55)], -2.0),
    view(f"{NASTY} waits", [], [(0, 1, NASTY, 0.2)], -np.inf),
    view("Bob slept", [(0, 1, "PER")], [], -1.5),
]


def report() -> Report:
    return Report(
        ReportData(
            f"A title {NASTY}",
            SENTENCES,
            facts={"F1": "0.5", NASTY: NASTY},
            labels=["B-PER", "O", NASTY],
            transitions=np.array([[1.0, -2.0, 0.0], [0.5, 0.25, -0.01], [3.0, 0.0, 0.0]]),
            trace={"epoch": [1, 2, 5], "objective": [1.0, 0.5, 0.4], "dual": [-1.0, 0.3, 0.39], "gap": [1, 0.4, 0.025]},
            tol=0.03,
            curves=[Curve("tokens", [0.2, 0.9], [0.1, 0.95], [3, 40], 0.05), Curve("spans", [0.5], [0.4], [7], 0.1)],
        )
    )


def labelled() -> Report:
    """A report on labels that write no spans, and on nothing else."""
    one = SentenceView(["a", "<b>"], ["NN", "VB"], ["NN", "JJ"], [0.9, 0.4], None, None, -0.5, -1.0)
    other = SentenceView(["c"], ["NN"], ["NN"], [0.99], None, None, -0.01, -0.01)
    return Report(ReportData("Tags", [other, one]))
