"""The two scores of a candidate: linear in its features, and the paper's <elu(Phi * w1), w2>."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros
from casimir._validate import positive_int
from casimir.models import LinearCandidateModel
from casimir.models.base import Linearization, ScoreModel, check_marginals, check_weights, chosen_examples
from casimir.scores import FloatArray, IntArray, Scores, offsets_of

_FIRST, _SECOND = 0.02, 0.3  # deviations of the weights that training starts from

Features = npt.NDArray[Any]  # float32 or float64 [m, dim]


@dataclass(frozen=True)
class LinearScore:
    """score_j = <features_j, w>,  w float64[dim]."""

    name: ClassVar[str] = "linear"
    epochs: ClassVar[int] = 500  # the certified gap is reached long before
    dim: int

    @property
    def n_params(self) -> int:
        """The length of w."""
        return self.dim

    def values(self, w: FloatArray, features: Features) -> FloatArray:
        """float64[m]."""
        return np.asarray(features @ w, dtype=np.float64)

    def model(self, rows: Features, offsets: IntArray) -> ScoreModel:
        """rows [N, dim] of all examples one after another, not copied; example i owns offsets[i]:offsets[i + 1]."""
        return LinearCandidateModel.of_rows(rows, offsets)

    def start(self, seed: int) -> FloatArray | None:
        """Where training starts; None is 0."""
        return None


@dataclass(frozen=True)
class EluScore:
    """score_j = <elu(Phi_j w1), w2> = sum_{p,k} elu(sum_c Phi_j[p, c] w1[c, k]) w2[k, p].

    elu(x) = x for x >= 0 and exp(x) - 1 below. Phi_j [cells, channels] is the feature vector of candidate j, whose
    numbers are sorted by cell; a 1 x 1 convolution to `hidden` channels, then one weight per channel and cell.
    w float64[channels * hidden + hidden * cells] is w1 [channels, hidden], then w2 [hidden, cells], row by row.
    """

    name: ClassVar[str] = "elu"
    epochs: ClassVar[int] = 15
    cells: int
    channels: int
    hidden: int = 16

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.cells * self.channels

    @property
    def n_params(self) -> int:
        """The length of w."""
        return (self.channels + self.cells) * self.hidden

    def values(self, w: FloatArray, features: Features) -> FloatArray:
        """float64[m]."""
        return _Forward(self, w, features).scores

    def model(self, rows: Features, offsets: IntArray) -> ScoreModel:
        """As for `LinearScore`."""
        return EluCandidateModel(self, rows, offsets)

    def start(self, seed: int) -> FloatArray:
        """Small random weights: at 0 every derivative vanishes, so no method would leave it.

        Normal, with deviation 0.02 in w1 and 0.3 in w2: for features of length 1, scores that are small beside the
        costs, and a penalty (lam/2) |w|^2 that is small for lam around 1/n.
        """
        rng = np.random.default_rng(seed)
        n_first = self.channels * self.hidden
        first = rng.normal(scale=_FIRST, size=n_first)
        return np.concatenate([first, rng.normal(scale=_SECOND, size=self.n_params - n_first)])

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views w1 [channels, hidden] and w2 [hidden, cells]."""
        n_first = self.channels * self.hidden
        return w[:n_first].reshape(self.channels, self.hidden), w[n_first:].reshape(self.hidden, self.cells)


def make_score(name: str, cells: int, channels: int, hidden: int = 16) -> LinearScore | EluScore:
    """The score of that name, for features [cells, channels]."""
    if name not in SCORE_NAMES:
        raise ValueError(f"score={name!r}; it must be one of {', '.join(SCORE_NAMES)}.")
    if name == EluScore.name:
        return EluScore(cells, channels, positive_int(hidden, "hidden"))
    return LinearScore(cells * channels)


SCORE_NAMES = (LinearScore.name, EluScore.name)


