"""The parameters of CRFsuite's algorithms: which has which, their defaults, and those that have no meaning here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from casimir._validate import positive_int

DEFAULT_GAP = 1e-5
_SHARED = {"min_freq": 0.0, "all_possible_states": False, "all_possible_transitions": False}
_L_BFGS = {"num_memories": 6, "epsilon": 1e-5, "period": 10, "linesearch": "MoreThuente", "max_linesearch": 20}
_CALIBRATION = {"eta": 0.1, "rate": 2.0, "samples": 1000, "candidates": 10, "max_trials": 20}
_ONLINE = {"max_iterations": 100, "epsilon": 0.0}

USED: dict[str, dict[str, Any]] = {
    "lbfgs": {"c1": 0.0, "c2": 1.0, "max_iterations": None, "delta": DEFAULT_GAP},
    "l2sgd": {"c2": 1.0, "max_iterations": 1000, "delta": DEFAULT_GAP},
    "ap": _ONLINE,
    "pa": _ONLINE | {"pa_type": 1, "c": 1.0, "error_sensitive": True, "averaging": True},
    "arow": _ONLINE | {"variance": 1.0, "gamma": 1.0},
}
"""Parameters that do something here, and their defaults."""

WITHOUT_MEANING: dict[str, dict[str, Any]] = {
    "lbfgs": _L_BFGS,
    "l2sgd": {"period": 10} | {f"calibration_{name}": value for name, value in _CALIBRATION.items()},
}
"""Parameters of CRFsuite's own way to the optimum, and its defaults, which are taken without a word."""

_POSITIVE = ("c", "variance", "gamma")
_STRENGTHS = ("c1", "c2", *_POSITIVE)
_LEAST, _MOST = 1e-100, 1e100  # of strengths: beyond, what is made of them overflows
_FLAGS = ("all_possible_states", "all_possible_transitions", "error_sensitive", "averaging")
_NAMES = tuple(dict.fromkeys(name for table in (USED, WITHOUT_MEANING) for known in table.values() for name in known))


@dataclass(frozen=True)
class Plan:
    """The algorithm, and the values of its parameters."""

    algorithm: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Plan:
        """What the parameters of a CRF ask for; a parameter that is None has its default."""
        algorithm = "lbfgs" if given["algorithm"] is None else given["algorithm"]
        if not isinstance(algorithm, str) or algorithm not in USED:
            raise ValueError(f"algorithm={algorithm!r}; it must be one of {', '.join(USED)}.")
        _check_files(given)
        used = _SHARED | USED[algorithm]
        for name in _NAMES:
            if given[name] is not None and name not in used:
                _check_without_meaning(algorithm, name, given[name])
        values = {name: used[name] if given[name] is None else _checked(name, given[name]) for name in used}
        return cls(algorithm, values)


def _checked(name: str, value: Any) -> Any:
    """The value as a number of Python."""
    if name == "max_iterations":
        return positive_int(value, name)
    if not isinstance(value, Real | np.bool_):
        raise TypeError(f"{name}={value!r}; it must be {'True or False' if name in _FLAGS else 'a number'}.")
    if name in _FLAGS:
        if value not in (0, 1):
            raise ValueError(f"{name}={value!r}; it must be True or False.")
        return bool(value)
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r}; it must be a number.")
    if name == "pa_type":
        if value not in (0, 1, 2):
            raise ValueError(f"pa_type={value!r}; it must be 0 (without slack), 1 (PA-I) or 2 (PA-II).")
        return int(float(value))
    return _number(name, value)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if (name != "min_freq" and not number >= 0.0) or (name in _POSITIVE and not number > 0.0):
        raise ValueError(f"{name}={value!r}; it must be {'above 0' if name in _POSITIVE else '0 or larger'}.")
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; it must be finite.")
    if name in _STRENGTHS and number and not _LEAST <= number <= _MOST:
        least = f"{_LEAST:g}" if name in _POSITIVE else f"0, or {_LEAST:g}"
        raise ValueError(f"{name}={value!r}; it must be {least} or larger, and {_MOST:g} at the most.")
    return number


def _check_without_meaning(algorithm: str, name: str, value: Any) -> None:
    known = WITHOUT_MEANING.get(algorithm, {})
    if name not in known:
        owners = [a for a in USED if name in USED[a] or name in WITHOUT_MEANING.get(a, {})]
        raise ValueError(
            f"{name}={value!r} does not belong to algorithm={algorithm!r}, but to {' and '.join(owners)}. Leave it out."
        )
    if not np.array_equal(value, known[name]):
        raise ValueError(
            f"{name}={value!r} steers the way of CRFsuite's {algorithm} to its optimum. casimir finds the same optimum "
            "by dual steps, which have no such parameter: leave it out, and say with delta how close to stop."
        )


def _check_files(given: Mapping[str, Any]) -> None:
    if given["model_filename"] is not None:
        raise ValueError(
            f"model_filename={given['model_filename']!r} is a file in CRFsuite's own format, which casimir neither "
            "writes nor reads. Pickle the fitted CRF to keep it; from_crfsuite() reads the text that `crfsuite dump` "
            "writes of such a file."
        )
    if given["keep_tempfiles"]:
        raise ValueError("keep_tempfiles=True, but there are no temporary files here. Leave it out.")
    if given["trainer_cls"] is not None:
        raise ValueError(
            "trainer_cls is a class that drives CRFsuite, which does not run here. Leave it out; verbose=True and "
            "training_log_ show how training went."
        )
