"""TensorLayout says what it means, and refuses what means nothing."""

from __future__ import annotations

from typing import Any

import pytest

import casimir as cs
from casimir.structures import TensorLayout

SPINS = cs.Enumerated([[0], [1]], parts=lambda y: [y[0]])


@pytest.mark.parametrize(
    ("structure", "axes", "output", "edges"),
    [
        (cs.Chain(3), "T, 3", ("T",), "T - 1"),
        (cs.Tree([[-1]], 3), "T, 3", ("T",), "T"),
        (cs.GraphCut([[[0, 1]]]), "T, 2", ("T",), "edges"),
        (cs.JunctionTree([[[0, 1]]], 4), "T, 4", ("T",), "edges"),
        (cs.Matching(), "P, Q", ("P",), None),
        (cs.Matching(null=True), "P, Q + 1", ("P",), None),
        (cs.Candidates(), "M", (), None),
        (cs.BoxSearch(), "H, W", (4,), None),
        (SPINS, "M", ("P",), None),
    ],
    ids=lambda x: type(x).__name__,
)
def test_structures_declare_their_layout_and_keep_it_when_restricted(
    structure: Any, axes: str, output: tuple[str | int, ...], edges: str | None
) -> None:
    layout = structure.layout
    assert (str(layout), layout.output, layout.edges) == (axes, output, edges)
    if isinstance(structure, cs.BoxSearch):
        return
    assert structure.restricted([None]).layout == layout
    assert structure.select([0]).layout == layout


def test_the_edges_of_a_layout_follow_its_rows_or_are_listed() -> None:
    made = [TensorLayout(("N", 2), ("N",), 2, edges) for edges in (None, "N - 1", "N", "pairs")]
    assert [layout.missing_edges for layout in made] == [None, 1, 0, None]


def test_shapes_of_one_example_fit_or_not() -> None:
    labels, matrix, square = (TensorLayout(axes, ("T",)) for axes in (("T", 3), ("T", "Q"), ("T", "T")))
    assert [labels.fits(shape) for shape in ([5, 3], [5, 2], [3], [5, 3, 1])] == [True, False, False, False]
    assert [matrix.fits(shape) for shape in ([5, 3], [5])] == [True, False]
    assert [square.fits(shape) for shape in ([5, 3], [5, 5])] == [False, True]


def test_a_choice_is_one_row_and_nothing_else() -> None:
    assert TensorLayout(("M",), (), "M").is_choice
    others = [(("M",), ()), (("M",), (1,), "M"), (("M",), ("M",), "M"), (("M", 2), (), "M"), (("M",), (), 3)]
    assert not any(TensorLayout(*other).is_choice for other in others)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("T", ()), r"nodes='T'; it must be a tuple of names and sizes, 2 or fewer"),
        ((("T", 2, 2), ()), "2 or fewer"),
        ((("T",), ("T", 2)), r"output=\('T', 2\); it must be a tuple of names and sizes, 1 or fewer"),
        (((3, "T"), ()), "the first axis needs a name"),
        (((), ()), "the first axis needs a name"),
        ((("T", 0), ()), "names and sizes"),
        ((("T", "2 Q"), ()), "names and sizes"),
        ((("T + 1",), ()), "the first axis needs a name such as 'T'"),
        ((("T", 3), ("T",), 3, "T-1"), "edges='T-1'; it must be 'T - 1', 'T' or a name of its own"),
        ((("N", 3), ("N",), 3, "T - 1"), "it must be 'N - 1', 'N' or a name of its own"),
        ((("T",), (), "Q"), r"numbers='Q' is no axis of nodes=\('T',\)"),
        ((("T", "Q"), (), "Q", "T - 1"), "edges='T - 1' need labels"),
    ],
)
def test_layouts_without_a_meaning_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TensorLayout(*arguments)
