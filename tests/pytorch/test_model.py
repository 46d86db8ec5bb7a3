"""TorchModel: scores, products by Jacobians and training, against finite differences and linear models."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pytorch.modules import LABELS, LENGTHS, ChainNet, ListOf, LSTMNet, RowNet, matrices, tree, vectors, words  # noqa: E402
from torch import nn  # noqa: E402

import casimir as cs  # noqa: E402
from casimir.models.base import is_linear  # noqa: E402
from casimir.scores import Scores  # noqa: E402
from casimir.torch import TorchModel, load_vector, to_vector  # noqa: E402


def model_of(kind: str, dtype: torch.dtype = torch.float64, **options: object) -> TorchModel:
    torch.manual_seed(0)
    make = {
        "chain": lambda: (ChainNet(), vectors(dtype), cs.Chain(LABELS)),
        "chain with own edges": lambda: (ChainNet(own_edges=True), vectors(dtype), cs.Chain(LABELS)),
        "tree": lambda: (ChainNet(), vectors(dtype), tree()),
        "tree with own edges": lambda: (ChainNet(own_edges=True, edges_per_node=0), vectors(dtype), tree()),
        "matching": lambda: (ListOf(RowNet()), matrices(dtype), cs.Matching()),
        "candidates": lambda: (ListOf(RowNet()), vectors(dtype), cs.Candidates()),
    }
    if kind == "candidates by rows":
        return TorchModel(RowNet().to(dtype), vectors(dtype), cs.Candidates(), rowwise=True, **options)
    if kind.startswith("lstm"):
        module = LSTMNet(packed="packed" in kind).to(dtype)
        return TorchModel(module, words(), cs.Chain(LABELS), lengths=LENGTHS, **options)
    module, inputs, structure = make[kind]()
    return TorchModel(module.to(dtype), inputs, structure, **options)


KINDS = [
    "chain",
    "chain with own edges",
    "tree",
    "tree with own edges",
    "matching",
    "candidates",
    "candidates by rows",
    "lstm",
    "lstm, packed",
]
EXAMPLES = [None, [2], [3, 0, 4], []]


def noise_like(s: Scores, seed: int = 0) -> Scores:
    rng = np.random.default_rng(seed)
    edges = None if s.edges is None else rng.normal(size=s.edges.shape)
    return Scores(rng.normal(size=s.nodes.shape), s.offsets, edges, s.edge_offsets, s.shapes)


@pytest.mark.parametrize("batch_size", [2, 64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("examples", EXAMPLES, ids=str)
def test_products_agree_with_finite_differences_and_each_other(kind: str, examples: object, batch_size: int) -> None:
    model = model_of(kind, batch_size=batch_size)
    rng = np.random.default_rng(0)
    w, dw = model.start(), rng.normal(size=model.n_params)
    around = model.linearize(w, examples)
    np.testing.assert_allclose(around.scores.nodes, model.scores(w, examples).nodes, atol=1e-12)
    step = around.forward(dw)
    eps = 1e-6
    difference = (model.scores(w + eps * dw, examples) - model.scores(w - eps * dw, examples)) * (0.5 / eps)
    np.testing.assert_allclose(step.nodes, difference.nodes, atol=1e-7)
    if difference.edges is not None:
        np.testing.assert_allclose(step.edges, difference.edges, atol=1e-7)
    m = noise_like(around.scores)
    assert step.dot(m).sum() == pytest.approx(dw @ around.adjoint(m), abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_sub_batches_give_the_same_scores(kind: str) -> None:
    model, small = model_of(kind), model_of(kind, batch_size=2)
    s, t = model.scores(model.start()), small.scores(model.start())
    np.testing.assert_allclose(s.nodes, t.nodes, atol=1e-12)
    some = model.scores(model.start(), [4, 1])
    np.testing.assert_allclose(some.nodes, s.select([4, 1]).nodes, atol=1e-12)


@pytest.mark.parametrize("kind", ["chain", "tree", "lstm, packed"])
def test_marginals_without_edges_count_as_zero_there(kind: str) -> None:
    model = model_of(kind)
    around = model.linearize(model.start())
    m = noise_like(around.scores)
    assert m.edges is not None
    zero = Scores(m.nodes, m.offsets, np.zeros_like(m.edges), m.edge_offsets)
    np.testing.assert_allclose(around.adjoint(Scores(m.nodes, m.offsets)), around.adjoint(zero), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", ["candidates", "candidates by rows"])
def test_jacobian_has_the_gradient_of_every_score_as_rows(kind: str, dtype: torch.dtype) -> None:
    model = model_of(kind, dtype)
    w = model.start()
    for examples in ([3, 0], None, []):
        rows = model.jacobian(w, examples)
        assert rows.dtype == (np.float32 if dtype == torch.float32 else np.float64)
        around = model.linearize(w, examples)
        assert rows.shape == (len(around.scores.nodes), model.n_params)
        dw = np.random.default_rng(0).normal(size=model.n_params)
        np.testing.assert_allclose(rows @ dw, around.forward(dw).nodes, atol=1e-5 if dtype == torch.float32 else 1e-11)


def test_jacobian_in_small_chunks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("candidates", "candidates by rows"):
        model = model_of(kind)
        whole = model.jacobian(model.start())
        monkeypatch.setattr("casimir.torch.model.rows_within", lambda *_: 2)
        np.testing.assert_allclose(model.jacobian(model.start()), whole, atol=1e-12)
        monkeypatch.undo()


def test_only_candidates_have_a_jacobian() -> None:
    for kind in KINDS:
        assert hasattr(model_of(kind), "jacobian") == ("candidates" in kind)
    with pytest.raises(AttributeError, match="TorchModel for Chain has no jacobian"):
        model_of("chain").jacobian(np.zeros(3))


@pytest.mark.parametrize("kind", KINDS)
def test_float32_modules_give_float64_scores_close_to_the_precise_ones(kind: str) -> None:
    single, double = model_of(kind, torch.float32), model_of(kind)
    w = single.start()
    s = single.linearize(w)
    precise = double.linearize(w)
    assert s.scores.nodes.dtype == np.float64
    np.testing.assert_allclose(s.scores.nodes, precise.scores.nodes, atol=1e-5)
    m, dw = noise_like(s.scores), np.random.default_rng(0).normal(size=single.n_params)
    np.testing.assert_allclose(s.adjoint(m), precise.adjoint(m), atol=1e-4)
    np.testing.assert_allclose(s.forward(dw).nodes, precise.forward(dw).nodes, atol=1e-4)


def linear_pair() -> tuple[TorchModel, cs.LinearPartsModel]:
    """A linear module, and the same model in NumPy."""
    torch.manual_seed(0)
    module = nn.Linear(4, 1, bias=False).double()
    inputs = vectors()

    class Flat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, xs: list[torch.Tensor]) -> list[torch.Tensor]:
            return [self.inner(x)[:, 0] for x in xs]

    return TorchModel(Flat(), inputs, cs.Candidates()), cs.LinearPartsModel([x.numpy() for x in inputs])


@pytest.mark.parametrize(
    "loss",
    [cs.Hinge(cs.Hamming()), *(cs.FenchelYoung(smoothing, 0.5, cs.Hamming()) for smoothing in (cs.L2(), cs.Entropy()))],
    ids=repr,
)
def test_objective_of_a_linear_module_is_that_of_the_linear_model(loss: object) -> None:
    deep, linear = linear_pair()
    y = [np.array([p - 1]) for p in LENGTHS]
    values = [cs.Objective(model, cs.Candidates(), loss, y, 0.1).evaluate(deep.start()) for model in (deep, linear)]
    assert values[0].smoothed == pytest.approx(values[1].smoothed, abs=1e-12)
    np.testing.assert_allclose(values[0].gradient, values[1].gradient, atol=1e-12)
    assert not is_linear(deep)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_of_the_objective_agrees_with_finite_differences(kind: str) -> None:
    model = model_of(kind)
    y = (
        [np.zeros(p, dtype=np.int64) for p in LENGTHS]
        if "candidates" not in kind
        else [np.zeros(1, dtype=np.int64)] * 5
    )
    if kind == "matching":
        y = [np.arange(p) for p in LENGTHS]
    objective = cs.Objective(model, model.structure, cs.FenchelYoung(cs.L2(), 2.0, cs.Hamming()), y, 0.1)
    w, dw = model.start(), np.random.default_rng(3).normal(size=model.n_params)
    gradient = objective.evaluate(w).gradient + 0.1 * w
    eps = 1e-5
    up, down = (objective.evaluate(w + sign * eps * dw).smoothed for sign in (1, -1))
    assert gradient @ dw == pytest.approx((up - down) / (2 * eps), rel=1e-4, abs=1e-6)


def test_sgd_lowers_the_objective_of_a_module() -> None:
    model = model_of("chain")
    y = [np.arange(p) % LABELS for p in LENGTHS]
    objective = cs.Objective(model, cs.Chain(LABELS), cs.Hamming(), y, 1e-3)
    before = objective.value(model.start())
    result = cs.minimize(objective, cs.SGD(cs.Constant(0.05), averaging="none"), epochs=10, w0=model.start())
    assert result.objective < 0.7 * before


@pytest.mark.parametrize("kind", KINDS)
def test_prox_linear_lowers_the_objective_of_a_module(kind: str) -> None:
    model = model_of(kind, torch.float32)
    sizes = [1] * len(LENGTHS) if "candidates" in kind else LENGTHS
    y = [np.arange(p) if kind == "matching" else np.zeros(p, dtype=np.int64) for p in sizes]
    objective = cs.Objective(model, model.structure, cs.Hamming(), y, 1e-2)
    before = objective.value(model.start())
    solver = cs.ProxLinear(cs.DualProximal(), eta=0.1, inner_epochs=1)
    result = cs.minimize(objective, solver, epochs=1, w0=model.start())
    assert result.objective < before


def test_inputs_come_as_tensors_tuples_and_read_only_arrays() -> None:
    module = RowNet().double()
    stacked = torch.randn(6, 3, 4, dtype=torch.float64)
    models = [
        TorchModel(module, stacked, cs.Candidates()),
        TorchModel(module, list(stacked), cs.Candidates(), collate=torch.stack),
        TorchModel(
            ListOf(module), stacked.numpy(), cs.Candidates(), collate=lambda xs: [torch.as_tensor(x) for x in xs]
        ),
        TorchModel(module, stacked.numpy(), cs.Candidates(), rowwise=True),
    ]
    frozen = stacked.numpy().copy()
    frozen.flags.writeable = False
    models.append(TorchModel(module, list(frozen), cs.Candidates(), rowwise=True))

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, rows: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
            return self.inner(rows) * factor

    models.append(
        TorchModel(Weighted(), stacked, cs.Candidates(), collate=lambda xs: (torch.stack(xs), torch.ones(len(xs), 1)))
    )
    for model in models:
        np.testing.assert_allclose(
            model.scores(model.start(), [4, 1]).nodes, module(stacked[[4, 1]]).detach().flatten()
        )


def test_vector_and_module_agree_both_ways() -> None:
    torch.manual_seed(0)
    module = ChainNet()
    module.hidden.bias.requires_grad_(False)
    w = to_vector(module)
    order = ["pairwise", "hidden.weight", "unary.weight", "unary.bias"]
    parameters = dict(module.named_parameters())
    np.testing.assert_array_equal(w, np.concatenate([parameters[n].detach().numpy().ravel() for n in order]))
    frozen = module.hidden.bias.clone()
    load_vector(module, np.arange(len(w), dtype=np.float64))
    np.testing.assert_array_equal(to_vector(module), np.arange(len(w)))
    assert torch.equal(module.hidden.bias, frozen)


def test_tied_parameters_count_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(4, 4, bias=False, dtype=torch.float64)
            self.b = nn.Linear(4, 4, bias=False, dtype=torch.float64)
            self.b.weight = self.a.weight

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.b(torch.tanh(self.a(rows))).sum(-1)

    model = TorchModel(Tied(), vectors(), cs.Candidates(), rowwise=True)
    assert model.n_params == 16
    w, dw = model.start(), np.random.default_rng(0).normal(size=16)
    difference = (model.scores(w + 1e-6 * dw).nodes - model.scores(w - 1e-6 * dw).nodes) / 2e-6
    np.testing.assert_allclose(model.linearize(w).forward(dw).nodes, difference, atol=1e-7)
    np.testing.assert_allclose(model.jacobian(w) @ dw, difference, atol=1e-7)


def test_the_module_runs_without_dropout_and_stays_as_it_was() -> None:
    model = model_of("chain")
    model.module.train()
    before = to_vector(model.module)
    w = before + 1.0
    first = model.scores(w)
    np.testing.assert_array_equal(model.scores(w).nodes, first.nodes)
    model.linearize(w).adjoint(first)
    assert model.module.training
    assert model.module.dropout.training
    np.testing.assert_array_equal(to_vector(model.module), before)
    assert all(p.grad is None for p in model.module.parameters())


def test_a_linearization_does_not_follow_later_changes_of_w() -> None:
    model = model_of("lstm", batch_size=2)
    w = model.start()
    around, dw = model.linearize(w), np.ones(model.n_params)
    before = around.forward(dw)
    w += 1.0
    np.testing.assert_array_equal(around.forward(dw).nodes, before.nodes)


class Cubed(torch.autograd.Function):
    """x^3 with a first derivative only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


