"""StructuredLoss in ordinary training and evaluation loops: empty examples, changed settings, threads, torch.func."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

import casimir as cs  # noqa: E402
from casimir import _threads  # noqa: E402
from casimir.torch import StructuredLoss  # noqa: E402

B, T, L = 4, 5, 3


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Scores, targets and pairwise; nothing is labelled in examples 1 and 3."""
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(L, (B, T), generator=generator)
    target[1], target[3], target[0, 3:] = -100, -100, -100
    pairs = torch.randn(L, L, generator=generator, dtype=torch.float64)
    return torch.randn(B, T, L, generator=generator, dtype=torch.float64), target, pairs


def test_decoding_with_the_mask_of_the_labels() -> None:
    scores, target, pairwise = batch()
    loss, mask = StructuredLoss(cs.Chain(L)), target != -100
    found = loss.decode(scores, mask, pairwise=pairwise)
    assert found.shape == target.shape
    assert torch.equal(found == -100, ~mask)
    for i in (0, 2):
        alone = loss.decode(scores[i : i + 1], mask[i : i + 1], pairwise=pairwise)
        assert torch.equal(found[i], alone[0])
    assert not torch.equal(found[mask], torch.zeros_like(found[mask]))


def test_the_loss_with_the_mask_of_the_labels_is_that_without_empty_examples() -> None:
    scores, target, pairwise = batch()
    mask, left = target != -100, torch.tensor([0, 2])
    for reduction in ("mean", "sum", "token_mean"):
        loss = StructuredLoss(cs.Chain(L), reduction=reduction)
        x = scores.clone().requires_grad_()
        found = loss(x, target, mask, pairwise=pairwise)
        torch.testing.assert_close(found, loss(scores[left], target[left], mask[left], pairwise=pairwise))
        found.backward()
        assert not x.grad[[1, 3]].any()
        assert x.grad[[0, 2]].any()


def test_k_best_and_marginals_of_empty_examples_are_empty() -> None:
    scores, target, pairwise = batch()
    loss, mask = StructuredLoss(cs.Chain(L)), target != -100
    top = loss.topk(scores, 2, mask, pairwise=pairwise)
    assert torch.equal(top.outputs[:, 0], loss.decode(scores, mask, pairwise=pairwise))
    assert torch.isinf(top.value[[1, 3]]).all()
    assert torch.isfinite(top.value[[0, 2]]).all()
    assert (top.outputs[[1, 3]] == -100).all()
    unary = loss.marginals(scores, mask, pairwise=pairwise).unary
    torch.testing.assert_close(unary.sum(dim=2), mask.to(torch.float64))


def test_a_batch_without_any_label() -> None:
    scores, target, pairwise = batch()
    nothing = torch.zeros_like(target, dtype=torch.bool)
    loss = StructuredLoss(cs.Chain(L))
    assert float(loss(scores, torch.full_like(target, -100), pairwise=pairwise)) == 0.0
    assert float(loss(scores, target, nothing, pairwise=pairwise)) == 0.0
    assert (loss.decode(scores, nothing, pairwise=pairwise) == -100).all()
    assert (loss.topk(scores, 3, nothing, pairwise=pairwise).outputs == -100).all()


def test_lists_with_empty_examples() -> None:
    scores, target, pairwise = batch()
    loss = StructuredLoss(cs.Chain(L))
    parts = [scores[0], scores[1, :0], scores[2, :2]]
    found = loss.decode(parts, pairwise=pairwise)
    assert [len(y) for y in found] == [T, 0, 2]
    losses = loss(parts, [target[2], target[1, :0], target[2, :2]], pairwise=pairwise)
    full = loss([scores[0], scores[2, :2]], [target[2], target[2, :2]], pairwise=pairwise)
    torch.testing.assert_close(losses, full)


def test_candidates_and_matchings_of_empty_examples() -> None:
    generator = torch.Generator().manual_seed(1)
    lists = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [False] * 4, [False, True, False, False]])
    assert StructuredLoss(cs.Candidates()).decode(lists, mask).tolist() == [int(lists[0].argmax()), -100, 1]
    weights = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    rows = torch.tensor([[True] * 3, [False] * 3])
    found = StructuredLoss(cs.Matching()).decode(weights, rows)
    assert sorted(found[0].tolist()) == [0, 1, 2]
    assert found[1].tolist() == [-100] * 3


def test_a_reduction_that_does_not_exist_is_refused_when_it_is_set() -> None:
    loss = StructuredLoss(cs.Chain(L))
    with pytest.raises(ValueError, match="reduction='foo'; it must be one of 'mean', 'sum'"):
        loss.reduction = "foo"
    assert loss.reduction == "mean"
    scores, target, pairwise = batch()
    mean = loss(scores, target, pairwise=pairwise)
    loss.reduction = "sum"
    torch.testing.assert_close(loss(scores, target, pairwise=pairwise), 2 * mean)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other.reduction == "sum"


@pytest.mark.parametrize("transform", ["grad", "vmap", "jacrev"])
def test_transforms_of_torch_func_say_that_they_cannot(transform: str) -> None:
    scores, target, pairwise = batch()
    loss = StructuredLoss(cs.Chain(L))

    def value(x: Tensor) -> Any:
        return loss(x, target if transform != "vmap" else target[:1], pairwise=pairwise)

    run = getattr(torch.func, transform)(value)
    with pytest.raises(RuntimeError, match=r"torch\.func \(grad, vmap, .*\) cannot go through StructuredLoss"):
        run(scores if transform != "vmap" else scores[:, None])


def test_no_more_threads_than_torch_has(monkeypatch: pytest.MonkeyPatch, set_threads: Any) -> None:
    seen: list[int] = []

    class Watched(cs.Chain):
        def max(self, s: cs.Scores) -> Any:
            seen.append(_threads.threads_of_oracles())
            return super().max(s)

    monkeypatch.setattr(_threads, "allowed_cpus", lambda: 8)
    set_threads("8")
    scores, _, _ = batch()
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            StructuredLoss(Watched(n_labels=L)).decode(scores)
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 3]
    assert _threads.threads_of_oracles() == 8
