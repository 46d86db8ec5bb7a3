"""StructuredLoss against the oracles themselves, brute force and finite differences."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pytorch.modules import LABELS, LENGTHS, PARENTS, tree, vectors  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.autograd import gradcheck  # noqa: E402

import casimir as cs  # noqa: E402
from casimir.torch import StructuredLoss, TorchModel  # noqa: E402

CHAIN = cs.Chain(LABELS)
SMOOTHINGS = [cs.Hard(), cs.L2(), cs.L2(k=3), cs.Entropy()]
T = 6


def noise(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64, grad: bool = False) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)


def integers(high: int, *shape: int, seed: int = 0) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def holes() -> Tensor:
    """bool[5, 6] with gaps at the start, in the middle and at the end; LENGTHS[i] positions are kept of example i."""
    rng = np.random.default_rng(0)
    mask = np.zeros((len(LENGTHS), T), dtype=bool)
    for row, length in zip(mask, LENGTHS, strict=True):
        row[rng.choice(T, length, replace=False)] = True
    return torch.from_numpy(mask)


def padded(parts: list[Tensor], mask: Tensor) -> Tensor:
    """The parts in the kept places, NaN elsewhere."""
    out = parts[0].new_full((*mask.shape, *parts[0].shape[1:]), torch.nan)
    out[mask] = torch.cat(parts)
    return out


def rows_of_edges(mask: Tensor) -> list[Tensor]:
    """For chains: the rows of pairwise [T - 1] that the kept positions use."""
    return [torch.nonzero(row)[1:, 0] - 1 for row in mask]


def expected(structure: Any, s: cs.Scores, y: list[Any], cost: Any, smoothing: Any, mu: float) -> np.ndarray:
    """f_mu(s + cost) - s(y) by the structure's own methods."""
    augmented = s if cost is None else s + cost.parts(structure, s, y)
    return smoothing(structure, augmented, mu).value - structure.score_of(s, y)


def unary_parts(seed: int = 0, tail: tuple[int, ...] = (LABELS,)) -> list[Tensor]:
    return [noise(p, *tail, seed=seed + i) for i, p in enumerate(LENGTHS)]


