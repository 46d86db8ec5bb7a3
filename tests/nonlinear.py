"""Two small models that are not linear in w, with derivatives written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from problems import Parts, candidate_parts

import casimir as cs
from casimir.models import Linearization
from casimir.scores import FloatArray, Scores, offsets_of, ragged_rows


class EluCandidates:
    """score of a candidate = <elu(x w1), w2> with x float64[cells, C], w1 [C, H] and w2 [H, cells]."""

    def __init__(self, inputs: list[FloatArray], hidden: int, batch_size: int | None = None) -> None:
        self.x, self.offsets = np.concatenate(inputs), offsets_of([len(x) for x in inputs])
        self.cells, self.channels, self.hidden = *self.x.shape[1:], hidden
        self.batch_size = batch_size
        self.n_examples, self.n_params = len(inputs), hidden * (self.channels + self.cells)

    def _split(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        cut = self.channels * self.hidden
        return w[:cut].reshape(self.channels, self.hidden), w[cut:].reshape(self.hidden, self.cells)

    def _rows(self, examples: Any) -> tuple[FloatArray, Any]:
        rows, offsets = ragged_rows(
            self.offsets, np.arange(self.n_examples)[slice(None) if examples is None else examples]
        )
        return self.x[rows], offsets

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        x, offsets = self._rows(examples)
        w1, w2 = self._split(w)
        z = x @ w1
        return Scores(np.einsum("mch,hc->m", np.where(z > 0, z, np.expm1(z)), w2), offsets)

    def jacobian(self, w: FloatArray, examples: Any = None) -> FloatArray:
        x, _ = self._rows(examples)
        w1, w2 = self._split(w)
        z = x @ w1
        slope = np.where(z > 0, 1.0, np.exp(z)) * w2.T
        first = np.einsum("mcd,mch->mdh", x, slope)
        second = np.where(z > 0, z, np.expm1(z)).transpose(0, 2, 1)
        return np.ascontiguousarray(np.concatenate([first.reshape(len(x), -1), second.reshape(len(x), -1)], axis=1))

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        s, rows = self.scores(w, examples), self.jacobian(w, examples)
        return Linearization(s, lambda dw: Scores(rows @ dw, s.offsets), lambda m: m.nodes @ rows)


class TanhChain:
    """unary = tanh(x A), pairwise = sin(T), shared by all edges; w = (A, T)."""

    def __init__(self, inputs: list[FloatArray], n_labels: int, batch_size: int | None = None) -> None:
        self.x, self.offsets, self.n_labels = np.concatenate(inputs), offsets_of([len(x) for x in inputs]), n_labels
        self.batch_size = batch_size
        self.n_examples, self.n_params = len(inputs), n_labels * (self.x.shape[1] + n_labels)

    def _split(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        cut = self.x.shape[1] * self.n_labels
        return w[:cut].reshape(-1, self.n_labels), w[cut:].reshape(self.n_labels, self.n_labels)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        return self.linearize(w, examples).scores

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        chosen = np.arange(self.n_examples)[slice(None) if examples is None else examples]
        rows, offsets = ragged_rows(self.offsets, chosen)
        x, (a, t) = self.x[rows], self._split(w)
        unary, slope = np.tanh(x @ a), 1.0 - np.tanh(x @ a) ** 2

        def forward(dw: FloatArray) -> Scores:
            da, dt = self._split(dw)
            return Scores(slope * (x @ da), offsets, np.cos(t) * dt)

        def adjoint(m: Scores) -> FloatArray:
            assert m.edges is not None
            return np.concatenate([(x.T @ (slope * m.nodes)).ravel(), (np.cos(t) * m.edges.sum(axis=0)).ravel()])

        return Linearization(Scores(unary, offsets, np.sin(t)), forward, adjoint)


def elu_parts(seed: int = 0, n: int = 8, batch_size: int | None = None) -> Parts:
    """The boxes of `candidate_parts` with random inputs of 2 cells and 3 channels."""
    boxes = candidate_parts(seed, n)
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(size=(m, 2, 3)) for m in np.diff(boxes.model.offsets)]
    return Parts(EluCandidates(inputs, 2, batch_size), boxes.structure, boxes.cost, boxes.y)


def tanh_parts(seed: int = 0, n: int = 6, batch_size: int | None = None) -> Parts:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    y = [rng.integers(0, 3, p) for p in sizes]
    inputs = [rng.normal(size=(p, 4)) for p in sizes]
    return Parts(TanhChain(inputs, 3, batch_size), cs.Chain(3), cs.Hamming(), y)


def start(parts: Parts, seed: int = 0, scale: float = 0.5) -> FloatArray:
    return np.random.default_rng(seed).normal(size=parts.model.n_params) * scale
