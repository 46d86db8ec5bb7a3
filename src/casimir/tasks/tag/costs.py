"""Costs of mistakes as text: "*:O=3,B-LOC:B-ORG=0.5" for true label, predicted label and cost; * is any label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

ANY = "*"
_EXAMPLE = "such as '*:O=3' (a label that is missed costs 3) or 'B-LOC:B-ORG=0.5'"


def parse_costs(text: str) -> list[tuple[str, str, float]]:
    """(true, predicted, cost) of each part, in its order."""
    return [_parse(part.strip()) for part in text.split(",") if part.strip()]


def _parse(part: str) -> tuple[str, str, float]:
    pair, equals, number = part.rpartition("=")
    true, colon, predicted = pair.partition(":")
    try:
        cost = float(number)
    except ValueError:
        cost = -1.0
    if not (equals and colon and true and predicted) or not 0.0 <= cost < float("inf"):
        raise ValueError(f"{part!r} is no cost; write TRUE:PREDICTED=X, {_EXAMPLE}.")
    return true, predicted, cost


def label_costs(text: str, labels: Iterable[str]) -> dict[tuple[Hashable, Hashable], float]:
    """What `SequenceTagger` takes as label_costs, in the order of the text."""
    known = sorted(set(labels))
    costs: dict[tuple[Hashable, Hashable], float] = {}
    for true, predicted, cost in parse_costs(text):
        for label in (true, predicted):
            if label != ANY and label not in known:
                raise ValueError(f"--cost has the label {label!r}; the labels in training are {', '.join(known)}.")
        costs.pop((true, predicted), None)  # a part that is given again counts where it stands
        costs[true, predicted] = cost
    return costs