class EluCandidateModel:
    """`EluScore` on the candidates of all examples. Works in the precision of the features, which are kept as they are;
    weights, scores and gradients are float64.
    """

    batch_size: ClassVar[int] = 32

    def __init__(self, score: EluScore, rows: Features, offsets: IntArray) -> None:
        """rows [N, score.dim]: example i owns offsets[i]:offsets[i + 1]."""
        if rows.ndim != 2 or rows.shape[1] != score.dim:
            raise ValueError(f"The features are {list(rows.shape)}; the score elu needs [N, {score.dim}].")
        self.score = score
        self._offsets = offsets
        self._features = np.split(rows, offsets[1:-1])  # views

    @property
    def n_examples(self) -> int:
        return len(self._features)

    @property
    def n_params(self) -> int:
        return self.score.n_params

    def zeros(self) -> FloatArray:
        """Weights to start from."""
        return aligned_zeros(self.n_params)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "EluCandidateModel")
        chosen, offsets = self._chosen(examples)
        return _joined([self.score.values(w, self._features[i]) for i in chosen], offsets)

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        check_weights(w, self.n_params, "EluCandidateModel")
        chosen, offsets = self._chosen(examples)
        passes = [_Forward(self.score, w, self._features[i]) for i in chosen]

        def forward(dw: FloatArray) -> Scores:
            check_weights(dw, self.n_params, "EluCandidateModel")
            return _joined([one.along(dw) for one in passes], offsets)

        def adjoint(marginals: Scores) -> FloatArray:
            check_marginals(marginals, (int(offsets[-1]),), offsets, "EluCandidateModel")
            total = aligned_zeros(self.n_params)
            for k, one in enumerate(passes):
                total += one.adjoint(marginals.nodes[offsets[k] : offsets[k + 1]])
            return total

        return Linearization(_joined([one.scores for one in passes], offsets), forward, adjoint)

    @property
    def jacobian_dtype(self) -> Any:
        """That of the features; it says that `jacobian` can write to a given place."""
        return self._features[0].dtype

    def jacobian(self, w: FloatArray, examples: Any = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """[N, n_params] in the precision of the features, or `out`: the gradient of every candidate's score."""
        check_weights(w, self.n_params, "EluCandidateModel")
        chosen, offsets = self._chosen(examples)
        rows = np.empty((int(offsets[-1]), self.n_params), dtype=self.jacobian_dtype) if out is None else out
        for k, i in enumerate(chosen):
            _Forward(self.score, w, self._features[i]).jacobian(rows[offsets[k] : offsets[k + 1]])
        return rows

    def _chosen(self, examples: Any) -> tuple[IntArray, IntArray]:
        chosen = chosen_examples(examples, self.n_examples)
        return chosen, offsets_of(np.diff(self._offsets)[chosen])


def _joined(values: list[FloatArray], offsets: IntArray) -> Scores:
    nodes = np.concatenate([np.zeros(0), *values])
    if not np.isfinite(nodes).all():
        raise FloatingPointError(
            "The elu score became infinite, as its weights are too large. Use smaller steps, or the default solver."
        )
    return Scores(nodes, offsets)


class _Forward:
    """One pass over the candidates of an example, with what its derivatives need.

    z = Phi w1 [m, cells, hidden];  elu(z) and its slope min(exp(z), 1)
    """

    def __init__(self, score: EluScore, w: FloatArray, features: Features) -> None:
        self._score = score
        self._phi = features.reshape(len(features), score.cells, score.channels)
        first, second = score.unpack(w.astype(features.dtype))
        self._second = np.ascontiguousarray(second.T)  # [cells, hidden]
        with np.errstate(over="ignore", invalid="ignore"):  # `_joined` raises an error that says more
            z = self._convolved(first)
            below = np.expm1(np.minimum(z, 0.0))
            self._elu, self._slope = np.maximum(z, 0.0) + below, below + 1.0

    def _convolved(self, first: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """[m, cells, hidden] = Phi w1: one product of two matrices, which is quicker than one per candidate."""
        flat: npt.NDArray[Any] = self._phi.reshape(-1, self._score.channels) @ first
        return flat.reshape(*self._phi.shape[:2], -1)

    @property
    def scores(self) -> FloatArray:
        """float64[m]."""
        return self._against(self._elu, self._second)

    def along(self, dw: FloatArray) -> FloatArray:
        """float64[m]: the derivative of the scores in the direction dw."""
        first, second = self._score.unpack(dw.astype(self._phi.dtype))
        return self._against(self._slope * self._convolved(first), self._second) + self._against(self._elu, second.T)

    def adjoint(self, m: FloatArray) -> FloatArray:
        """float64[n_params]: sum_j m_j grad score_j. Candidates without weight, which are most, cost nothing."""
        used = np.flatnonzero(m)
        m, phi = m[used].astype(self._phi.dtype), self._phi[used]
        inner = self._slope[used] * self._second * m[:, None, None]
        out = aligned_zeros(self._score.n_params)
        first, second = self._score.unpack(out)
        first[:] = phi.reshape(-1, self._score.channels).T @ inner.reshape(-1, self._score.hidden)
        second[:] = np.tensordot(m, self._elu[used], axes=1).T
        return out

    def jacobian(self, out: npt.NDArray[Any]) -> None:
        """out [m, n_params]: grad score_j as row j."""
        n_first = self._score.channels * self._score.hidden
        first = out[:, :n_first].reshape(len(out), self._score.channels, self._score.hidden)  # a view
        np.matmul(self._phi.transpose(0, 2, 1), self._slope * self._second, out=first)
        out[:, n_first:] = self._elu.transpose(0, 2, 1).reshape(len(out), -1)

    def _against(self, hidden: npt.NDArray[Any], second: npt.NDArray[Any]) -> FloatArray:
        """float64[m]: <hidden_j, second> of [m, cells, hidden] and [cells, hidden]."""
        flat = hidden.reshape(len(hidden), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(flat @ np.ascontiguousarray(second).reshape(-1), dtype=np.float64)