def label_parts() -> list[Tensor]:
    return [integers(LABELS, p, seed=i) for i, p in enumerate(LENGTHS)]


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@pytest.mark.parametrize("cost", [None, cs.Hamming()], ids=["no cost", "cost"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_chain_losses_are_those_of_the_oracles_with_any_mask(smoothing: Any, cost: Any, own: bool) -> None:
    unary, y, mask = unary_parts(), label_parts(), holes()
    pairwise = noise(len(LENGTHS), T - 1, LABELS, LABELS, seed=7) if own else noise(LABELS, LABELS, seed=7)
    start, stop = noise(LABELS, seed=8), noise(LABELS, seed=9)
    plain = [u.clone() for u in unary]
    for u in plain:
        u[0] += start
        u[-1] += stop
    edges = [pairwise[i][rows].numpy() for i, rows in enumerate(rows_of_edges(mask))] if own else pairwise.numpy()
    s = CHAIN.scores([u.numpy() for u in plain], edges)
    wanted = expected(CHAIN, s, [a.numpy() for a in y], cost, smoothing, 0.7)

    loss = StructuredLoss(CHAIN, cost, smoothing, mu=0.7, reduction="none")
    target = torch.full(mask.shape, -1)
    target[mask] = torch.cat(y)
    found = loss(padded(unary, mask), target, mask, pairwise=pairwise, start=start, stop=stop)
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    ignored = target.masked_fill(~mask, -100)
    found = loss(padded(unary, mask), ignored, pairwise=pairwise, start=start, stop=stop)
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_crf_loss_is_the_negative_log_likelihood_by_brute_force() -> None:
    unary, pairwise, y = noise(2, 3, LABELS), noise(LABELS, LABELS, seed=1), integers(LABELS, 2, 3)

    def score(i: int, labels: tuple[int, ...]) -> float:
        nodes = sum(unary[i, t, labels[t]] for t in range(3))
        return float(nodes + sum(pairwise[a, b] for a, b in itertools.pairwise(labels)))

    outputs = list(itertools.product(range(LABELS), repeat=3))
    wanted = [np.logaddexp.reduce([score(i, o) for o in outputs]) - score(i, tuple(y[i].tolist())) for i in range(2)]
    losses = StructuredLoss(CHAIN, reduction="none")(unary, y, pairwise=pairwise)
    np.testing.assert_allclose(losses, wanted, atol=1e-12)


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@pytest.mark.parametrize("own", [False, True])
def test_outputs_that_are_not_allowed_count_for_nothing(smoothing: Any, own: bool) -> None:
    """The loss of a chain without repeats, with any smoothing, is that of its own oracles; so is the gradient."""
    chain = cs.Chain(3, ~np.eye(3, dtype=bool), allowed_start=[True, False, True])
    x, y = noise(2, 4, 3, grad=True), torch.tensor([[0, 1, 0, 2], [2, 1, 2, 0]])
    pairwise = noise(2, 3, 3, 3, seed=1) if own else noise(3, 3, seed=1)
    s = chain.scores(list(x.detach().numpy()), list(pairwise.numpy()) if own else pairwise.numpy())
    loss = StructuredLoss(chain, None, smoothing, reduction="none")
    found = loss(x, y, pairwise=pairwise)
    np.testing.assert_allclose(found.detach(), expected(chain, s, list(y.numpy()), None, smoothing, 1.0), atol=1e-12)
    found.sum().backward()
    marginals = smoothing(chain, s, 1.0).marginals.nodes.reshape(2, 4, 3)
    np.testing.assert_allclose(x.grad, marginals - np.eye(3)[y.numpy()], atol=1e-12)
    with pytest.raises(ValueError, match=r"target\[1\]\[1:3\] has the labels 1, 1 one after another"):
        loss(x, torch.tensor([[0, 1, 0, 2], [2, 1, 1, 0]]), pairwise=pairwise)


def test_without_pairwise_scores_a_chain_is_cross_entropy_at_each_position() -> None:
    unary, y = noise(4, T, LABELS), integers(LABELS, 4, T)
    y[1, 2:4] = -100
    ours = StructuredLoss(CHAIN, reduction="token_mean")(unary, y)
    assert ours.item() == pytest.approx(nn.functional.cross_entropy(unary.flatten(0, 1), y.flatten()).item(), abs=1e-12)


def test_candidates_are_cross_entropy_too() -> None:
    scores, y = noise(4, 5, grad=True), torch.tensor([3, -100, 0, 4])
    ours = StructuredLoss(cs.Candidates())(scores, y)
    theirs = nn.functional.cross_entropy(scores, y)
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-12)
    grads = [torch.autograd.grad(value, scores)[0] for value in (ours, theirs)]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("smoothing", [cs.L2(), cs.Entropy()], ids=repr)
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_gradcheck_of_labels(smoothing: Any, own: bool, kind: str) -> None:
    mask = holes()
    unary = noise(*mask.shape, LABELS, grad=True)
    width = T - 1 if kind == "chain" else T
    pairwise = noise(len(LENGTHS), width, LABELS, LABELS, seed=1) if own else noise(LABELS, LABELS, seed=1)
    ends = [noise(LABELS, seed=2, grad=True), noise(LABELS, seed=3, grad=True)] if kind == "chain" else [None, None]
    y = integers(LABELS, *mask.shape)
    loss = StructuredLoss(CHAIN if kind == "chain" else tree(), cs.Hamming(), smoothing, mu=1.5, reduction="none")

    def f(*parts: Tensor | None) -> Tensor:
        return loss(parts[0], y, mask, pairwise=parts[1], start=parts[2], stop=parts[3])

    assert gradcheck(f, (unary, pairwise.requires_grad_(), *ends))


@pytest.mark.parametrize("n_labels", [9, 40])
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "token_mean", "none"])
def test_gradients_by_shared_pairs_are_those_of_pairs_of_their_own(n_labels: int, few: bool, reduction: str) -> None:
    """Chains of few labels run one by one, those of many in groups, whose pairs are added up in the backward pass."""
    rng = np.random.default_rng(n_labels)
    allowed = rng.random((n_labels, n_labels)) < 0.05 if few else np.ones((n_labels, n_labels), dtype=bool)
    target = integers(n_labels, len(LENGTHS), T, seed=1)
    mask = holes()
    for y, kept in zip(target, mask, strict=True):
        there = y[kept].numpy()
        allowed[there[:-1], there[1:]] = True
    loss = StructuredLoss(cs.Chain(n_labels, allowed), reduction=reduction)
    u, pairs = noise(len(LENGTHS), T, n_labels, grad=True), noise(n_labels, n_labels, seed=2, grad=True)
    upstream = noise(len(LENGTHS), seed=3) if reduction == "none" else torch.tensor(0.7, dtype=torch.float64)

    def gradients(pairwise: Tensor) -> tuple[Tensor, ...]:
        value = loss(u, target, mask, pairwise=pairwise)
        return value.detach(), *torch.autograd.grad(value, (u, pairs), upstream)

    shared, own = gradients(pairs), gradients(pairs.expand(len(LENGTHS), T - 1, n_labels, n_labels))
    for a, b in zip(shared, own, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("few", [False, True])
def test_gradcheck_of_shared_pairs_of_many_labels(few: bool) -> None:
    n_labels = 34
    allowed = np.isin(np.add.outer(np.arange(n_labels), np.arange(n_labels)), [4, 8, 12, 40]) if few else None
    y = np.array([[1, 3, 5, 7], [4, 4, 0, 8], [2, 2, 2, 6]])
    loss = StructuredLoss(cs.Chain(n_labels, allowed), reduction="none")
    u, pairs = noise(3, 4, n_labels, grad=True), noise(n_labels, n_labels, seed=2, grad=True)
    assert gradcheck(lambda *x: loss(x[0], torch.tensor(y), pairwise=x[1]), (u, pairs), fast_mode=True)


def test_gradcheck_of_matchings_and_candidates() -> None:
    cells = torch.zeros(3, 4, 5, dtype=torch.bool)
    cells[0], cells[1, 1:3, 2:], cells[2, ::2, 1::2] = True, True, True
    target = torch.tensor([[4, 1, 0, 2], [-100, 4, 2, 3], [3, 0, 1, 3]])
    loss = StructuredLoss(cs.Matching(), cs.Hamming(), cs.L2(), mu=2.0, reduction="none")
    assert gradcheck(lambda x: loss(x, target, cells), (noise(3, 4, 5, grad=True),))
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 1, 0]])
    for smoothing in (cs.L2(), cs.Entropy()):
        listed = StructuredLoss(cs.Candidates(), cs.Hamming(), smoothing, reduction="none")
        assert gradcheck(lambda x, f=listed: f(x, [3, 2], mask), (noise(2, 4, grad=True),))


