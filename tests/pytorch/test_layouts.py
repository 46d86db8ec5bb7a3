"""StructuredLoss reads the layout that a structure declares: structures from outside run like those of the package."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pytorch.modules import LABELS, LENGTHS, PARENTS  # noqa: E402
from pytorch.test_loss import T, holes, integers, noise  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.autograd import gradcheck  # noqa: E402

import casimir.torch  # noqa: E402
from casimir.scores import Scores, offsets_of  # noqa: E402
from casimir.structures import Best, TensorLayout, TopK  # noqa: E402
from casimir.torch import StructuredLoss  # noqa: E402

cs = casimir
B = len(LENGTHS)


class Foreign:
    """Another structure's oracles behind a class that torch cannot know."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.layout = inner, inner.layout
        for name in ("max", "topk", "expect", "mixture", "score_of", "parts_of_cost", "label_shapes", "edges"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def select(self, examples: Any) -> Foreign:
        return Foreign(self._inner.select(examples))


class Listed:
    """score(y) = the sum of the node scores that y uses, y in a list; a subclass says which outputs and cells."""

    def max(self, s: Scores) -> Best:
        top = self.topk(s, 1)
        return Best(top.value[:, 0], [y[0] for y in top.outputs])

    def topk(self, s: Scores, k: int) -> TopK:
        value, found = np.full((len(s), k), -np.inf), []
        for i in range(len(s)):
            outputs, z = self.outputs(s, i), self._values(s, i)
            order = np.argsort(-z, kind="stable")[:k]
            value[i, : len(order)] = z[order]
            found.append(outputs[order])
        return TopK(value, found)

    def expect(self, s: Scores, mu: float) -> Any:
        values = [self._values(s, i) for i in range(len(s))]
        total = np.array([mu * np.logaddexp.reduce(z / mu) for z in values])
        weights = [np.exp((z - t) / mu) for z, t in zip(values, total, strict=True)]
        return cs.structures.Expectation(total, self.mixture(s, [self.outputs(s, i) for i in range(len(s))], weights))

    def mixture(self, s: Scores, outputs: Any, weights: Any) -> Scores:
        nodes = np.zeros_like(s.nodes)
        made = Scores(nodes, s.offsets, shapes=s.shapes)
        for i, (several, u) in enumerate(zip(outputs, weights, strict=True)):
            for y, weight in zip(several, u, strict=True):
                np.add.at(made.unary(i), self.cells(y), weight)
        return made

    def score_of(self, s: Scores, outputs: Any) -> Any:
        return np.array([s.unary(i)[self.cells(y)].sum() for i, y in enumerate(outputs)])

    def select(self, examples: Any) -> Any:
        return self

    def _values(self, s: Scores, i: int) -> Any:
        return np.array([s.unary(i)[self.cells(y)].sum() for y in self.outputs(s, i)])

    def outputs(self, s: Scores, i: int) -> Any:
        raise NotImplementedError

    def cells(self, y: Any) -> Any:
        raise NotImplementedError


class Span(Listed):
    """score(first, last) = nodes[first, 0] + nodes[last, 1], first <= last."""

    layout = TensorLayout(("T", 2), (2,), "T")

    def outputs(self, s: Scores, i: int) -> Any:
        return np.stack(np.triu_indices(len(s.unary(i))), axis=1)

    def cells(self, y: Any) -> Any:
        return y, [0, 1]


class Heads(Listed):
    """score(y) = sum_v nodes[v, y_v], y_v any row but v itself, and v where it is a root: exactly one row is."""

    layout = TensorLayout(("T", "T"), ("T",), "T", holes=True)

    def outputs(self, s: Scores, i: int) -> Any:
        p = len(s.unary(i))
        every = np.stack(np.meshgrid(*[np.arange(p)] * p, indexing="ij"), axis=-1).reshape(-1, p)
        return every[(every == np.arange(p)).sum(axis=1) == 1]

    def cells(self, y: Any) -> Any:
        return np.arange(len(y)), y


class Knapsack:
    """As in docs/extending.md: items whose weights do not exceed 10."""

    def __init__(self, s: Scores, weights: Any) -> None:
        self.values, self.weights = s.nodes, weights

    def root(self) -> Any:
        return ()

    def split(self, chosen: Any) -> Any:
        room = 10 - np.dot(chosen, self.weights[: len(chosen)])
        return [(*chosen, y) for y in (0, 1) if y * self.weights[len(chosen)] <= room]

    def bound(self, chosen: Any) -> float:
        n = len(chosen)
        return float(np.dot(chosen, self.values[:n]) + np.maximum(self.values[n:], 0).sum())

    def leaf(self, chosen: Any) -> Any:
        return chosen if len(chosen) == len(self.weights) else None

    def parts(self, output: Any) -> Any:
        return np.asarray(output, dtype=float)


def results(loss: StructuredLoss, x: Any, target: Any, mask: Any, **parts: Any) -> list[Any]:
    """Losses, gradients, outputs and marginals, in a list to compare."""
    tensors = [t for t in (*(x if isinstance(x, list) else [x]), *parts.values()) if isinstance(t, Tensor)]
    losses = loss(x, target, mask, **parts)
    gradients = torch.autograd.grad((losses * torch.arange(1, len(losses) + 1)).sum(), tensors)
    soft, top = loss.marginals(x, mask, **parts), loss.topk(x, 3, mask, **parts)
    return [losses, gradients, loss.decode(x, mask, **parts), top.value, top.outputs, soft.unary, soft.pairwise]


def assert_equal(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, list | tuple):
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    elif a is not None:
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0.0)


