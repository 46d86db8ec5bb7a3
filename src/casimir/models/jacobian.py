"""The linear model J v of a non-linear one around fixed weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir.models.base import Linearization, LinearModel, ScoreModel, batches, is_linear, linearize
from casimir.models.linear_candidates import FeatureArray, LinearCandidateModel
from casimir.scores import FloatArray, IntArray, Scores

_LARGEST = 4 << 30  # bytes of Jacobians that are stored without being asked to


class JacobianProducts:
    """scores_i = J_i v, J_i = grad g_i(w): every product is made anew from the model, and nothing is stored.

    The last linearization is kept, since a stochastic step asks for both products of the same example.
    """

    def __init__(self, model: ScoreModel, w: FloatArray) -> None:
        self._model, self._w = model, w
        self._last: tuple[Any, Linearization] | None = None

    @property
    def n_examples(self) -> int:
        return self._model.n_examples

    @property
    def n_params(self) -> int:
        return self._model.n_params

    @property
    def batch_size(self) -> int | None:
        return getattr(self._model, "batch_size", None)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        return self._around(examples).forward(w)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        return self._around(examples).adjoint(marginals)

    def _around(self, examples: Any) -> Linearization:
        if self._last is None or not _same(self._last[0], examples):
            self._last = None  # so that two are never held at a time
            self._last = examples, linearize(self._model, self._w, examples)
        return self._last[1]


def linear_model(
    model: ScoreModel, w: FloatArray, at: Scores, jacobian: str = "auto", out: FeatureArray | None = None
) -> LinearModel:
    """scores_i = J_i v around w, where all scores are `at`; a linear model is its own.

    jacobian  "stored": the rows of J as features of candidates, on which fused native epochs run;
              "products": nothing is stored;
              "auto": stored where the model has `jacobian` for scores [N] of candidates, and it takes at most 4 GiB in
              float32
    out       rows of an earlier Jacobian, which are overwritten where they have the right form: it takes longer to get
              gigabytes of fresh memory than to fill them
    """
    if jacobian not in ("auto", "stored", "products"):
        raise ValueError(f"jacobian={jacobian!r}; it must be 'auto', 'stored' or 'products'.")
    if is_linear(model):
        return model  # type: ignore[return-value]
    has_rows = hasattr(model, "jacobian")
    is_plain = at.nodes.ndim == 1 and at.shapes is None and at.whole is None
    if jacobian == "stored" and not has_rows:
        raise TypeError(f"jacobian='stored' needs {type(model).__name__}.jacobian, which it does not have.")
    if jacobian == "stored" and not is_plain:
        raise TypeError(
            f"jacobian='stored' is for scores of candidates; those of {type(model).__name__} have more than one "
            "number per row, or form matrices. Use 'products'."
        )
    fits = has_rows and is_plain and 4 * len(at.nodes) * model.n_params <= _LARGEST
    if jacobian == "stored" or (jacobian == "auto" and fits):
        return LinearCandidateModel.of_rows(_jacobian_rows(model, w, at.offsets, out), at.offsets)
    return JacobianProducts(model, w)


def _jacobian_rows(model: Any, w: FloatArray, offsets: IntArray, out: FeatureArray | None) -> FeatureArray:
    """The Jacobian [N, d] of all examples in the model's own precision.

    A model with `jacobian_dtype` writes it to its place; that of others is made batch by batch, and copied.
    """
    if hasattr(model, "jacobian_dtype"):
        made = _rows_like(out, (int(offsets[-1]), model.n_params), model.jacobian_dtype)
        model.jacobian(w, None, made)
        return made
    for chosen in batches(model):
        examples = np.arange(model.n_examples) if chosen is None else chosen
        first, last = offsets[examples[0]], offsets[examples[-1] + 1]
        part = model.jacobian(w, examples)
        if part.shape != (last - first, model.n_params):
            raise ValueError(
                f"{type(model).__name__}.jacobian gave {list(part.shape)} for {len(examples)} examples; "
                f"it must be [{last - first}, {model.n_params}]."
            )
        out = _rows_like(out, (int(offsets[-1]), model.n_params), part.dtype)
        out[first:last] = part
    assert out is not None
    return out


def _rows_like(rows: FeatureArray | None, shape: tuple[int, int], dtype: Any) -> FeatureArray:
    """The rows, where they have this form; else new ones."""
    fits = rows is not None and rows.shape == shape and rows.dtype == dtype
    made: FeatureArray = rows if fits and rows is not None else np.empty(shape, dtype=dtype)
    return made


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)