def test_gradcheck_of_graphs_and_boxes_given_as_lists() -> None:
    edges = [[[0, 1], [1, 2], [2, 0]], [[1, 0]]]
    unary = [noise(3, 2, grad=True), noise(2, 2, seed=1, grad=True)]
    y = [integers(2, 3), integers(2, 2)]
    junction = StructuredLoss(cs.JunctionTree(edges, 2), cs.Hamming(), cs.Entropy(), reduction="none")
    own = [noise(3, 2, 2, grad=True), noise(1, 2, 2, grad=True)]
    assert gradcheck(lambda a, b, c, d: junction([a, b], y, pairwise=[c, d]), (*unary, *own))
    shared = noise(2, 2, grad=True)
    assert gradcheck(lambda a, b, c: junction([a, b], y, pairwise=c), (*unary, shared))
    cut = StructuredLoss(cs.GraphCut(edges), cs.Hamming(), cs.L2(), mu=2.0)
    attract = torch.eye(2, dtype=torch.float64)
    assert gradcheck(lambda a, b, c: cut([a, b], y, pairwise=c**2 * attract), (*unary, noise(1, grad=True)))
    boxes = StructuredLoss(cs.BoxSearch(), None, cs.L2(), mu=2.0)
    assert gradcheck(lambda m: boxes(m, [[0, 0, 1, 1], [1, 0, 1, 2]]), (noise(2, 2, 3, grad=True),))
    assert boxes.decode(noise(2, 2, 3)).shape == (2, 4)


@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_ragged_lists_are_the_same_as_padded_batches(kind: str) -> None:
    structure = CHAIN if kind == "chain" else tree()
    mask = torch.arange(T) < torch.tensor(LENGTHS)[:, None]
    unary, y = unary_parts(), label_parts()
    target = torch.full(mask.shape, -100)
    target[mask] = torch.cat(y)
    short = 1 if kind == "chain" else 0
    own = noise(len(LENGTHS), T - short, LABELS, LABELS, seed=3)
    ragged = [own[i, : p - short] for i, p in enumerate(LENGTHS)]
    loss = StructuredLoss(structure, cs.Hamming(), cs.Entropy(), reduction="none")
    for wide, narrow in ((own, ragged), (own[0, 0], own[0, 0])):
        x, parts = padded(unary, mask).requires_grad_(), [u.clone().requires_grad_() for u in unary]
        a = loss(x, target, lengths=LENGTHS, pairwise=wide)
        b = loss(parts, y, pairwise=narrow)
        torch.testing.assert_close(a, b)
        (a * torch.arange(5)).sum().backward()
        (b * torch.arange(5)).sum().backward()
        torch.testing.assert_close(x.grad[mask], torch.cat([u.grad for u in parts]))
        assert (x.grad[~mask] == 0).all()
        decoded = loss.decode(x, mask, pairwise=wide)
        torch.testing.assert_close(decoded[mask], torch.cat(loss.decode(parts, pairwise=narrow)))
        wide_marginals, narrow_marginals = (
            loss.marginals(x, mask, pairwise=wide),
            loss.marginals(parts, pairwise=narrow),
        )
        torch.testing.assert_close(wide_marginals.unary[mask], torch.cat(narrow_marginals.unary))
        for i, edges in enumerate(narrow_marginals.pairwise):
            torch.testing.assert_close(wide_marginals.pairwise[i, : len(edges)], edges)