@pytest.mark.parametrize("smoothing", [cs.Hard(), cs.L2(), cs.Entropy()], ids=repr)
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("kind", ["chain", "tree", "graph"])
def test_labels_do_not_depend_on_the_class_of_the_structure(smoothing: Any, own: bool, kind: str) -> None:
    pairs = [[[v, v + 1] for v in range(p - 1)] for p in LENGTHS]
    made = {"chain": cs.Chain(LABELS), "tree": cs.Tree(PARENTS, LABELS), "graph": cs.JunctionTree(pairs, LABELS)}
    mask, x, y = holes(), noise(B, T, LABELS, grad=True), integers(LABELS, B, T)
    pairwise: Any = noise(B, T - (kind == "chain"), LABELS, LABELS, seed=1, grad=True)
    if not own:
        pairwise = noise(LABELS, LABELS, seed=1, grad=True)
    elif kind == "graph":
        pairwise = [noise(p - 1, LABELS, LABELS, seed=p) for p in LENGTHS]
    ends = {"start": noise(LABELS, seed=2, grad=True), "stop": noise(LABELS, seed=3, grad=True)}
    parts = {"pairwise": pairwise, **(ends if kind == "chain" else {})}
    inside, outside = (
        StructuredLoss(structure, cs.Hamming(), smoothing, mu=1.5, reduction="none")
        for structure in (made[kind], Foreign(made[kind]))
    )
    assert_equal(results(inside, x, y, mask, **parts), results(outside, x, y, mask, **parts))


@pytest.mark.parametrize("kind", ["candidates", "matching", "null", "boxes", "spins"])
def test_other_outputs_do_not_depend_on_the_class_of_the_structure(kind: str) -> None:
    cells = torch.zeros(2, 3, 5, dtype=torch.bool)
    cells[0], cells[1, :2, :4], cells[1, :2, 4] = True, True, kind == "null"
    spins = cs.Enumerated([[0, 0], [0, 1], [1, 0], [1, 1]], parts=lambda y: [y[0], y[1], y[0] == y[1]])
    structure, x, target, mask = {
        "candidates": (cs.Candidates(), noise(2, 5, grad=True), [4, 1], cells[:, 0]),
        "matching": (cs.Matching(), noise(2, 3, 5, grad=True), [[4, 1, 0], [3, 0, 9]], cells),
        "null": (cs.Matching(null=True), noise(2, 3, 5, grad=True), [[4, 4, 0], [4, 0, 9]], cells),
        "boxes": (cs.BoxSearch(), noise(2, 3, 5, grad=True), [[0, 0, 1, 1], [1, 0, 1, 3]], cells),
        "spins": (spins, noise(2, 3, grad=True), [[0, 1], [1, 1]], None),
    }[kind]
    both = [StructuredLoss(s, None, cs.L2(), reduction="none") for s in (structure, Foreign(structure))]
    assert_equal(*(results(loss, x, target, mask) for loss in both))


LENGTHS_OF_NEW = [3, 1, 4, 2]
NEW = pytest.mark.parametrize("structure", [Span(), Heads()], ids=lambda s: type(s).__name__)
SMOOTHINGS = pytest.mark.parametrize("smoothing", [cs.Hard(), cs.L2(), cs.Entropy()], ids=repr)


def batch_of(structure: Any) -> tuple[list[Tensor], Tensor]:
    """One tensor per example, and all of them in one [4, 5, ...] with NaN for padding."""
    square = structure.layout.is_square
    parts = [noise(p, p if square else 2, seed=p) for p in LENGTHS_OF_NEW]
    padded = torch.full((4, 5, 5 if square else 2), torch.nan, dtype=torch.float64)
    for i, part in enumerate(parts):
        padded[i, : len(part), : part.shape[1]] = part
    return parts, padded


