"""The oracles of the core as Python functions: which there are, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from casimir._native import core

OFFSETS = np.array([0, 2, 3])
NODES, EDGES = np.zeros((3, 2)), np.zeros((1, 2, 2))
ENDS, EDGE_OFFSETS = np.array([[0, 1]]), np.array([0, 1, 1])
MAPS, SHAPES = np.zeros(3), np.array([[1, 2], [1, 1]])
# name -> what its functions read before k, mu and threads; arrays of two examples
ARGUMENTS: dict[str, dict[str, Any]] = {
    "chain": {"nodes": NODES, "offsets": OFFSETS, "edges": EDGES},
    "tree": {"nodes": NODES, "offsets": OFFSETS, "edges": np.zeros((2, 2))}
    | dict(zip(("node", "parent", "subtree"), core.tree_order(np.array([-1, 0, -1]), OFFSETS), strict=True)),
    "graph_cut": {"nodes": NODES, "offsets": OFFSETS, "edges": EDGES, "ends": ENDS, "edge_offsets": EDGE_OFFSETS},
    "junction": {
        "graphs": core.JunctionGraphs(ENDS, EDGE_OFFSETS, 2, 1e6),
        "nodes": NODES,
        "offsets": OFFSETS,
        "edges": EDGES,
        "edge_offsets": EDGE_OFFSETS,
    },
    "matching": {"weights": MAPS, "offsets": OFFSETS, "shapes": SHAPES, "null": False},
}
EVERY = pytest.mark.parametrize("name", ARGUMENTS)
ORACLES: dict[str, dict[str, Any]] = {
    "max": {},
    "topk": {"k": 2, "mu": np.inf},
    "expect": {"mu": 1.0},
    "max_marginals": {},
}
HAVE_EXPECT = ("chain", "tree", "junction")
THERE_ARE = [(name, oracle) for name in ARGUMENTS for oracle in ORACLES if oracle != "expect" or name in HAVE_EXPECT]


def call(name: str, oracle: str, **changed: Any) -> Any:
    return getattr(core, f"{name}_{oracle}")(**ARGUMENTS[name] | ORACLES[oracle] | changed, threads=1)


@EVERY
def test_oracles_of_all_structures_return_the_same_arrays(name: str) -> None:
    lengths = np.array([1, 1]) if name == "matching" else np.diff(OFFSETS)
    value, outputs = call(name, "max")
    assert value.shape == (2,)
    assert outputs.shape == (lengths.sum(),)
    values, counts, pulled = call(name, "topk")
    assert counts.shape == (2,)
    assert values.shape == (counts.sum(),)
    assert pulled.shape == (counts @ lengths,)
    assert call(name, "max_marginals").shape == ((3,) if name == "matching" else (3, 2))
    assert hasattr(core, f"{name}_expect") == (name in HAVE_EXPECT)


@pytest.mark.parametrize(("name", "edges"), [("chain", 1), ("tree", 3), ("junction", 1)])
def test_the_exp_oracle_returns_marginals_of_nodes_and_edges(name: str, edges: int) -> None:
    value, nodes, pairs = call(name, "expect")
    assert value.shape == (2,)
    assert nodes.shape == (3, 2)
    assert pairs.shape == (edges, 2, 2)
    np.testing.assert_allclose(value, [2 * np.log(2), np.log(2)])


@pytest.mark.parametrize(("name", "oracle"), THERE_ARE)
@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([], "offsets must rise, start at 0 .* 3: it has no entry"),
        ([0, 2], "it goes from 0 to 2"),
        ([1, 2, 3], "it goes from 1 to 3"),
        ([0, 4, 3], "it falls after entry 1"),
    ],
)
def test_offsets_divide_the_rows(name: str, oracle: str, offsets: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(name, oracle, offsets=np.array(offsets, dtype=np.int64))


@pytest.mark.parametrize("name", ["chain", "tree", "matching"])
def test_examples_without_items_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="an example has no items, number 1"):
        call(name, "max", offsets=np.array([0, 3, 3]))


@EVERY
def test_k_and_mu_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        call(name, "topk", k=0)
    for mu in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="mu must be positive, not"):
            call(name, "topk", mu=mu)


@EVERY
def test_arrays_are_never_converted(name: str) -> None:
    for argument, value in ARGUMENTS[name].items():
        if not isinstance(value, np.ndarray):
            continue
        narrow = value.astype(np.float32 if value.dtype == np.float64 else np.int32)
        with pytest.raises(TypeError):
            call(name, "max", **{argument: narrow})


@pytest.mark.parametrize("name", ["chain", "tree"])
@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 3), (2, 2, 2), (1, 1, 2, 2)])
def test_edges_are_one_matrix_or_one_per_edge(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"edges must be \[labels, labels\] or .* with 2 labels"):
        call(name, "max", edges=np.zeros(shape))