def test_ragged_lists_can_have_holes_as_well() -> None:
    mask, unary, y = holes(), noise(5, T, LABELS), integers(LABELS, 5, T)
    own = noise(5, T - 1, LABELS, LABELS, seed=1)
    loss = StructuredLoss(CHAIN, reduction="none")
    torch.testing.assert_close(
        loss(list(unary), list(y), list(mask), pairwise=list(own)), loss(unary, y, mask, pairwise=own)
    )


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
def test_trees_of_the_batch_can_be_given_with_it(smoothing: Any) -> None:
    unary, y, pairwise = unary_parts(), label_parts(), noise(LABELS, LABELS)
    s = tree().scores([u.numpy() for u in unary], pairwise.numpy())
    wanted = expected(tree(), s, [a.numpy() for a in y], cs.Hamming(), smoothing, 1.0)
    loss = StructuredLoss(tree(), cs.Hamming(), smoothing, reduction="none")
    np.testing.assert_allclose(loss(unary, y, pairwise=pairwise), wanted, atol=1e-10)
    some = [4, 2]
    batch = cs.Tree([PARENTS[i] for i in some], LABELS)
    for either in (loss, StructuredLoss(None, cs.Hamming(), smoothing, reduction="none")):
        found = either([unary[i] for i in some], [y[i] for i in some], pairwise=pairwise, structure=batch)
        np.testing.assert_allclose(found, wanted[some], atol=1e-10)


@pytest.mark.parametrize("null", [False, True])
def test_matchings_without_some_rows_and_columns_are_smaller_matchings(null: bool) -> None:
    matching, x = cs.Matching(null=null), noise(2, 4, 6)
    rows, columns = torch.tensor([[1, 0, 1, 1], [1, 1, 1, 1]]) > 0, torch.tensor([[0, 1, 1, 0, 1, 1], [1] * 6]) > 0
    mask = rows[:, :, None] & columns[:, None]
    small = [x[i][rows[i]][:, columns[i]].numpy() for i in range(2)]
    target = torch.tensor([[4, 0, 1, 2], [5, 1, 2, 0]])
    y = [np.array([2, 0, 1]), np.array([5, 1, 2, 0])]
    s = matching.scores(small)
    loss = StructuredLoss(matching, cs.Hamming(), cs.L2(), reduction="none")
    hidden = x.masked_fill(~mask, torch.nan)
    np.testing.assert_allclose(loss(hidden, target, mask), expected(matching, s, y, cs.Hamming(), cs.L2(), 1.0))
    best = matching.max(s).outputs
    numbers = [torch.nonzero(c)[:, 0].numpy() for c in columns]
    decoded = loss.decode(hidden, mask)
    for i in range(2):
        np.testing.assert_array_equal(decoded[i][rows[i]], numbers[i][best[i]])
    assert (decoded[~rows] == -100).all()
    top = loss.topk(hidden, 3, mask)
    torch.testing.assert_close(top.outputs[:, 0], decoded)
    ignored = target.clone()
    ignored[1, 3] = -100
    shorter = matching.scores([small[0], small[1][:3]])
    wanted = expected(matching, shorter, [y[0], y[1][:3]], cs.Hamming(), cs.L2(), 1.0)
    np.testing.assert_allclose(loss(hidden, ignored, mask), wanted)


def test_candidates_keep_their_numbers_behind_a_mask() -> None:
    x, mask = noise(2, 5), torch.tensor([[0, 1, 1, 0, 1], [1, 1, 1, 1, 0]]) > 0
    loss = StructuredLoss(cs.Candidates(), cs.Hamming(), reduction="none")
    wanted = [max(x[i, j] + (j != t) for j in range(5) if mask[i, j]) - x[i, t] for i, t in enumerate((4, 0))]
    target = torch.tensor([4, 0])
    np.testing.assert_allclose(loss(x, target, mask), wanted)
    assert target.tolist() == [4, 0]
    torch.testing.assert_close(loss.decode(x, mask), x.masked_fill(~mask, -9.0).argmax(1))
    top = loss.topk(x, 4, mask)
    assert top.outputs[0].tolist()[3] == -100
    assert top.value[0, 3] == -torch.inf
    assert top.outputs[1].tolist() == x[1, :4].argsort(descending=True).tolist()


def test_a_cost_of_the_batch_can_be_given_with_it() -> None:
    boxes = [np.array([[0, 0, 3, 3], [0, 0, 1, 3], [2, 2, 3, 3]]), np.array([[0, 0, 1, 1], [0, 0, 0, 1]])]
    x, y = [noise(3), noise(2, seed=1)], [0, 1]
    s = cs.Candidates().scores([a.numpy() for a in x])
    wanted = expected(cs.Candidates(), s, [np.array([t]) for t in y], cs.IoU(boxes), cs.Hard(), 1.0)
    loss = StructuredLoss(cs.Candidates(), smoothing=cs.Hard(), reduction="none")
    np.testing.assert_allclose(loss(x, y, cost=cs.IoU(boxes)), wanted, atol=1e-12)


