"""A fitted tagger as what a model folder holds: JSON and named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.estimators.labels import Label
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.saved_solver import decode_solver, encode_solver
from casimir.features import HASH_VERSION
from casimir.persistence.arrays import decode_rows, decode_vocabulary, encode_rows, encode_vocabulary
from casimir.solvers import Result, Trace, TraceRow

if TYPE_CHECKING:  # scikit-learn takes a second to load, which predictions need not wait for
    from casimir.estimators.sequence_tagger import SequenceTagger

KIND = "sequence-tagger"


def encode_tagger(tagger: SequenceTagger) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(meta, arrays) of a fitted tagger."""
    predictor: ChainPredictor = tagger.predictor_
    meta = {
        "classes": [_json_label(label) for label in predictor.classes],
        "parameters": _encode_parameters(tagger.get_params(deep=False)),
        "hash_version": HASH_VERSION if predictor.vocabulary is None else None,
        "lam": tagger.lam_,
        "objective": tagger.objective_,
        "dual": tagger.dual_,
        "gap": tagger.gap_,
        "status": tagger.status_,
        "trace": tagger.trace_.as_dicts(),
    }
    arrays = encode_rows("weights", predictor.rows)
    if predictor.vocabulary is not None:
        arrays |= encode_vocabulary("vocabulary", predictor.vocabulary)
    return meta, arrays


def decode_tagger(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SequenceTagger:
    """The tagger that `encode_tagger` was given."""
    return tagger_around(decode_predictor(meta, arrays), meta)


def decode_predictor(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> ChainPredictor:
    """What predicts in the tagger that `encode_tagger` was given."""
    try:
        classes, hash_version = tuple(meta["classes"]), meta["hash_version"]
    except (KeyError, TypeError) as error:
        raise _no_proper(error) from None
    return ChainPredictor.of_rows(_checked_rows(arrays, len(classes)), classes, _vocabulary(arrays, hash_version))


def tagger_around(predictor: ChainPredictor, meta: Mapping[str, Any]) -> SequenceTagger:
    """The whole tagger, with its parameters and the figures of its training."""
    from casimir.estimators.sequence_tagger import SequenceTagger

    try:
        tagger = SequenceTagger(**_decode_parameters(meta["parameters"]))
        trace = Trace([TraceRow(**row) for row in meta["trace"]])
        tagger.lam_ = float(meta["lam"])
        numbers = float(meta["objective"]), float(meta["dual"]), float(meta["gap"])
        status = str(meta["status"])
    except (KeyError, TypeError, ValueError) as error:
        raise _no_proper(error) from None
    tagger._set_result(Result(predictor.w, *numbers, status, trace), predictor)
    return tagger


def _no_proper(error: Exception) -> ValueError:
    return ValueError(f"the model file is damaged: its description has no proper {error}.")


def _checked_rows(arrays: Mapping[str, np.ndarray], n_labels: int) -> np.ndarray:
    rows = decode_rows("weights", arrays)
    if n_labels < 1 or rows.shape[1] != n_labels or len(rows) < n_labels + 3 or not np.isfinite(rows).all():
        raise ValueError(f"the model file is damaged: weights {list(rows.shape)} do not fit {n_labels} labels.")
    return rows


def _vocabulary(arrays: Mapping[str, np.ndarray], hash_version: Any) -> Any:
    vocabulary = decode_vocabulary("vocabulary", arrays)
    if vocabulary is None and hash_version != HASH_VERSION:
        raise ValueError(
            f"the model hashes features by version {hash_version}; this casimir has version {HASH_VERSION}, which puts "
            "them elsewhere. Load it with the casimir that wrote it, or train a new model."
        )
    return vocabulary


def _encode_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """What JSON can hold: a generator as None."""
    plain = dict(parameters)
    plain["solver"] = encode_solver(parameters["solver"])
    if not isinstance(parameters["random_state"], int | np.integer):
        plain["random_state"] = None
    if parameters["label_costs"] is not None:
        plain["label_costs"] = [
            [_json_label(true), _json_label(predicted), float(cost)]
            for (true, predicted), cost in parameters["label_costs"].items()
        ]
    return plain


def _decode_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    parameters = dict(plain)
    parameters["solver"] = decode_solver(parameters["solver"])
    if parameters["label_costs"] is not None:
        parameters["label_costs"] = {(true, predicted): cost for true, predicted, cost in parameters["label_costs"]}
    return parameters


def _json_label(label: Label) -> Label:
    if not isinstance(label, str | int | float):
        raise TypeError(
            f"the label {label!r} is a {type(label).__name__}; a model folder holds strings and numbers. "
            "Use such labels, or pickle the tagger."
        )
    return label
