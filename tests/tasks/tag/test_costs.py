"""Costs of mistakes as text."""

from __future__ import annotations

import pytest

from casimir.tasks.tag.costs import label_costs, parse_costs


def test_wildcards_stand_for_every_other_label() -> None:
    assert label_costs("*:O=3", ["B", "I", "O"]) == {("B", "O"): 3.0, ("I", "O"): 3.0}


def test_later_parts_go_before_earlier_ones() -> None:
    assert label_costs("*:*=2, B:O=5", ["B", "O"]) == {("B", "O"): 5.0, ("O", "B"): 2.0}


def test_labels_may_hold_signs() -> None:
    assert parse_costs("B-x=y:O=1") == [("B-x=y", "O", 1.0)]


@pytest.mark.parametrize("text", ["O=3", "a:b", "a:b=x", "a:b=-1", "a:b=inf", ":b=1", "a:=1", "a:b=nan"])
def test_what_is_no_cost_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="TRUE:PREDICTED=X"):
        parse_costs(text)


def test_unknown_labels_are_named() -> None:
    with pytest.raises(ValueError, match="'LOC'; the labels in training are B, O"):
        label_costs("LOC:O=2", ["B", "O"])
