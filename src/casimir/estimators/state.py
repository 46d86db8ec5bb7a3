"""A fitted tagger as what a model folder holds: JSON and named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from casimir._validate import positive_float
from casimir.estimators.labels import Label
from casimir.estimators.names import FeatureNames
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.saved_solver import decode_solver, encode_solver
from casimir.estimators.sequence_tagger import SequenceTagger
from casimir.features import HASH_VERSION
from casimir.persistence.arrays import decode_rows, decode_vocabulary, encode_rows, encode_vocabulary
from casimir.solvers import Result, Trace, TraceRow
from casimir.vocabulary import Vocabulary

KIND = "sequence-tagger"


def encode_tagger(tagger: SequenceTagger) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(meta, arrays) of a fitted tagger."""
    predictor: ChainPredictor = tagger.predictor_
    meta = {
        "classes": [_json_label(label) for label in predictor.classes],
        "parameters": _encode_parameters(tagger.get_params(deep=False)),
        "hash_version": HASH_VERSION if predictor.vocabulary is None else None,
        "lam": tagger.lam_,
        "temperature": predictor.temperature,
        "objective": tagger.objective_,
        "dual": tagger.dual_,
        "gap": tagger.gap_,
        "status": tagger.status_,
        "trace": tagger.trace_.as_dicts(),
    }
    arrays = encode_rows("weights", predictor.rows)
    if predictor.vocabulary is not None:
        arrays |= encode_vocabulary("vocabulary", predictor.vocabulary)
    if tagger.names_ is not None:
        arrays |= encode_vocabulary("names", tagger.names_.vocabulary)
    return meta, arrays


def decode_tagger(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SequenceTagger:
    """The tagger that `encode_tagger` was given."""
    try:
        classes = tuple(meta["classes"])
        tagger = SequenceTagger(**_decode_parameters(meta["parameters"]))
        trace = Trace([TraceRow(**row) for row in meta["trace"]])
        tagger.lam_, hash_version = float(meta["lam"]), meta["hash_version"]
        numbers = float(meta["objective"]), float(meta["dual"]), float(meta["gap"])
        status, temperature = str(meta["status"]), positive_float(meta.get("temperature", 1.0), "temperature")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    rows = _checked_rows(arrays, len(classes))
    predictor = ChainPredictor.of_rows(rows, classes, _vocabulary(arrays, hash_version), temperature)
    tagger._set_result(Result(predictor.w, *numbers, status, trace), predictor)
    names = decode_vocabulary("names", arrays)
    tagger.names_ = FeatureNames(names, predictor.n_features) if isinstance(names, Vocabulary) else None
    return tagger


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
