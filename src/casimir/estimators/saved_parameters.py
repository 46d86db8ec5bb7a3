"""The parameters of a tagger <-> what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from casimir.estimators.labels import Label
from casimir.estimators.saved_solver import decode_solver, encode_solver
from casimir.structures.automaton import Automaton


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A generator, a scorer and a checkpoint as None, dicts with labels as lists, tables as lists of rows."""
    plain = dict(parameters)
    plain["solver"] = encode_solver(parameters["solver"])
    if not isinstance(parameters["random_state"], int | np.integer):
        plain["random_state"] = None
    plain["checkpoint"] = None  # a folder of the machine that trained
    if not isinstance(parameters["scoring"], str):
        plain["scoring"] = None
    for name, (encode, _) in _CODES.items():
        if parameters[name] is not None and not isinstance(parameters[name], str):
            plain[name] = encode(parameters[name])
    return plain


def decode_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What `encode_parameters` was given; parameters that an older casimir did not have keep their defaults."""
    parameters = dict(plain)
    parameters["solver"] = decode_solver(parameters["solver"])
    for name, (_, decode) in _CODES.items():
        if parameters.get(name) is not None and not isinstance(parameters[name], str):
            parameters[name] = decode(parameters[name])
    return parameters


def json_label(label: Label) -> Label:
    if not isinstance(label, str | int | float):
        raise TypeError(
            f"the label {label!r} is a {type(label).__name__}; a model folder holds strings and numbers. "
            "Use such labels, or pickle the tagger."
        )
    return label


def _encode_costs(costs: Any) -> Any:
    """[[true, predicted, cost], ...] of a dict, {"table": rows} of an array."""
    if isinstance(costs, Mapping):
        return [[json_label(true), json_label(pred), float(cost)] for (true, pred), cost in costs.items()]
    return {"table": np.asarray(costs, dtype=np.float64).tolist()}


def _decode_costs(plain: Any) -> Any:
    if isinstance(plain, Mapping):
        return np.array(plain["table"], dtype=np.float64)
    return {(true, predicted): cost for true, predicted, cost in plain}


def _encode_weights(weights: Mapping[Label, float]) -> list[list[Any]]:
    return [[json_label(label), float(weight)] for label, weight in weights.items()]


def _decode_weights(plain: Any) -> dict[Label, float]:
    return dict(plain)


def _encode_constraints(constraints: Any) -> Any:
    """[[from, to], ...] of pairs, null for the start and the end; {"mask": rows} of an array; {"automaton": ...};
    {"all": [...]} of a list with other things than pairs."""
    if isinstance(constraints, str):
        return constraints
    if isinstance(constraints, np.ndarray):
        return {"mask": constraints.tolist()}
    if isinstance(constraints, Automaton):
        return {"automaton": _encode_automaton(constraints)}
    entries = list(constraints)
    if any(isinstance(entry, str | np.ndarray | Automaton) for entry in entries):
        pair = [not isinstance(entry, str | np.ndarray | Automaton) for entry in entries]
        return {"all": [_encode_constraints([e] if p else e) for e, p in zip(entries, pair, strict=True)]}
    return [[None if label is None else json_label(label) for label in pair] for pair in entries]


def _decode_constraints(plain: Any) -> Any:
    if isinstance(plain, str):
        return plain
    if not isinstance(plain, Mapping):
        return [(left, right) for left, right in plain]
    if "mask" in plain:
        return np.array(plain["mask"], dtype=np.bool_)
    if "automaton" in plain:
        return _decode_automaton(plain["automaton"])
    found: list[Any] = []
    for entry in map(_decode_constraints, plain["all"]):
        found += entry if isinstance(entry, list) else [entry]
    return found


def _encode_automaton(automaton: Automaton) -> dict[str, Any]:
    """Its states by number, in the order of `steps`."""
    number = {state: q for q, state in enumerate(automaton.steps)}
    rows = [
        [[json_label(label), None if to is None else number[to]] for label, to in row.items()]
        for row in automaton.steps.values()
    ]
    final = None if automaton.final is None else [number[state] for state in automaton.final]
    return {"steps": rows, "start": number[automaton.start], "final": final}


def _decode_automaton(plain: Mapping[str, Any]) -> Automaton:
    steps: dict[Any, dict[Any, Any]] = {q: dict(row) for q, row in enumerate(plain["steps"])}
    return Automaton(steps, plain["start"], plain["final"])


_CODES = {
    "constraints": (_encode_constraints, _decode_constraints),
    "class_weight": (_encode_weights, _decode_weights),
    "label_costs": (_encode_costs, _decode_costs),
}