def scores_of(structure: Any, parts: list[Tensor]) -> Scores:
    if not structure.layout.is_square:
        return Scores(torch.cat(parts).numpy(), offsets_of(LENGTHS_OF_NEW))
    shapes = np.array([part.shape for part in parts])
    return Scores(torch.cat([part.reshape(-1) for part in parts]).numpy(), offsets_of(shapes.prod(1)), shapes=shapes)


def second_best(structure: Any, s: Scores) -> list[Any]:
    return [outputs[-1] for outputs in structure.topk(s, 2).outputs]


@SMOOTHINGS
@NEW
def test_losses_and_outputs_of_a_new_structure_are_those_of_its_oracles(structure: Any, smoothing: Any) -> None:
    parts, _ = batch_of(structure)
    s = scores_of(structure, parts)
    y, soft = second_best(structure, s), smoothing(structure, s, 1.5)
    loss = StructuredLoss(structure, None, smoothing, mu=1.5, reduction="none")
    found = loss(parts, [torch.from_numpy(true) for true in y])
    np.testing.assert_allclose(found, soft.value - structure.score_of(s, y), atol=1e-12)
    top, marginals = loss.topk(parts, 3), loss.marginals(parts).unary
    for i, (best, ranked) in enumerate(zip(structure.max(s).outputs, structure.topk(s, 3).outputs, strict=True)):
        np.testing.assert_array_equal(loss.decode(parts)[i], best)
        np.testing.assert_array_equal(top.outputs[i][: len(ranked)], ranked)
        np.testing.assert_allclose(marginals[i], soft.marginals.unary(i), atol=1e-12)


@SMOOTHINGS
@NEW
def test_padded_batches_of_a_new_structure_are_its_examples(structure: Any, smoothing: Any) -> None:
    parts, x = batch_of(structure)
    mask = torch.arange(5) < torch.tensor(LENGTHS_OF_NEW)[:, None]
    y = second_best(structure, scores_of(structure, parts))
    target = torch.full((4, 5), -7)
    for i, true in enumerate(y):
        target[i, : len(true)] = torch.from_numpy(true)
    if not structure.layout.output_per_row:
        target = target[:, :2]
    before = target.clone()
    loss = StructuredLoss(structure, None, smoothing, mu=1.5, reduction="none", ignore_index=-7)
    for x_i in (x, *parts):
        x_i.requires_grad_()
    wanted = results(loss, parts, [torch.from_numpy(true) for true in y], None)
    for cut in ({"lengths": LENGTHS_OF_NEW}, {"mask": mask}):
        losses = loss(x, target, **cut)
        torch.testing.assert_close(losses, wanted[0])
        (gradient,) = torch.autograd.grad((losses * torch.arange(1, 5)).sum(), x)
        top, soft = loss.topk(x, 3, **cut), loss.marginals(x, **cut).unary
        torch.testing.assert_close(top.value, wanted[3])
        for i, part in enumerate(parts):
            for full, own in ((gradient, wanted[1]), (soft, wanted[5])):
                torch.testing.assert_close(full[i, : len(part), : part.shape[1]], own[i])
                assert full[i].abs().sum().item() == pytest.approx(own[i].abs().sum().item())  # 0 elsewhere
            for full, own in ((loss.decode(x, **cut)[i], wanted[2][i]), (top.outputs[i, 0], wanted[4][i][0])):
                assert full[: len(own)].tolist() == own.tolist()
                assert (full[len(own) :] == -7).all()
    assert torch.equal(target, before)
    if structure.layout.output_per_row:  # ignored targets cut as well
        square = x.detach().nan_to_num(9.0)
        torch.testing.assert_close(loss(square, target), wanted[0].detach())


@pytest.mark.parametrize("smoothing", [cs.L2(), cs.Entropy()], ids=repr)
@NEW
def test_gradcheck_of_a_new_structure_with_lengths(structure: Any, smoothing: Any) -> None:
    loss = StructuredLoss(structure, None, smoothing, mu=1.5, reduction="none")
    x = noise(3, 3, 3 if structure.layout.is_square else 2, grad=True)
    target = (
        [[0, 0, 1], [0, -100, -100], [1, 1, -100]] if structure.layout.is_square else [[0, 2], [0, 0], [-100, -100]]
    )
    assert gradcheck(lambda x: loss(x, target, lengths=[3, 1, 2]), (x,))
    if isinstance(smoothing, cs.L2):
        assert gradcheck(lambda x: loss.marginals(x, lengths=[3, 1, 2]).unary, (x,))


