"""The core keeps pointers into arrays: nobody can write to those that say where it reads."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import casimir as cs
from casimir.features import PackedSequences
from casimir.models import LinearCandidateModel, LinearChainModel, LinearClassModel, LinearTreeModel
from casimir.models.shared import SharedWeights

TOKENS = [[{"word": "Ada", "freq": 0.5}, {"word": "slept"}], [{"word": "Bob"}], [{"word": "so"}, {"word": "what"}]]


def arrays_of(X: PackedSequences) -> Iterator[np.ndarray]:
    yield from (a for a in (X.offsets, X.indptr, X.indices, X.values) if a is not None)


def assert_read_only(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="read-only"):
        array[:1] = array[:1]
    with pytest.raises(ValueError, match="read-only"):
        np.add(array, 1, out=array, casting="unsafe")


PACKED: dict[str, Callable[[], PackedSequences]] = {
    "hashed": lambda: cs.pack(TOKENS),
    "growing": lambda: cs.pack(TOKENS, n_features=None),
    "known": lambda: cs.pack(TOKENS, vocabulary=cs.pack(TOKENS, n_features=None).vocabulary),
    "matrices": lambda: cs.pack([np.eye(3), np.ones((2, 3))], n_features=None),
    "sparse matrices": lambda: cs.pack([sp.csr_array(np.eye(3)), sp.csr_array(np.ones((2, 3)))], n_features=None),
    "by hand": lambda: PackedSequences(
        np.array([0, 1]), np.array([0, 2]), np.array([0, 1], np.uint32), np.array([0.5, 2.0]), 5
    ),
    "slice": lambda: cs.pack(TOKENS)[1:],
    "mask": lambda: cs.pack(TOKENS)[np.array([True, False, True])],
    "pickle": lambda: pickle.loads(pickle.dumps(cs.pack(TOKENS))),
    "copy": lambda: copy.copy(cs.pack(TOKENS)),
    "deep copy": lambda: copy.deepcopy(cs.pack(TOKENS)),
}


@pytest.mark.parametrize("kind", PACKED)
def test_packed_arrays_cannot_be_written(kind: str) -> None:
    X = PACKED[kind]()
    assert [array.dtype for array in arrays_of(X)][:3] == [np.int64, np.int64, np.uint32]
    for array in arrays_of(X):
        assert_read_only(array)


def test_packed_arrays_are_not_those_that_were_given() -> None:
    given = np.array([0, 1]), np.array([0, 2]), np.array([0, 1], np.uint32), np.array([0.5, 2.0])
    X = PackedSequences(*given, 5)
    hidden = np.arange(2, dtype=np.uint32)
    view = hidden[:]
    view.flags.writeable = False  # whoever has `hidden` can still write
    Y = PackedSequences(*given[:2], view, None, 5)
    for array in (*given, hidden):
        array[:] = 4
    assert X.indices.tolist() == Y.indices.tolist() == [0, 1]
    assert (X.offsets.tolist(), X.indptr.tolist(), X.values.tolist()) == ([0, 1], [0, 2], [0.5, 2.0])


def test_arrays_that_nobody_can_write_are_not_copied() -> None:
    X = cs.pack(TOKENS)
    assert np.shares_memory(PackedSequences(X.offsets, X.indptr, X.indices, X.values, X.n_features).indices, X.indices)
    assert np.shares_memory(X[1:].indices, X.indices)


def test_memory_that_others_can_write_to_is_found_behind_any_view(tmp_path: Path) -> None:
    data = np.arange(4, dtype=np.uint32).tobytes()
    (tmp_path / "x").write_bytes(data)
    fixed = np.frombuffer(data, np.uint32), np.memmap(tmp_path / "x", np.uint32, "r")
    loose = np.frombuffer(bytearray(data), np.uint32), np.memmap(tmp_path / "x", np.uint32, "r+")
    for given in (*fixed, *loose):
        view = given[:]
        view.flags.writeable = False
        indptr, offsets = np.array([0, 4]), np.array([0, 1])
        made = PackedSequences(offsets, indptr, view, None, 4).indices
        assert np.shares_memory(made, given) == any(given is one for one in fixed)


def chains() -> tuple[Any, list[np.ndarray]]:
    X = cs.pack(TOKENS)
    y = [np.zeros(n, np.int64) for n in X.lengths]
    objective = cs.Objective(LinearChainModel(X, 2), cs.Chain(2), cs.Hinge(cs.Hamming()), y, 0.1)
    return objective, list(arrays_of(X))


def trees() -> tuple[Any, list[np.ndarray]]:
    X = cs.pack(TOKENS)
    tree = cs.Tree([[-1, 0], [-1], [1, -1]], 2)
    y = [np.zeros(n, np.int64) for n in X.lengths]
    objective = cs.Objective(LinearTreeModel(X, 2), tree, cs.Hinge(cs.Hamming()), y, 0.1)
    return objective, [*arrays_of(X), *tree.order, *tree.select([0, 2]).order, tree.offsets]


def shared_trees() -> tuple[Any, list[np.ndarray]]:
    X = cs.pack(TOKENS, n_features=10)
    tree, base = cs.Tree([[-1, 0], [-1], [1, -1]], 2), LinearTreeModel(X, 2)
    model = SharedWeights(base, np.zeros((12, 2), np.uint32), 3)
    y = [np.zeros(n, np.int64) for n in X.lengths]
    return cs.Objective(model, tree, cs.Hinge(cs.Hamming()), y, 0.1), [model.cells]


def candidates() -> tuple[Any, list[np.ndarray]]:
    model = LinearCandidateModel([np.eye(3), np.ones((2, 3))])
    objective = cs.Objective(model, cs.Candidates(), cs.Hinge(cs.Hamming()), [np.array([0]), np.array([1])], 0.1)
    return objective, [model.features, model.offsets]


def candidate_rows() -> tuple[Any, list[np.ndarray]]:
    model = LinearCandidateModel.of_rows(np.ones((5, 2)), np.array([0, 3, 5]))
    objective = cs.Objective(model, cs.Candidates(), cs.Hinge(cs.Hamming()), [np.array([0]), np.array([1])], 0.1)
    return objective, [model.features, model.offsets]


def classes() -> tuple[Any, list[np.ndarray]]:
    model = LinearClassModel(np.eye(3), 2)
    y = [np.array([0]), np.array([1]), np.array([1])]
    return cs.Objective(model, cs.Candidates(), cs.Hinge(cs.Hamming()), y, 0.1), [model.X]


def sparse_classes() -> tuple[Any, list[np.ndarray]]:
    model = LinearClassModel(sp.csr_array(np.eye(3)), 2)
    y = [np.array([0]), np.array([1]), np.array([1])]
    arrays = [model.X.data, model.X.indices, model.X.indptr]
    return cs.Objective(model, cs.Candidates(), cs.Hinge(cs.Hamming()), y, 0.1), arrays


PROBLEMS = [chains, trees, shared_trees, candidates, candidate_rows, classes, sparse_classes]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_arrays_of_native_problems_cannot_be_written(problem: Callable[[], tuple[Any, list[np.ndarray]]]) -> None:
    objective, arrays = problem()
    before = cs.minimize(objective, cs.BCFW(), epochs=3).w
    for array in arrays:
        assert_read_only(array)
    np.testing.assert_array_equal(cs.minimize(objective, cs.BCFW(), epochs=3).w, before)


def test_what_was_given_to_a_model_may_change_without_changing_the_model() -> None:
    offsets, cells = np.array([0, 3, 5]), np.zeros((12, 2), np.uint32)
    rows = LinearCandidateModel.of_rows(np.ones((5, 2)), offsets)
    shared = SharedWeights(LinearTreeModel(cs.pack(TOKENS, n_features=10), 2), cells, 3)
    X = sp.csr_array(np.eye(3))
    sparse = LinearClassModel(X, 2)
    offsets[:] = 2**40
    cells[:] = 2**31
    X.indices[:] = 2**30
    X.indptr[:] = 2**30
    assert rows.offsets.tolist() == [0, 3, 5]
    assert not shared.cells.any()
    np.testing.assert_array_equal(sparse.X.toarray(), np.eye(3))
