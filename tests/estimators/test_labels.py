"""Labels as numbers: one flat array, whatever the labels and their containers are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from casimir.estimators.labels import LabelSequences, labels_of

OFFSETS = np.array([0, 2, 3, 6])
NAMES = [["N", "D"], ["V"], ["D", "N", "N"]]


def kinds() -> dict[str, Any]:
    return {
        "lists": NAMES,
        "tuples": tuple(map(tuple, NAMES)),
        "generators": ((label for label in labels) for labels in NAMES),
        "arrays": [np.array(labels) for labels in NAMES],
        "objects": [np.array(labels, dtype=object) for labels in NAMES],
        "numpy scalars": [[np.str_(label) for label in labels] for labels in NAMES],
        "some numpy scalars": [["N", np.str_("D")], ["V"], [np.str_("D"), np.str_("N"), "N"]],
    }


@pytest.mark.parametrize("kind", kinds())
def test_every_container_gives_the_same_numbers_and_plain_classes(kind: str) -> None:
    labels = LabelSequences.of(kinds()[kind], OFFSETS)
    classes = labels.classes()
    assert classes == ("D", "N", "V")
    assert all(type(label) is str for label in classes)
    assert [y.tolist() for y in labels.places(classes)] == [[1, 0], [2], [0, 1, 1]]
    assert labels_of(labels.places(classes).flat, classes, OFFSETS) == NAMES


def test_outputs_are_views_of_one_int64_array_in_the_order_of_the_sentences() -> None:
    y = LabelSequences.of(NAMES, OFFSETS).places(("D", "N", "V"))
    base = y[0].base
    assert base is not None
    assert base.dtype == np.int64
    assert all(part.base is base for part in y)
    np.testing.assert_array_equal(base, np.concatenate(y))


def test_labels_that_are_not_among_the_classes_have_no_place() -> None:
    labels = LabelSequences.of(NAMES, OFFSETS)
    assert labels.places(("V", "N")).flat.tolist() == [1, -1, 0, -1, 1, 1]


def test_labels_that_cannot_be_compared_keep_their_order() -> None:
    labels = LabelSequences.of([["b", 1], [(2,)], [1, "a", "b"]], OFFSETS)
    assert labels.classes() == ("b", 1, (2,), "a")


def test_equal_labels_are_one_class() -> None:
    labels = LabelSequences.of([[1, True], [np.int32(1)], [1.0, np.float64(2), 2]], OFFSETS)
    assert labels.classes() == (1, 2)
    assert labels.places(labels.classes()).flat.tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([[None, None], [None], [None, None, None]], ValueError, "all of them are None"),
        ([["a", "b"], ["c"], ["d", {"a", None}, "e"]], ValueError, r"y\[2\]\[1\] is frozenset"),
        ([["a", "b"], ["c"], ["d", set(), "e"]], ValueError, r"y\[2\]\[1\] is an empty set"),
        ([["a", "b"], [np.nan], ["d", "f", "e"]], ValueError, r"y\[1\]\[0\] is nan"),
        ([np.array([0.0, np.nan]), [1], [1, 2, 3]], ValueError, r"y\[0\]\[1\] is nan"),
        ([["a", "b"], ["c"], ["d", "e", ["f"]]], TypeError, r"y\[2\]\[2\] is \['f'\], a list"),
        ([["a", "b"], ["c"], ["d", "e"]], ValueError, "Sentence 2 has 3 tokens and 2 labels: token 2 has no label"),
        ([["a", "b"], ["c", "c"], ["d", "e"]], ValueError, "Sentence 1 has 1 token and 2 labels: label 1 has no"),
        ([["a", "b"], ["c"]], ValueError, "labels for 2 sentences, X has 3"),
        ([["a", "b"], 7, ["d", "e", "f"]], TypeError, r"y\[1\] is 7"),
        ({"a": 1}, TypeError, "y is a dict"),
    ],
)
def test_bad_labels_are_named_with_their_place(y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        LabelSequences.of(y, OFFSETS).classes()
