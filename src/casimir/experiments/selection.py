"""`--only method=sgd,bcfw,lam=1/n`: which part of an experiment to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from casimir.experiments.base import Experiment

_KEYS = ("method", "data", "lam")
_SHOWN = 30  # names in a message


def parse_only(text: str) -> dict[str, list[str]]:
    """ "method=sgd,bcfw,lam=1/n" -> {"method": ["sgd", "bcfw"], "lam": ["1/n"]}"""
    found: dict[str, list[str]] = {}
    key = ""
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        key, word = (name.strip().lower(), value.strip()) if equals else (key, part)
        if key not in _KEYS:
            wrong = f"has the key {key!r}" if equals else "begins with no key"
            raise ValueError(f"{text!r} {wrong}; write it like method=sgd,bcfw,lam=1/n (keys: {', '.join(_KEYS)}).")
        if not word:
            raise ValueError(f"{text!r} has nothing after {key}=; write it like method=sgd,bcfw,lam=1/n.")
        found.setdefault(key, []).append(word.lower())
    if not found:
        raise ValueError(f"{text!r} names no part; leave it out for everything, or write method=sgd,bcfw,lam=1/n.")
    return found


def parts_of(experiments: Sequence[Experiment], only: str | None) -> list[tuple[Experiment, Experiment]]:
    """(an experiment, what `only` leaves of it) where that is something; nothing at all is an error."""
    wanted = {} if only is None else parse_only(only)
    for whole in experiments:
        if not whole.cases or not whole.methods or whole.seeds < 1:
            raise ValueError(
                f"{whole.name} has {len(whole.cases)} cases, {len(whole.methods)} methods and {whole.seeds} seeds; "
                "it needs at least one of each."
            )
    named = experiments[0].name if len(experiments) == 1 else f"these {len(experiments)} experiments"
    choices = _choices(experiments)
    for key, words in wanted.items():
        unknown = [word for word in words if word not in map(str.lower, choices[key])]
        if unknown:
            raise ValueError(f"There is no {key} {unknown[0]!r} in {named}; it may be {_listed(choices[key])}.")
    pairs = [(whole, _part(whole, wanted)) for whole in experiments]
    found = [(whole, part) for whole, part in pairs if part.cases and part.methods]
    if not found:
        there = "; ".join(f"{key}: {_listed(choices[key])}" for key in wanted)
        raise ValueError(f"Nothing of {named} fits all of {only!r}. There is {there}.")
    return found


def narrowed(experiment: Experiment, only: str | None) -> Experiment:
    """The cases and methods that `only` names; none is an error."""
    return parts_of([experiment], only)[0][1]


def _part(experiment: Experiment, wanted: Mapping[str, list[str]]) -> Experiment:
    def fits(key: str, value: str) -> bool:
        return key not in wanted or value.lower() in wanted[key]

    cases = tuple(c for c in experiment.cases if fits("data", c.source.name) and fits("lam", c.lam))
    return replace(experiment, cases=cases, methods=tuple(m for m in experiment.methods if fits("method", m.name)))


def _choices(experiments: Sequence[Experiment]) -> dict[str, list[str]]:
    """What may stand behind the keys."""
    return {
        "method": list(dict.fromkeys(method.name for one in experiments for method in one.methods)),
        "data": list(dict.fromkeys(case.source.name for one in experiments for case in one.cases)),
        "lam": list(dict.fromkeys(case.lam for one in experiments for case in one.cases)),
    }


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
