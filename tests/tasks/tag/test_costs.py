"""Costs of mistakes as text."""

from __future__ import annotations

import pytest

from casimir.estimators.label_costs import cost_table
from casimir.tasks.tag.costs import label_costs, parse_costs


def table(text: str, labels: list[str]) -> list[list[float]]:
    found: list[list[float]] = cost_table(label_costs(text, labels), labels).tolist()
    return found


def test_wildcards_stand_for_every_other_label() -> None:
    assert table("*:O=3", ["B", "I", "O"]) == [[0, 1, 3], [1, 0, 3], [1, 1, 0]]


def test_later_parts_go_before_earlier_ones() -> None:
    assert table("*:*=2, B:O=5", ["B", "O"]) == [[0, 5], [2, 0]]
    assert table("B:O=5, *:O=2, B:O=7", ["B", "O"]) == [[0, 7], [1, 0]]
    assert table("B:O=5, *:O=2", ["B", "O"]) == [[0, 2], [1, 0]]


def test_labels_may_hold_signs() -> None:
    assert parse_costs("B-x=y:O=1") == [("B-x=y", "O", 1.0)]


@pytest.mark.parametrize("text", ["O=3", "a:b", "a:b=x", "a:b=-1", "a:b=inf", ":b=1", "a:=1", "a:b=nan"])
def test_what_is_no_cost_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="TRUE:PREDICTED=X"):
        parse_costs(text)


def test_unknown_labels_are_named() -> None:
    with pytest.raises(ValueError, match="'LOC'; the labels in training are B, O"):
        label_costs("LOC:O=2", ["B", "O"])
