"""A fitted tagger as what a model folder holds: JSON and named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir._limits import check_matrix
from casimir._validate import positive_float
from casimir.estimators.constraints import LabelRules
from casimir.estimators.names import FeatureNames
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.saved_parameters import decode_parameters, encode_parameters, json_label
from casimir.features import HASH_VERSION
from casimir.models.weight_rows import chain_rows
from casimir.persistence.arrays import (
    decode_used_rows,
    decode_vocabulary,
    encode_rows,
    encode_vocabulary,
    shape_of_rows,
)
from casimir.persistence.labels import distinct_labels
from casimir.structures.automaton import StateTable
from casimir.vocabulary import Vocabulary

if TYPE_CHECKING:  # scikit-learn takes a second to load, which predictions need not wait for
    from casimir.estimators.chain_tagger import ChainTagger
    from casimir.estimators.sequence_tagger import SequenceTagger

KIND = "sequence-tagger"


def _saved(tagger: ChainTagger) -> dict[str, Any]:
    """The parameters, but for those of a subclass that say where training runs."""
    return {k: v for k, v in tagger.get_params(deep=False).items() if k not in tagger.not_saved}


def encode_tagger(tagger: ChainTagger) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(meta, arrays) of a fitted tagger."""
    predictor: ChainPredictor = tagger.predictor_
    meta = {
        "classes": [json_label(label) for label in predictor.classes],
        "parameters": encode_parameters(_saved(tagger)),
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
    if predictor.rules is not None:
        meta["scheme"], arrays["follows"] = predictor.rules.scheme, predictor.rules.follows
        if predictor.rules.automaton is not None:
            arrays["automaton_steps"] = predictor.rules.automaton.steps
            arrays["automaton_final"] = predictor.rules.automaton.final
    if predictor.vocabulary is not None:
        arrays |= encode_vocabulary("vocabulary", predictor.vocabulary)
    if predictor.pairs is not None:
        arrays |= encode_vocabulary("pairs", predictor.pairs)
    if tagger.names_ is not None:
        arrays |= encode_vocabulary("names", tagger.names_.vocabulary)
    return meta, arrays


def decode_tagger(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SequenceTagger:
    """The tagger that `encode_tagger` was given."""
    predictor = decode_predictor(meta, arrays)
    return tagger_around(predictor, meta, decode_names(arrays, predictor.n_features))


def decode_predictor(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> ChainPredictor:
    """What predicts in the tagger that `encode_tagger` was given."""
    try:
        classes, hash_version = distinct_labels(meta["classes"]), meta["hash_version"]
        temperature = positive_float(meta.get("temperature", 1.0), "temperature")
    except (KeyError, TypeError) as error:
        raise _no_proper(error) from None
    vocabulary = _vocabulary(arrays, hash_version)
    pairs = _pairs(arrays)
    others = chain_rows(0, len(classes), 0 if pairs is None else max(1, len(pairs))).n_rows
    _check_rows(arrays, len(classes), vocabulary, others)
    rules = _rules(meta, arrays, len(classes))
    rows = decode_used_rows("weights", arrays)
    return ChainPredictor.of_used_rows(rows, classes, vocabulary, rules, temperature, pairs)


def decode_names(arrays: Mapping[str, np.ndarray], n_features: int) -> FeatureNames | None:
    """The names of hashed features, where they were kept."""
    names = decode_vocabulary("names", arrays)
    return FeatureNames(names, n_features) if isinstance(names, Vocabulary) else None


def tagger_around(predictor: ChainPredictor, meta: Mapping[str, Any], names: FeatureNames | None) -> SequenceTagger:
    """The whole tagger, with its parameters and the figures of its training."""
    from casimir.estimators.sequence_tagger import SequenceTagger
    from casimir.solvers import Result, Trace, TraceRow  # predictions need none of these

    try:
        tagger = SequenceTagger(**decode_parameters(meta["parameters"]))
        trace = Trace([TraceRow(**row) for row in meta["trace"]])
        tagger.lam_ = float(meta["lam"])
        numbers = float(meta["objective"]), float(meta["dual"]), float(meta["gap"])
        status = str(meta["status"])
    except (KeyError, TypeError, ValueError) as error:
        raise _no_proper(error) from None
    tagger._set_result(Result(predictor.w, *numbers, status, trace), predictor)
    tagger.names_ = names
    return tagger


def _no_proper(error: Exception) -> ValueError:
    return ValueError(f"the model file is damaged: its description has no proper {error}.")


def _pairs(arrays: Mapping[str, np.ndarray]) -> Vocabulary | None:
    """Features of pairs of labels, where there are any."""
    pairs = decode_vocabulary("pairs", arrays)
    return pairs if isinstance(pairs, Vocabulary) else None


def _check_rows(arrays: Mapping[str, np.ndarray], n_labels: int, vocabulary: Any, others: int) -> None:
    """Rows of all features, then the others of a chain: whether there are as many as there should be."""
    n_rows, n_columns = shape_of_rows("weights", arrays)
    if n_columns != n_labels or n_rows <= others:
        raise ValueError(f"the model file is damaged: weights {[n_rows, n_columns]} do not fit {n_labels} labels.")
    if vocabulary is not None and n_rows != max(1, len(vocabulary)) + others:
        raise ValueError(
            f"the model file is damaged: it has weights of {n_rows - others} features; its vocabulary has "
            f"{len(vocabulary)}."
        )


def _rules(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_labels: int) -> LabelRules | None:
    """The rules of valid labels; models without constraints, and those of older versions, have none."""
    follows = arrays.get("follows")
    if follows is None:
        return None
    if follows.dtype != np.bool_ or follows.shape != (n_labels + 1, n_labels + 1):
        raise ValueError(f"the model file is damaged: rules {list(follows.shape)} do not fit {n_labels} labels.")
    return LabelRules(follows, meta.get("scheme"), _automaton(arrays, n_labels))


def _automaton(arrays: Mapping[str, np.ndarray], n_labels: int) -> StateTable | None:
    """What the rules say besides, where an automaton was given."""
    steps, final = arrays.get("automaton_steps"), arrays.get("automaton_final")
    if steps is None and final is None:
        return None
    try:
        table = StateTable.checked(steps, final, n_labels)
        check_matrix(8 * table.n_wide**2, table.steps.nbytes, "an automaton")
        return table
    except (TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its automaton is none: {error}") from None


def _vocabulary(arrays: Mapping[str, np.ndarray], hash_version: Any) -> Any:
    vocabulary = decode_vocabulary("vocabulary", arrays)
    if vocabulary is None and hash_version != HASH_VERSION:
        raise ValueError(
            f"the model hashes features by version {hash_version}; this casimir has version {HASH_VERSION}, which puts "
            "them elsewhere. Load it with the casimir that wrote it, or train a new model."
        )
    return vocabulary
