"""LinearTreeModel: scores, adjoint, and what belongs together."""

from __future__ import annotations

import numpy as np
import pytest
from problems import tree_parts

import casimir as cs
from casimir.problems import decode_trees
from casimir.testing import random_like


@pytest.mark.parametrize("labels", [1, 3, 5])
def test_the_adjoint_is_the_transpose(labels: int) -> None:
    parts = tree_parts(n_labels=labels, valued=True)
    rng = np.random.default_rng(labels)
    w = rng.normal(size=parts.model.n_params)
    for examples in (None, [0, 2], [1]):
        s = parts.model.scores(w, examples)
        m = random_like(s, rng)
        assert s.dot(m).sum() == pytest.approx(float(w @ parts.model.adjoint(m, examples)))


def test_every_edge_has_the_same_scores() -> None:
    parts = tree_parts(n_labels=3)
    w = np.random.default_rng(0).normal(size=parts.model.n_params)
    unary, edges = parts.model.unpack(w)
    s = parts.model.scores(w)
    assert s.edges.shape == (len(s.nodes), 3, 3)
    np.testing.assert_array_equal(s.edges[0], edges)
    np.testing.assert_array_equal(s.edges[-1], edges)
    X = parts.model.X
    first = X.indices[: X.indptr[1]]
    np.testing.assert_allclose(s.nodes[0], unary[first].sum(axis=0))


def test_decoding_is_the_max_oracle() -> None:
    parts = tree_parts(n_labels=5, lengths=(1, 6), n=20, valued=True)
    w = np.random.default_rng(0).normal(size=parts.model.n_params)
    found, expected = decode_trees(parts.model, parts.structure, w), parts.structure.max(parts.model.scores(w))
    for a, b in zip(found, expected.outputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_large_edge_scores_are_summed_in_logs() -> None:
    """Beyond exp(600) the native sum-product leaves products of exponentials for logs."""
    parts = tree_parts(n_labels=4, lengths=(2, 6), valued=True)
    w = np.random.default_rng(0).normal(size=parts.model.n_params)
    parts.model.unpack(w)[1][...] *= 1e3
    for mu in (0.5, 1e6):
        loss = cs.FenchelYoung(cs.Entropy(), mu, parts.cost)
        native, composed = (parts.objective(0.1, native=n).evaluate(w, loss) for n in (True, False))
        assert native.smoothed == pytest.approx(composed.smoothed, rel=1e-12)
        np.testing.assert_allclose(native.gradient, composed.gradient, atol=1e-9)


def test_a_node_may_have_many_children() -> None:
    """Messages of hundreds of children multiply to numbers that no double holds."""
    leaves, labels = 400, 3
    X = cs.pack([[[f"f{v % 7}"] for v in range(leaves + 1)]], n_features=16)
    tree = cs.Tree([[leaves] * leaves + [-1]], labels)
    model, y = cs.LinearTreeModel(X, labels), [np.zeros(leaves + 1, dtype=np.int64)]
    w = 5.0 * np.random.default_rng(0).normal(size=model.n_params)
    loss = cs.FenchelYoung(cs.Entropy(), 0.3, cs.Hamming())
    native, composed = (cs.Objective(model, tree, loss, y, 0.1, native=n).evaluate(w) for n in (True, False))
    assert native.smoothed == pytest.approx(composed.smoothed, rel=1e-12)
    np.testing.assert_allclose(native.gradient, composed.gradient, atol=1e-7)


def test_model_and_trees_must_agree() -> None:
    parts = tree_parts(n_labels=3)
    other = cs.Tree([[-1] * (len(y) + 1) for y in parts.y], 3)
    with pytest.raises(ValueError, match="They must agree, tree by tree"):
        cs.Objective(parts.model, other, cs.Hamming(), parts.y, 0.1)
    with pytest.raises(ValueError, match="Example 0 has scores"):
        cs.Objective(parts.model, other, cs.Hamming(), parts.y, 0.1, native=False)
    with pytest.raises(ValueError, match="They must agree, tree by tree"):
        decode_trees(parts.model, other, parts.model.zeros())
    with pytest.raises(TypeError, match=r"needs packed features of nodes: pack\(trees\)"):
        cs.LinearTreeModel([["a"]], 3)  # type: ignore[arg-type]


def test_marginals_of_other_examples_are_refused() -> None:
    parts = tree_parts(n_labels=3)
    with pytest.raises(ValueError, match="Pass the same `examples`"):
        parts.model.adjoint(parts.model.scores(parts.model.zeros()), [0])
