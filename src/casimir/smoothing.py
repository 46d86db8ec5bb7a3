"""Smoothed max functions over any structure: value and marginals of one function (Sec. 2 of the paper).

f_mu(s) = max_{u in simplex(Y)} sum_y u_y score(y) - mu omega(u),    marginals = sum_y u_y parts(y) = grad f_mu(s)

Hard     omega = 0                      f_mu = max
L2       omega = (||u||^2 - 1) / 2      max <= f_mu <= max + mu / 2
Entropy  omega = sum_y u_y log u_y      max <= f_mu <= max + mu log |Y|
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from casimir._native import core
from casimir._validate import finite_float, positive_float, positive_int
from casimir.scores import FloatArray, IntArray, Scores, concatenate
from casimir.structures.base import Pulled, PullsTopK, Structure, indicator, pad_topk

BoolArray = npt.NDArray[np.bool_]

_FIRST_PULL = 16  # outputs asked for before the number is doubled
_CHUNK_LABELS = 2**23  # labels of pulled outputs that are kept at a time: 64 MB


@dataclass(frozen=True, eq=False, slots=True)
class Smoothed:
    """Value and gradient of the smoothed max.

    value      float64[n] = f_mu(s_i)
    marginals  Scores: the gradient, in the layout of s
    max_value  float64[n]: an upper bound of max_y score_i(y), equal to it where the oracle finished; None where the
               oracle does not give it
    exact      bool[n]: whether value and marginals are those of f_mu itself (a top-K strategy may miss some outputs,
               and so may a search that ran out of its budget)
    upper      float64[n]: an upper bound of f_mu(s_i), equal to value where that is exact; None where it is everywhere,
               or where no bound is known
    """

    value: FloatArray
    marginals: Scores
    max_value: FloatArray | None
    exact: BoolArray
    upper: FloatArray | None = None


class Smoothing(Protocol):
    """A frozen set of hyperparameters; mu is an argument, never state.

    One that has dual steps says by `dual_variables` how the u_i of a loss are kept: "outputs", by single outputs and
    their weights, or "potentials", by log-potentials u_i ~ exp(theta_i / mu). Others leave it out.
    """

    def __call__(self, structure: Structure, s: Scores, mu: float) -> Smoothed: ...

    def bound(self, log_n_outputs: float) -> float:
        """B with max <= f_mu <= max + mu B for an output set of the given log size."""
        ...


@dataclass(frozen=True)
class Hard:
    """f(s) = max_y score(y); marginals = parts(argmax). mu is not used."""

    dual_variables: ClassVar[str] = "outputs"

    def __call__(self, structure: Structure, s: Scores, mu: float = 0.0) -> Smoothed:
        _require(structure, "max", "Hard()", "Implement it.")
        best = structure.max(s)
        marginals = indicator(structure, s, best.outputs)
        if best.upper is None:
            return Smoothed(best.value, marginals, best.value, np.ones(len(s), dtype=np.bool_))
        return Smoothed(best.value, marginals, best.upper, best.upper <= best.value, best.upper)

    def bound(self, log_n_outputs: float) -> float:
        return 0.0


@dataclass(frozen=True)
class Entropy:
    """f_mu(s) = mu log sum_y exp(score(y) / mu); marginals = E[parts(y)] under p(y) ~ exp(score(y) / mu)."""

    dual_variables: ClassVar[str] = "potentials"

    def __call__(self, structure: Structure, s: Scores, mu: float) -> Smoothed:
        mu = positive_float(mu, "mu")
        _require(structure, "expect", "Entropy smoothing", "Use L2() or Hard().")
        soft = structure.expect(s, mu)
        return Smoothed(soft.value, soft.marginals, None, np.ones(len(s), dtype=np.bool_))

    def bound(self, log_n_outputs: float) -> float:
        return log_n_outputs


@dataclass(frozen=True)
class L2:
    """f_{mu,k}(s) = sum_j u_j z_j - mu/2 (||u||^2 - 1), z the k largest scores, u = proj_simplex(z / mu).

    The top-K strategy. It is exact for an example when sum_{j <= k} (z_j - z_{k+1}) >= mu
    (prop:smoothing:proj-simplex-2). Without k, outputs are pulled until that holds, so that the projection is the true
    one; after `cap` outputs it stops and warns.
    """

    k: int | None = None
    cap: int = 256

    def __post_init__(self) -> None:
        positive_int(self.cap, "cap")
        if self.k is not None:
            positive_int(self.k, "k")

    def __call__(self, structure: Structure, s: Scores, mu: float) -> Smoothed:
        mu = positive_float(mu, "mu")
        _require(structure, "topk", "L2 smoothing", "Use Hard().")
        most = self.cap if self.k is None else self.k
        chunks = list(_chunks(s, most + 1))
        if len(chunks) == 1:
            result, cut = _top_k_strategy(structure, s, mu, most)
        else:
            parts = [_top_k_strategy(structure.select(c), s.select(c), mu, most) for c in chunks]
            result, cut = _join([part for part, _ in parts]), np.concatenate([cut for _, cut in parts])
        self.warn_if_capped(result.exact | cut, mu)  # a search that was cut short speaks for itself
        return result

    def bound(self, log_n_outputs: float) -> float:
        return 0.5

    def warn_if_capped(self, exact: BoolArray, mu: float) -> None:
        """Without k, `cap` is the only reason not to be exact, and the user should know."""
        if self.k is not None or exact.all():
            return
        missed = np.flatnonzero(~exact)
        warnings.warn(
            f"L2() reached cap={self.cap} outputs for {len(missed)} of {len(exact)} examples with mu={mu:g} "
            f"(the first is {missed[0]}); it is not exact there. Use a smaller mu, a larger cap or Entropy().",
            RuntimeWarning,
            stacklevel=4,
        )


def project_simplex(z: Any) -> FloatArray:
    """argmin_u ||u - z||^2 over u >= 0, sum u = 1. z: [m], m >= 1; returns float64[m]."""
    z = finite_float(z, "z")
    if z.ndim != 1 or not len(z):
        raise ValueError(f"z has shape {list(z.shape)}; it must be [m] with m >= 1.")
    projection: FloatArray = core.project_simplex(z)
    return projection


def _top_k_strategy(structure: Structure, s: Scores, mu: float, k: int) -> tuple[Smoothed, BoolArray]:
    """The paper's top-K oracle, with the value that belongs to its gradient; output k + 1 tells whether it is exact.

    Also bool[n]: whether a search for outputs was cut short.
    """
    pulled = pull(structure, s, mu, k + 1)
    missed = np.full(len(s), -np.inf) if pulled.upper is None else pulled.upper
    cut = missed > -np.inf
    counts = np.array([len(z) for z in pulled.values], dtype=np.int64)
    value, upper, exact = np.empty(len(s)), np.empty(len(s)), np.empty(len(s), dtype=np.bool_)
    outputs: list[Any] = [None] * len(s)
    weights: list[Any] = [None] * len(s)
    for rows in _similar(counts):
        z = pad_topk(np.concatenate([pulled.values[i] for i in rows]), counts[rows], int(counts[rows].max()))
        u, value[rows] = _project_sorted(z[:, :k], mu)
        rest = np.where(cut[rows], missed[rows], z[:, -1] if z.shape[1] > k else -np.inf)
        upper[rows], settled = l2_upper(z[:, :k], rest, value[rows], mu)
        exact[rows] = np.where(cut[rows], settled, (counts[rows] <= k) | _settled(z, mu))
        for i, weight, support in zip(rows.tolist(), u, np.count_nonzero(u, axis=1).tolist(), strict=True):
            outputs[i], weights[i] = pulled.outputs[i][:support], weight[:support]
    top = np.array([z[0] for z in pulled.values], dtype=np.float64)
    bound = None if exact.all() else np.where(exact, value, upper)
    return Smoothed(value, structure.mixture(s, outputs, weights), np.maximum(top, missed), exact, bound), cut


def l2_upper(z: FloatArray, rest: FloatArray, value: FloatArray, mu: float) -> tuple[FloatArray, BoolArray]:
    """Upper bounds of f_mu = max_u sum_y u_y score(y) - mu/2 (||u||^2 - 1) from some outputs, bool: whether it is f_mu.

    z      float64[n, K]: scores of K outputs, -inf where there are fewer
    rest   float64[n]: no other output scores more than t = rest; -inf when there is none
    value  float64[n]: f_mu over the K outputs alone

    Let r = 1 - sum_j u_j be the weight of all other outputs. They add at most r t to the score, and their squares only
    take away, so

        f_mu <= max { sum_j u_j z_j + r t - mu/2 (sum_j u_j^2 - 1) : u, r >= 0, sum_j u_j + r = 1 }.

    Without r >= 0 the maximum is at u_j = d_j / mu, d_j = (z_j - t)_+, where it is t + mu/2 + sum_j d_j^2 / (2 mu). If
    sum_j d_j <= mu, then r >= 0 there and this is the bound. Else r = 0 at the maximum, by concavity: the bound is
    `value`, which f_mu is never below, so that it is f_mu.
    """
    t = np.where(np.isneginf(rest), z[:, 0], rest)  # any number will do where there is no rest
    d = np.maximum(z - t[:, None], 0.0)
    settled: BoolArray = np.isneginf(rest) | (np.cumsum(d, axis=1)[:, -1] >= mu)
    bound = np.maximum(t + 0.5 * mu + np.cumsum(d * d, axis=1)[:, -1] / (2.0 * mu), value)
    return np.where(settled, value, bound), settled


def _project_sorted(z: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
    """Row by row u = proj_simplex(z / mu) and <u, z> - mu/2 (||u||^2 - 1); z float64[n, k] sorted, -inf at the end."""
    # Entries that lie mu or more below the first get weight 0, wherever they are.
    d = np.maximum((z - z[:, :1]) / mu, -1.0)
    rho = (1.0 - np.cumsum(d, axis=1)) / np.arange(1, z.shape[1] + 1)
    support = np.count_nonzero(d + rho > 0.0, axis=1)
    threshold = np.take_along_axis(rho, support[:, None] - 1, axis=1)
    u = np.where(np.arange(z.shape[1]) < support[:, None], np.maximum(d + threshold, 0.0), 0.0)
    # Added up in order, so that a value does not depend on the padding, that is on the rest of the batch.
    terms = np.cumsum(u * (d - 0.5 * u), axis=1)
    return u, z[:, 0] + mu * (terms[:, -1] + 0.5)


def _settled(z: FloatArray, mu: float) -> BoolArray:
    """Whether sum_{i <= K} (z_i - z_{K+1}) >= mu for rows of K + 1 entries; -inf stands for outputs that ran out."""
    ran_out = np.isneginf(z[:, -1])
    last = np.where(ran_out, 0.0, z[:, -1])
    settled: BoolArray = ran_out | (np.sum(z[:, :-1] - last[:, None], axis=1) >= mu)
    return settled


def pull(structure: Structure, s: Scores, mu: float, limit: int) -> Pulled:
    """At most `limit` outputs per example, fewer where the projection of z / mu is known to need no more."""
    if isinstance(structure, PullsTopK):
        return structure.topk_until(s, limit, mu)
    values: list[Any] = [None] * len(s)
    outputs: list[Any] = [None] * len(s)
    upper = np.full(len(s), -np.inf)
    open_, k = np.arange(len(s)), min(_FIRST_PULL, limit)
    while True:
        top = structure.select(open_).topk(s.select(open_), k) if len(open_) < len(s) else structure.topk(s, k)
        for i, value, output in zip(open_.tolist(), top.value, top.outputs, strict=True):
            values[i], outputs[i] = value[: len(output)], output
        upper[open_] = -np.inf if top.upper is None else top.upper
        open_ = open_[~_settled(top.value, mu)]
        if not len(open_) or k == limit:
            return Pulled(values, outputs, upper)
        k = min(2 * k, limit)


def _similar(counts: IntArray) -> Iterator[IntArray]:
    """Examples grouped so that padding at most doubles a group."""
    size = np.ceil(np.log2(counts)).astype(np.int64)
    for group in np.unique(size):
        yield np.flatnonzero(size == group)


def _chunks(s: Scores, k: int) -> Iterator[IntArray]:
    """Examples one after another, cut so that k outputs for each of them fit in memory; one chunk at least."""
    cost = np.cumsum(np.diff(s.offsets)) * min(k, _CHUNK_LABELS) // _CHUNK_LABELS
    yield from np.split(np.arange(len(s)), np.flatnonzero(np.diff(cost)) + 1)


def _join(parts: list[Smoothed]) -> Smoothed:
    return Smoothed(
        np.concatenate([p.value for p in parts]),
        concatenate([p.marginals for p in parts]),
        np.concatenate([p.max_value for p in parts if p.max_value is not None]),
        np.concatenate([p.exact for p in parts]),
        None if all(p.upper is None for p in parts) else np.concatenate([_upper(p) for p in parts]),
    )


def _upper(part: Smoothed) -> FloatArray:
    return part.value if part.upper is None else part.upper


def _require(structure: Structure, oracle: str, smoothing: str, instead: str) -> None:
    if not callable(getattr(structure, oracle, None)):
        name = type(structure).__name__
        raise TypeError(f"{smoothing} needs Structure.{oracle}, which {name} does not have. {instead}")