def test_a_module_without_second_derivatives_has_gradients_and_says_why_no_more() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, dtype=torch.float64))

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return Cubed.apply(rows @ self.weight)

    model = TorchModel(Net(), vectors(), cs.Candidates(), rowwise=True)
    around = model.linearize(model.start())
    features = torch.cat(vectors()).numpy()
    m = noise_like(around.scores)
    np.testing.assert_allclose(around.adjoint(m), (m.nodes * 3 * features.sum(axis=1) ** 2) @ features, atol=1e-9)
    with pytest.raises(NotImplementedError, match="neither a forward derivative nor a second backward"):
        around.forward(np.ones(4))
    with pytest.raises(NotImplementedError, match="without rowwise"):
        model.jacobian(model.start())


def test_parameters_that_scores_do_not_use_have_zero_gradients() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used = nn.Linear(4, 1)
            self.unused = nn.Linear(2, 2)

        def forward(self, xs: list[torch.Tensor]) -> list[torch.Tensor]:
            return [self.used(x)[:, 0] for x in xs]

    model = TorchModel(Net(), vectors(torch.float32), cs.Candidates())
    around = model.linearize(model.start())
    assert (around.adjoint(noise_like(around.scores))[5:] == 0.0).all()
    assert (model.jacobian(model.start())[:, 5:] == 0.0).all()
    np.testing.assert_array_equal(around.forward(np.r_[np.zeros(5), np.ones(6)]).nodes, 0.0)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda w: w, "for a Chain it must return the pair"),
        (lambda w: ([w.expand(p, 4) for p in LENGTHS], torch.zeros(3, 3)), r"unary\[0\] has shape \[4, 4\]"),
        (lambda w: ([w.expand(p, 3) for p in LENGTHS[1:]], torch.zeros(3, 3)), "4 examples for 5 inputs"),
        (lambda w: ([w.expand(p, 3) * np.nan for p in LENGTHS], torch.zeros(3, 3)), "has nan at index"),
        (lambda w: ([np.zeros((p, 3)) for p in LENGTHS], torch.zeros(3, 3)), "unary.0. as a ndarray; it must be a ten"),
        (lambda w: (w, torch.zeros(3, 3)), "must be a list with one tensor per example"),
    ],
)
def test_output_that_is_no_score_is_named(returned: object, message: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, xs: object) -> object:
            return returned(self.weight)

    model = TorchModel(Net(), vectors(), cs.Chain(3))
    with pytest.raises((ValueError, TypeError), match=message):
        model.scores(model.start())