def test_mean_and_gradient_are_those_of_the_objective_for_a_linear_module() -> None:
    module = nn.Linear(4, 1, bias=False).double()
    inputs = vectors()
    y = [np.array([p - 1]) for p in LENGTHS]
    linear = cs.LinearPartsModel([x.numpy() for x in inputs])
    objective = cs.Objective(linear, cs.Candidates(), cs.FenchelYoung(cs.L2(), 0.5, cs.Hamming()), y, 0.0)
    evaluation = objective.evaluate(module.weight.detach().numpy()[0].copy())
    loss = StructuredLoss(cs.Candidates(), cs.Hamming(), cs.L2(), mu=0.5)
    value = loss([module(x)[:, 0] for x in inputs], [p - 1 for p in LENGTHS])
    value.backward()
    assert value.item() == pytest.approx(evaluation.smoothed, abs=1e-12)
    np.testing.assert_allclose(module.weight.grad[0], evaluation.gradient, atol=1e-12)


def test_training_a_module_either_way_has_the_same_gradient() -> None:
    from pytorch.modules import ChainNet

    torch.manual_seed(0)
    module, inputs, y = ChainNet().double().eval(), vectors(), label_parts()
    model = TorchModel(module, inputs, CHAIN)
    objective = cs.Objective(model, CHAIN, cs.Log(), [a.numpy() for a in y], 0.0)
    unary, pairwise = module(inputs)
    value = StructuredLoss(CHAIN)(unary, y, pairwise=pairwise)
    value.backward()
    evaluation = objective.evaluate(model.start())
    assert value.item() == pytest.approx(evaluation.smoothed, abs=1e-12)
    gradient = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
    np.testing.assert_allclose(gradient, evaluation.gradient, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_lower_precision_keeps_its_dtype(dtype: torch.dtype) -> None:
    mask = holes()
    x = noise(5, T, LABELS, dtype=dtype, grad=True)
    pairwise = noise(LABELS, LABELS, seed=1, dtype=dtype, grad=True)
    y, loss = integers(LABELS, 5, T), StructuredLoss(CHAIN)
    value = loss(x, y, mask, pairwise=pairwise)
    value.backward()
    assert value.dtype == torch.float32
    assert x.grad.dtype == pairwise.grad.dtype == dtype
    precise = [t.detach().double().requires_grad_() for t in (x, pairwise)]
    loss(precise[0], y, mask, pairwise=precise[1]).backward()
    torch.testing.assert_close(x.grad.double(), precise[0].grad, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(pairwise.grad.double(), precise[1].grad, atol=1e-2, rtol=1e-2)
    assert loss.marginals(x, mask).unary.dtype == dtype


def test_reductions_and_examples_without_targets() -> None:
    x, y = noise(4, T, LABELS, grad=True), integers(LABELS, 4, T)
    y[2] = -100
    y[3, 4:] = -100
    losses = StructuredLoss(CHAIN, reduction="none")(x, y)
    assert losses[2] == 0.0
    assert StructuredLoss(CHAIN)(x, y).item() == pytest.approx(losses.sum().item() / 3)
    assert StructuredLoss(CHAIN, reduction="sum")(x, y).item() == pytest.approx(losses.sum().item())
    assert StructuredLoss(CHAIN, reduction="token_mean")(x, y).item() == pytest.approx(losses.sum().item() / 16)
    kept = StructuredLoss(CHAIN)(x[[0, 1, 3]], y[[0, 1, 3]])
    assert StructuredLoss(CHAIN)(x, y).item() == pytest.approx(kept.item())
    for pairwise in (noise(LABELS, LABELS, grad=True), noise(4, T - 1, LABELS, LABELS, grad=True)):
        start = noise(LABELS, grad=True)
        nothing = StructuredLoss(CHAIN)(x, torch.full_like(y, -100), pairwise=pairwise, start=start)
        nothing.backward()
        assert nothing == 0.0
        assert all((tensor.grad == 0.0).all() for tensor in (x, pairwise, start))


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@pytest.mark.parametrize("structure", [CHAIN, cs.Tree([[-1]] * 2, LABELS)], ids=["chain", "tree"])
def test_examples_of_one_position_have_no_edges(smoothing: Any, structure: Any) -> None:
    x, pairwise = noise(2, 1, LABELS, grad=True), noise(LABELS, LABELS, grad=True)
    y = torch.tensor([[0], [2]])
    StructuredLoss(structure, None, smoothing)(x, y, pairwise=pairwise).backward()
    assert (pairwise.grad == 0.0).all()
    torch.testing.assert_close(x.grad.sum(-1), torch.zeros(2, 1, dtype=torch.float64), atol=1e-12, rtol=0.0)


def test_own_edges_of_examples_without_targets_are_left_out_too() -> None:
    x, y, own = noise(3, T, LABELS), integers(LABELS, 3, T), noise(3, T - 1, LABELS, LABELS, grad=True)
    y[1] = -100
    loss = StructuredLoss(CHAIN, reduction="none")
    losses = loss(x, y, pairwise=own)
    losses.sum().backward()
    torch.testing.assert_close(losses[[0, 2]], loss(x[[0, 2]], y[[0, 2]], pairwise=own[[0, 2]]))
    assert (own.grad[1] == 0.0).all()
    forest = StructuredLoss(cs.Tree([[-1, 0]] * 3, LABELS), reduction="none")
    y = integers(LABELS, 3, 2)
    y[0] = -100
    assert forest(noise(3, 2, LABELS), y, pairwise=noise(3, 2, LABELS, LABELS))[0] == 0.0


def test_decode_topk_and_marginals_are_those_of_the_chain() -> None:
    x, pairwise, mask = noise(5, T, LABELS, grad=True), noise(LABELS, LABELS, seed=1), holes()
    s = CHAIN.scores([x[i][mask[i]].detach().numpy() for i in range(5)], pairwise.numpy())
    loss = StructuredLoss(CHAIN, cs.Hamming(), mu=0.5)
    decoded = loss.decode(x, mask, pairwise=pairwise)
    assert decoded.dtype == torch.int64
    np.testing.assert_array_equal(decoded[mask], np.concatenate(CHAIN.max(s).outputs))
    assert (decoded[~mask] == -100).all()
    top, wanted = loss.topk(x, 5, mask, pairwise=pairwise), CHAIN.topk(s, 5)
    np.testing.assert_allclose(top.value, wanted.value, atol=1e-12)
    for i, y in enumerate(wanted.outputs):
        np.testing.assert_array_equal(top.outputs[i, : len(y)][:, mask[i]], y)
        assert (top.outputs[i, len(y) :] == -100).all()
    soft = CHAIN.expect(s, 0.5).marginals
    found = loss.marginals(x, mask, pairwise=pairwise, smoothing=cs.Entropy())
    np.testing.assert_allclose(found.unary[mask].detach(), soft.nodes, atol=1e-12)
    for i, rows in enumerate(rows_of_edges(mask)):
        np.testing.assert_allclose(found.pairwise[i, rows].detach(), soft.pairwise(i), atol=1e-12)
    assert found.pairwise.sum().item() == pytest.approx(mask.sum().item() - 5)
    best = loss.marginals(x, mask, pairwise=pairwise)  # Hard: the parts of the best output
    np.testing.assert_array_equal(best.unary.argmax(-1)[mask], decoded[mask])
    lists = loss.topk([x[0][mask[0]], x[1][mask[1]]], 5, pairwise=pairwise)
    assert [tuple(y.shape) for y in lists.outputs] == [(5, 4), (3, 1)]


def test_scores_are_not_changed_and_gradients_do_not_follow_later_changes() -> None:
    x, start, y = noise(2, T, LABELS, grad=True), noise(LABELS), integers(LABELS, 2, T)
    before = x.detach().clone()
    value = StructuredLoss(CHAIN)(x, y, start=start)
    torch.testing.assert_close(x.detach(), before)
    wanted = torch.autograd.grad(value, x, retain_graph=True)[0]
    with torch.no_grad():
        x += 1.0
    torch.testing.assert_close(torch.autograd.grad(value, x)[0], wanted)


def test_tensors_that_need_no_gradient_get_none_and_views_work() -> None:
    x = noise(T, 2, LABELS, grad=True)
    pairwise, y = noise(LABELS, LABELS), integers(LABELS, 2, T)
    StructuredLoss(CHAIN)(x.transpose(0, 1), y, pairwise=pairwise).backward()
    assert x.grad is not None
    assert pairwise.grad is None
    frozen = noise(2, T, LABELS)
    moved = pairwise.clone().requires_grad_()
    StructuredLoss(CHAIN)(frozen, y, pairwise=moved).backward()
    assert moved.grad is not None
    assert not StructuredLoss(CHAIN)(frozen, y).requires_grad


def test_a_second_derivative_is_refused_with_a_reason() -> None:
    x, y = noise(2, T, LABELS, grad=True), integers(LABELS, 2, T)
    value = StructuredLoss(CHAIN)(x, y) + (x**3).sum()
    (first,) = torch.autograd.grad(value, x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(first.sum(), x)


@pytest.mark.filterwarnings("ignore")  # torch.compile has warnings of its own
def test_a_compiled_step_goes_around_the_loss() -> None:
    network, loss, mask = nn.Linear(2, LABELS).double(), StructuredLoss(CHAIN), holes()
    x, y, pairwise = noise(5, T, 2), integers(LABELS, 5, T), noise(LABELS, LABELS, grad=True)

    def step(inputs: Tensor) -> Tensor:
        return 2.0 * loss(torch.tanh(network(inputs)), y, mask, pairwise=pairwise)

    wanted = torch.autograd.grad(step(x), pairwise)[0]
    compiled = torch.compile(step, backend="eager")
    torch.testing.assert_close(torch.autograd.grad(compiled(x), pairwise)[0], wanted)


def test_the_loss_is_a_module_that_can_be_shown_and_copied() -> None:
    loss = nn.Sequential(StructuredLoss(CHAIN, cs.Hamming(), cs.L2(k=5), mu=0.1))
    assert "Chain(n_labels=3), cost=Hamming(weights=None), smoothing=L2(k=5" in repr(loss)
    assert copy.deepcopy(loss)[0].mu == 0.1
    assert list(loss.parameters()) == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda f, x, y: f(x[0], y),
            ValueError,
            r"\[6, 3\]; Chain needs \[B, T, 3\]. For a single example",
        ),
        (lambda f, x, y: f(x[..., :2], y), ValueError, r"scores has shape \[2, 6, 2\]; Chain needs \[B, T, 3\]"),
        (lambda f, x, y: f(x.long(), y), TypeError, "scores has dtype torch.int64"),
        (lambda f, x, y: f(x, y[:, 1:]), ValueError, r"target has shape \[2, 5\]; the scores need \[2, 6\]"),
        (lambda f, x, y: f(x, y.double()), TypeError, "target has dtype float64; it must hold whole numbers"),
        (lambda f, x, y: f(x, y + 1), ValueError, r"target\[0, \d\] is 3; there are 0 to 2, and -100"),
        (lambda f, x, y: f(x, y - 5), ValueError, r"target\[0, 0\] is -\d; there are 0 to 2"),
        (
            lambda f, x, y: f(x, y, torch.ones(2, 5) > 0),
            ValueError,
            r"mask has shape \[2, 5\]; scores \[2, 6, 3\]",
        ),
        (lambda f, x, y: f(x, y, torch.ones(2, 6) / 2), TypeError, "mask has dtype float32; it must be bool"),
        (lambda f, x, y: f(x, y, y >= 0, lengths=[6, 6]), ValueError, "Both mask and lengths"),
        (lambda f, x, y: f(x, y, lengths=[6, 7]), ValueError, r"lengths\[1\] is 7; the scores have room for 0 to 6"),
        (lambda f, x, y: f(x * torch.nan, y), ValueError, r"scores\[0, 0, 0\] is nan. Scores must be finite"),
        (lambda f, x, y: f(x, y, pairwise=x), ValueError, r"pairwise has shape \[2, 6, 3\]; 3 labels need \[..., 3, 3"),
        (lambda f, x, y: f(x, y, pairwise=torch.zeros(2, 6, 3, 3)), ValueError, r"Chain needs \[B, T - 1, 3, 3\]"),
        (lambda f, x, y: f(x, y, pairwise=torch.full((3, 3), -torch.inf)), ValueError, r"pairwise\[0, 0\] is -inf. Sc"),
        (
            lambda f, x, y: f(x, y, start=torch.zeros(2)),
            ValueError,
            r"start is torch.float32\[2\]; it must be",
        ),
        (lambda f, x, y: f(list(x), y), ValueError, "target must be a list of 2 tensors"),
        (
            lambda f, x, y: f(list(x.numpy()), list(y)),
            TypeError,
            r"scores\[0\] is a ndarray; it must be",
        ),
        (
            lambda f, x, y: f([x[0], x[1, :, :2]], list(y)),
            ValueError,
            r"scores\[1\] has shape \[6, 2\]; Chain needs",
        ),
        (lambda f, x, y: f([], []), ValueError, "empty list"),
        (lambda f, x, y: f(x, [y[0], y[1, :3]]), ValueError, "target is ragged; the scores are one tensor"),
        (lambda f, x, y: StructuredLoss()(x, y), ValueError, "made without a structure; give the one of the batch"),
        (lambda f, x, y: f(list(x), list(y), lengths=[6, 6]), ValueError, "lengths of their own"),
        (lambda f, x, y: f(3.0, y), TypeError, "scores is a float; it must be a list"),
        (lambda f, x, y: f.topk(x, 0), ValueError, "k=0"),
    ],
)
def test_bad_batches_of_chains_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(StructuredLoss(CHAIN), noise(2, T, LABELS), integers(LABELS, 2, T))


