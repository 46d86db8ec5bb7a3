"""Marginals are differentiable: exact gradients through them, and an error where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pytorch.modules import LABELS, LENGTHS, tree  # noqa: E402
from pytorch.test_loss import CHAIN, T, holes, integers, noise, unary_parts  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.autograd import gradcheck  # noqa: E402

import casimir as cs  # noqa: E402
from casimir.torch import Marginals, StructuredLoss  # noqa: E402


def flat(found: Marginals) -> Tensor:
    """All marginals as one vector, those that the scores do not reach included."""
    parts = [found.unary] if isinstance(found.unary, Tensor) else list(found.unary)
    if found.pairwise is not None:
        parts += [found.pairwise] if isinstance(found.pairwise, Tensor) else list(found.pairwise)
    return torch.cat([part.reshape(-1) for part in parts])


@pytest.mark.parametrize("smoothing", [cs.Entropy(), cs.L2(), cs.L2(k=3)], ids=repr)
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_gradcheck_of_padded_labels_with_holes(smoothing: Any, own: bool, kind: str) -> None:
    mask, chain = holes(), kind == "chain"
    unary = noise(*mask.shape, LABELS, grad=True)
    shape = (len(LENGTHS), T - chain, LABELS, LABELS) if own else (LABELS, LABELS)
    pairwise = noise(*shape, seed=1, grad=True)
    ends = [noise(LABELS, seed=2, grad=True), noise(LABELS, seed=3, grad=True)] if chain else [None, None]
    loss = StructuredLoss(CHAIN if chain else tree(), smoothing=smoothing, mu=1.5)

    def f(*x: Tensor | None) -> Tensor:
        return flat(loss.marginals(x[0], mask, pairwise=x[1], start=x[2], stop=x[3]))

    assert gradcheck(f, (unary, pairwise, *ends), fast_mode=own)  # of many scores, in random directions


@pytest.mark.parametrize("smoothing", [cs.Entropy(), cs.L2()], ids=repr)
def test_gradcheck_of_lengths_lists_and_scores_without_pairs(smoothing: Any) -> None:
    loss = StructuredLoss(CHAIN, smoothing=smoothing)
    parts = tuple(part.requires_grad_() for part in unary_parts())
    own = tuple(noise(p - 1, LABELS, LABELS, seed=p, grad=True) for p in LENGTHS)
    n = len(parts)
    assert gradcheck(lambda *x: flat(loss.marginals(list(x[:n]), pairwise=list(x[n:]))), (*parts, *own))
    assert gradcheck(lambda x: flat(loss.marginals(x, lengths=LENGTHS)), (noise(len(LENGTHS), T, LABELS, grad=True),))


def test_gradcheck_of_other_structures() -> None:
    x = noise(2, 3, 4, grad=True)
    matching = StructuredLoss(cs.Matching(), cs.Hamming(), cs.L2(), mu=2.0)
    assert gradcheck(lambda x: flat(matching.marginals(x, torch.tensor([[1, 1, 0], [0, 1, 1]]))), (x,))
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 1, 0]])
    for smoothing in (cs.L2(), cs.Entropy()):
        listed = StructuredLoss(cs.Candidates(), smoothing=smoothing)
        assert gradcheck(lambda x, f=listed: flat(f.marginals(x, mask)), (noise(2, 4, grad=True),))
    spins = cs.Enumerated([[0, 0], [0, 1], [1, 0], [1, 1]], parts=lambda y: [y[0], y[1], y[0] == y[1]])
    assert gradcheck(lambda x: flat(StructuredLoss(spins).marginals(x)), (noise(2, 3, grad=True),))
    boxes = StructuredLoss(cs.BoxSearch(), None, cs.L2(), mu=2.0)
    assert gradcheck(lambda x: flat(boxes.marginals(x)), (noise(2, 2, 3, grad=True),))


def test_the_gradient_of_an_entropy_of_marginals_is_that_of_the_chain_rule() -> None:
    """Without pairs marginals are a softmax, whose entropy torch can differentiate."""
    scores = noise(3, T, LABELS, grad=True)
    ours = torch.special.entr(StructuredLoss(CHAIN).marginals(scores).unary).sum()
    theirs = torch.special.entr(scores.softmax(-1)).sum()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(torch.autograd.grad(ours, scores), torch.autograd.grad(theirs, scores))


@pytest.mark.parametrize("smoothing", [cs.Entropy(), cs.L2()], ids=repr)
def test_an_entropy_has_a_gradient_where_parts_have_no_probability(smoothing: Any) -> None:
    """Its slope at p = 0 is infinite, but p does not move there."""
    scores, pairwise = noise(2, 4, LABELS, grad=True), noise(LABELS, LABELS, seed=1)
    pairwise[0, 1] = -1e6
    loss = StructuredLoss(CHAIN, smoothing=smoothing)

    def entropy(x: Tensor) -> Tensor:
        found = loss.marginals(x, pairwise=pairwise)
        return torch.special.entr(found.pairwise).sum() + torch.special.entr(found.unary).sum()

    assert (loss.marginals(scores, pairwise=pairwise).pairwise == 0).any()
    (gradient,) = torch.autograd.grad(entropy(scores), scores)
    direction, step = noise(2, 4, LABELS, seed=2), 1e-5
    with torch.no_grad():
        slope = (entropy(scores + step * direction) - entropy(scores - step * direction)) / (2 * step)
    assert (gradient * direction).sum().item() == pytest.approx(slope.item(), rel=1e-6)
    assert slope.abs() > 0.01


@pytest.mark.parametrize("smoothing", [cs.Entropy(), cs.L2()], ids=repr)
def test_a_batch_of_none_and_chains_of_one_have_gradients(smoothing: Any) -> None:
    loss = StructuredLoss(CHAIN, smoothing=smoothing)
    for shape in ((0, T, LABELS), (2, 1, LABELS)):
        scores, pairwise = noise(*shape, grad=True), noise(LABELS, LABELS, seed=1, grad=True)
        flat(loss.marginals(scores, pairwise=pairwise)).square().sum().backward()
        assert scores.grad.shape == shape
        assert (pairwise.grad == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("smoothing", [cs.Entropy(), cs.L2(), cs.Hard()], ids=repr)
def test_values_and_types_do_not_depend_on_gradients(dtype: Any, smoothing: Any) -> None:
    loss, mask = StructuredLoss(CHAIN, smoothing=smoothing), holes()
    scores, pairwise = noise(*mask.shape, LABELS, dtype=dtype), noise(LABELS, LABELS, seed=1, dtype=dtype)
    plain = loss.marginals(scores, mask, pairwise=pairwise)
    tracked = loss.marginals(scores.requires_grad_(), mask, pairwise=pairwise)
    with torch.no_grad():
        untracked = loss.marginals(scores, mask, pairwise=pairwise)
    for a, b, c in zip(plain, tracked, untracked, strict=True):
        assert a.dtype == b.dtype == dtype
        assert b.requires_grad
        assert not c.requires_grad
        torch.testing.assert_close(a, b.detach(), rtol=0, atol=0)
        torch.testing.assert_close(a, c, rtol=0, atol=0)
    if not isinstance(smoothing, cs.Hard):
        (tracked.unary**2).sum().backward()
        assert scores.grad.dtype == dtype
        assert (scores.grad[~mask] == 0).all()
        assert scores.grad.isfinite().all()


@pytest.mark.parametrize("kind", ["hard", "graph"])
def test_a_backward_without_a_derivative_is_an_error_and_detached_values_are_not(kind: str) -> None:
    y = integers(2, 2, 3)
    if kind == "hard":
        loss, message = StructuredLoss(cs.Chain(2), cs.Hamming()), r"Hard\(\) have no derivative.*detach"
    else:
        graph = cs.JunctionTree([[[0, 1], [1, 2], [2, 0]]] * 2, 2)
        loss, message = StructuredLoss(graph), r"JunctionTree cannot be differentiated yet.*detach"
    scores, pairwise = noise(2, 3, 2, grad=True), noise(2, 2, seed=1, grad=True)
    given: Any = scores if kind == "hard" else list(scores)
    found = flat(loss.marginals(given, pairwise=pairwise))
    with pytest.raises(RuntimeError, match=message):
        found.sum().backward()
    target: Any = y if kind == "hard" else list(y)
    value = loss(given, target, pairwise=pairwise) + (found.detach() ** 2).sum()
    value.backward()
    assert scores.grad is not None
    assert loss.decode(given, pairwise=pairwise) is not None
    assert loss.topk(given, 2, pairwise=pairwise).value.shape == (2, 2)


def test_marginals_may_be_changed_in_place_before_a_backward() -> None:
    scores = noise(2, T, LABELS, grad=True)
    loss = StructuredLoss(CHAIN)
    (wanted,) = torch.autograd.grad(loss.marginals(scores).unary.square().sum(), scores)
    unary = loss.marginals(scores).unary
    value = unary.clone().square().sum()
    unary.mul_(0.0)
    torch.testing.assert_close(torch.autograd.grad(value, scores)[0], wanted)


def test_a_second_derivative_of_marginals_is_an_error() -> None:
    scores = noise(2, T, LABELS, grad=True)
    (gradient,) = torch.autograd.grad(
        StructuredLoss(CHAIN).marginals(scores).unary.square().sum(), scores, create_graph=True
    )
    with pytest.raises(RuntimeError, match="only first ones"):
        gradient.sum().backward()


def test_training_through_marginals_lowers_their_entropy() -> None:
    scores = noise(2, T, LABELS, grad=True)
    pairwise = noise(LABELS, LABELS, seed=1, grad=True)
    loss, optimizer, values = StructuredLoss(CHAIN), torch.optim.SGD([scores, pairwise], lr=1.0), []
    for _ in range(10):
        optimizer.zero_grad()
        value = torch.special.entr(loss.marginals(scores, pairwise=pairwise).pairwise).sum()
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert np.all(np.diff(values) < 0)