def test_a_square_matrix_is_cut_on_both_sides_and_its_numbers_are_kept() -> None:
    x, loss = noise(1, 5, 5), StructuredLoss(Heads(), None, cs.L2(), reduction="none")
    keep = [0, 2, 3]
    mask = torch.zeros(1, 5, dtype=torch.bool)
    mask[0, keep] = True
    small = x[:, keep][:, :, keep]
    torch.testing.assert_close(loss(x, [[2, 9, 2, 0, 9]], mask), loss(small, [[1, 1, 0]]))
    best = loss.decode(small)[0]
    assert loss.decode(x, mask)[0].tolist() == [keep[best[0]], -100, keep[best[1]], keep[best[2]], -100]
    with pytest.raises(ValueError, match=r"target\[0, 2\] is 1, which the mask leaves out of T"):
        loss(x, [[2, 9, 1, 0, 9]], mask)
    with pytest.raises(ValueError, match=r"scores has shape \[1, 4, 5\]; Heads needs \[B, T, T\]"):
        loss(x[:, :4], [[0, 0, 0, 0]])


def test_examples_without_a_target_do_not_count_whatever_their_outputs_are() -> None:
    x, y = noise(3, 4, 2, grad=True), torch.tensor([[0, 1], [-100, -100], [2, 3]])
    loss = StructuredLoss(Span())
    value = loss(x, y, lengths=[3, 2, 4])
    torch.testing.assert_close(value, loss(x[[0, 2]], y[[0, 2]], lengths=[3, 4]))
    value.backward()
    assert (x.grad[1] == 0).all()
    assert (x.grad[[0, 2]] != 0).any()
    with pytest.raises(ValueError, match=r"target\[1, 1\] is -100; there are 0 to 3"):
        loss(x, [[0, 1], [0, -100], [2, 3]])


def test_holes_are_refused_where_the_layout_has_none() -> None:
    x, loss = noise(2, 4, 2), StructuredLoss(Span())
    message = "Row 1 of example 1 is left out and a later one is not; a Span has no holes"
    with pytest.raises(ValueError, match=message):
        loss.decode(x, torch.tensor([[1, 1, 1, 0], [1, 0, 1, 1]]))
    with pytest.raises(ValueError, match=message):
        loss.decode(list(x), [torch.tensor([1, 1, 1, 0]), torch.tensor([1, 0, 1, 1])])
    with pytest.raises(ValueError, match=r"target\[0, 1\] is 3, which the mask leaves out of T"):
        loss(x, [[0, 3], [0, 3]], lengths=[3, 4])


def knapsack() -> cs.BranchAndBound:
    layout = TensorLayout(("T",), ("T",), 2)
    return cs.BranchAndBound(Knapsack, data=[[4, 3, 5, 6], [8, 2], [6, 5, 3]], layout=layout)


def test_a_search_with_a_layout_runs_with_padding_and_ignored_targets() -> None:
    x = torch.tensor([[3.0, 2, 4, 5], [1, -1, 7, 7], [1, 4, 3, 7]], dtype=torch.float64, requires_grad=True)
    loss = StructuredLoss(knapsack(), None, cs.L2(), reduction="none")
    target = torch.tensor([[1, 0, 0, 1], [1, 1, -100, -100], [-100, -100, -100, -100]])
    assert loss.decode(x, lengths=[4, 2, 3]).tolist() == [[1, 0, 0, 1], [1, 0, -100, -100], [0, 1, 1, -100]]
    losses = loss(x, target)
    assert losses[2] == 0.0
    torch.testing.assert_close(losses, loss(x, target, lengths=[4, 2, 3]))
    assert gradcheck(lambda x: loss(x, target), (x,))
    with pytest.raises(ValueError, match=r"target\[1, 0\] is 2; there are 0 to 1"):
        loss(x, [[1, 0, 0, 1], [2, 1, -100, -100], [-100] * 4])
    with pytest.raises(ValueError, match="Row 0 of example 0 is left out and a later one is not; a BranchAndBound has"):
        loss(x, [[-100, 0, 0, 1], [1, 1, -100, -100], [-100] * 4])