def test_bad_arguments_are_named() -> None:
    module = ChainNet()
    with pytest.raises(TypeError, match="module is a function"):
        TorchModel(lambda x: x, vectors(), cs.Chain(3))
    with pytest.raises(ValueError, match="nothing to train"):
        TorchModel(nn.ReLU(), vectors(), cs.Chain(3))
    with pytest.raises(TypeError, match="structure is a int"):
        TorchModel(module, vectors(), 3)
    with pytest.raises(ValueError, match="Chain has edges"):
        TorchModel(module, vectors(), cs.Chain(3), rowwise=True)
    with pytest.raises(ValueError, match="5 whole numbers"):
        TorchModel(module, vectors(), cs.Chain(3), lengths=[1, 2])
    with pytest.raises(ValueError, match="leave collate and lengths out"):
        TorchModel(RowNet(), vectors(), cs.Candidates(), rowwise=True, lengths=LENGTHS)
    with pytest.raises(ValueError, match=r"got float64\[3\]; they need a float64\[52\]"):
        TorchModel(module, vectors(), cs.Chain(3)).scores(np.zeros(3))
    with pytest.raises(ValueError, match=r"need a float64\[52\]"):
        load_vector(module, np.zeros(3))
    around = TorchModel(module, vectors(torch.float32), cs.Chain(3)).linearize(to_vector(module))
    with pytest.raises(ValueError, match="of 2 examples with nodes"):
        around.adjoint(around.scores.select([0, 1]))


@pytest.mark.parametrize("rowwise", [True, False])
def test_modules_in_half_precision_have_scores_and_jacobians(rowwise: bool) -> None:
    torch.manual_seed(0)
    module, inputs = RowNet().to(torch.bfloat16), vectors(torch.bfloat16)
    model = TorchModel(module if rowwise else ListOf(module), inputs, cs.Candidates(), rowwise=rowwise)
    precise = TorchModel(copy.deepcopy(module).double(), vectors(), cs.Candidates(), rowwise=True)
    w = model.start()
    assert model.jacobian(w).dtype == np.float32
    np.testing.assert_allclose(model.scores(w).nodes, precise.scores(w).nodes, atol=0.05)
    np.testing.assert_allclose(model.jacobian(w), precise.jacobian(w), atol=0.05)