def test_nan_is_named_in_its_place_and_masked_nan_does_not_matter() -> None:
    x, y, mask = noise(3, T, LABELS), integers(LABELS, 3, T), torch.ones(3, T, dtype=torch.bool)
    mask[1, 2] = False
    x[1, 2] = torch.nan
    assert torch.isfinite(StructuredLoss(CHAIN)(x, y, mask))
    x[2, 3, 1] = torch.inf
    with pytest.raises(ValueError, match=r"scores\[2, 3, 1\] is inf"):
        StructuredLoss(CHAIN)(x, y, mask)
    with pytest.raises(ValueError, match=r"scores\[2, 3, 1\] is inf"):
        StructuredLoss(CHAIN)(list(x), list(y), list(mask))
    own = torch.zeros(3, T - 1, LABELS, LABELS)
    own[2, 4, 1, 0] = torch.nan
    with pytest.raises(ValueError, match=r"pairwise\[2, 4, 1, 0\] is nan"):
        StructuredLoss(CHAIN)(noise(3, T, LABELS), y, mask, pairwise=own)


def test_bad_batches_of_other_structures_are_named() -> None:
    candidates, matching = StructuredLoss(cs.Candidates()), StructuredLoss(cs.Matching(), None, cs.L2())
    x, w = noise(2, 4), noise(2, 3, 4)
    with pytest.raises(ValueError, match=r"target\[1\] is 4; there are 0 to 3, and -100 for"):
        candidates(x, [0, 4])
    with pytest.raises(ValueError, match=r"target\[1\] is 2, which the mask leaves out of M"):
        candidates(x, [0, 2], torch.tensor([[1, 1, 1, 1], [1, 1, 0, 1]]))
    with pytest.raises(ValueError, match="Candidates has no pairwise scores"):
        candidates(x, [0, 1], pairwise=noise(4, 4))
    with pytest.raises(ValueError, match="start scores are for chains"):
        candidates(x, [0, 1], start=noise(4))
    with pytest.raises(ValueError, match="takes column 1 twice"):
        matching(w, [[0, 1, 1], [0, 1, 2]])
    cells = torch.ones(2, 3, 4, dtype=torch.bool)
    cells[0, 0, 0] = False
    with pytest.raises(ValueError, match="mask leaves out single cells"):
        matching(w, [[0, 1, 2], [0, 1, 2]], cells)
    cells[0, :, 0] = False
    with pytest.raises(ValueError, match=r"target\[0, 0\] is 0, which the mask leaves out of Q"):
        matching(w, [[0, 1, 2], [0, 1, 2]], cells)
    with pytest.raises(ValueError, match=r"mask leaves out the last column of \[B, P, Q \+ 1\], which a Matching"):
        StructuredLoss(cs.Matching(null=True))(w, [[0, 1, 2], [0, 1, 2]], cells.flip(2))
    with pytest.raises(cs.Intractable, match=r"Use L2\(\) or Hard\(\)"):
        StructuredLoss(cs.Matching())(w, [[0, 1, 2], [0, 1, 2]])
    with pytest.raises(ValueError, match="Example 0 has scores of 3 nodes; its tree has 2"):
        StructuredLoss(cs.Tree([[-1, 0], [-1]], 3))(noise(2, 3, 3), torch.zeros(2, 3).long())
    with pytest.raises(ValueError, match="Column 0 of example 0 is left out and a later one is not; a BoxSearch has"):
        StructuredLoss(cs.BoxSearch(), None, cs.Hard())(w, [[0, 0, 0, 0]] * 2, cells)