def test_listed_outputs_of_different_sizes_are_padded() -> None:
    orders = cs.Enumerated([[[0, 1, 2], [1, 0, 2]], [[0, 1], [1, 0]]], [np.eye(2), np.eye(2)])
    x = torch.tensor([[0.0, 1.0], [3.0, 2.0]], dtype=torch.float64)
    loss = StructuredLoss(orders, reduction="none")
    assert loss.decode(x).tolist() == [[1, 0, 2], [0, 1, -100]]
    assert loss.topk(x, 2).outputs.tolist() == [[[1, 0, 2], [0, 1, 2]], [[0, 1, -100], [1, 0, -100]]]
    assert [y.tolist() for y in loss.decode(list(x))] == [[1, 0, 2], [0, 1]]
    padded, ragged = torch.tensor([[1, 0, 2], [1, 0, -100]]), [[1, 0, 2], torch.tensor([1, 0])]
    torch.testing.assert_close(loss(x, padded), loss(list(x), ragged))
    nothing = loss(x, [[1, 0, 2], [-100, -100, -100]])
    torch.testing.assert_close(nothing, torch.stack([loss(x, padded)[0], x.new_zeros(())]))
    with pytest.raises(ValueError, match="not among the listed outputs"):
        loss(x, [[1, 0, 2], [1, 1, -100]])


def test_padded_maps_are_maps_of_different_sizes() -> None:
    maps, loss = noise(2, 3, 4), StructuredLoss(cs.BoxSearch(), cs.IoU(), cs.L2(), reduction="none")
    mask = torch.zeros(2, 3, 4, dtype=torch.bool)
    mask[0], mask[1, :2, :3] = True, True
    own, target = [maps[0], maps[1, :2, :3]], [[0, 0, 1, 1], [1, 0, 1, 2]]
    hidden = maps.masked_fill(~mask, torch.nan)
    torch.testing.assert_close(loss(hidden, target, mask), loss(own, target))
    torch.testing.assert_close(loss.decode(hidden, mask), loss.decode(own))
    rows = torch.tensor([[1, 1, 1], [1, 1, 0]])
    torch.testing.assert_close(loss(maps, target, rows), loss([maps[0], maps[1, :2]], target))


@pytest.mark.parametrize(
    "structure", [cs.Candidates(), cs.Matching(), cs.GraphCut([[[0, 1]]] * 2)], ids=lambda s: type(s).__name__
)
def test_restricted_structures_have_the_layout_of_the_whole(structure: Any) -> None:
    """Parts that are not allowed have no weight, and neither loss nor outputs know their scores."""
    shape = {1: (2, 4), 2: (2, 2, 4)}[len(structure.layout.nodes)]
    shape = (2, 2, 2) if structure.layout.edges else shape
    allowed = np.ones(shape, dtype=bool)
    allowed[0, ..., 0] = False
    target = {0: [1, 0], 1: [[1, 1], [0, 1]]}[len(structure.layout.output)]
    target = [[1, 3], [0, 1]] if isinstance(structure, cs.Matching) else target
    loss = StructuredLoss(structure.restricted(list(allowed)), None, cs.L2(), mu=5.0, reduction="none")
    x = noise(*shape)
    wild = torch.where(torch.from_numpy(allowed), x, x + 40.0)
    torch.testing.assert_close(loss(x, target), loss(wild, target))
    assert loss.decode(wild).tolist() == loss.decode(x).tolist()
    assert (loss.marginals(wild).unary[~torch.from_numpy(allowed)] == 0).all()
    with pytest.raises(ValueError, match="not allowed"):
        loss(x, [0, 0] if structure.layout.output == () else [[0, 1], [0, 1]])


def test_a_structure_without_a_layout_is_told_what_is_missing() -> None:
    class Bare(Span):
        layout = None

    message = (
        "{} has no `layout`, a casimir.structures.TensorLayout that says how its scores and outputs lie in tensors"
    )
    with pytest.raises(TypeError, match=message.format("Bare")):
        StructuredLoss(Bare())(noise(1, 3, 2), [[0, 1]])
    with pytest.raises(TypeError, match=message.format("BranchAndBound")):
        StructuredLoss(cs.BranchAndBound(Knapsack)).decode(noise(1, 3))


@pytest.mark.parametrize("output", [(3,), (), ("T",)])
def test_outputs_that_are_not_what_the_layout_says_are_refused(output: Any) -> None:
    class Wrong(Span):
        layout = TensorLayout(("T", 2), output, "T")

    with pytest.raises(ValueError, match="Wrong gave example 0 an output of 2 numbers; its layout says TensorLayout"):
        StructuredLoss(Wrong(), None, cs.L2()).decode(noise(2, 4, 2))


def test_no_module_of_torch_knows_a_structure_by_its_class() -> None:
    for path in Path(casimir.torch.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("casimir.structures"):
                assert node.module in {"casimir.structures.base", "casimir.structures.layout"}, path.name