def test_bad_settings_are_named() -> None:
    with pytest.raises(TypeError, match="structure is the class Chain; make one"):
        StructuredLoss(cs.Chain)
    with pytest.raises(TypeError, match="smoothing is the class L2"):
        StructuredLoss(CHAIN, None, cs.L2)
    with pytest.raises(TypeError, match="cost is a str"):
        StructuredLoss(CHAIN, "hamming")
    with pytest.raises(TypeError, match="structure is a int"):
        StructuredLoss(3)
    with pytest.raises(ValueError, match="reduction='average'; it must be one of 'mean'"):
        StructuredLoss(CHAIN, reduction="average")
    with pytest.raises(ValueError, match="mu=0"):
        StructuredLoss(CHAIN, mu=0)
    with pytest.raises(TypeError, match="smoothing='l2'"):
        StructuredLoss(CHAIN, smoothing="l2")


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_targets_may_be_strided(smoothing: Any) -> None:
    loss, scores, target = StructuredLoss(CHAIN, smoothing=smoothing), noise(1, 4, LABELS), integers(LABELS, 1, 8)
    torch.testing.assert_close(loss(scores, target[:, ::2]), loss(scores, target[:, ::2].clone()))


def test_edge_marginals_of_graphs_are_lists_however_many_edges_there_are() -> None:
    scores, pairwise = noise(2, 3, LABELS), noise(LABELS, LABELS)
    for edges in ([(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)], [(0, 2)]):
        loss = StructuredLoss(cs.JunctionTree([edges] * 2, LABELS))
        found = loss.marginals(scores, pairwise=pairwise).pairwise
        assert isinstance(found, list)
        assert [list(part.shape) for part in found] == [[len(edges), LABELS, LABELS]] * 2
