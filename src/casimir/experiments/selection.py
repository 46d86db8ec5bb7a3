"""`--only method=sgd,bcfw,lam=1/n`: which part of an experiment to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from casimir.experiments.base import Experiment

_KEYS = ("method", "data", "lam")


def parse_only(text: str) -> dict[str, list[str]]:
    """ "method=sgd,bcfw,lam=1/n" -> {"method": ["sgd", "bcfw"], "lam": ["1/n"]}"""
    found: dict[str, list[str]] = {}
    key = ""
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        key, word = (name.strip().lower(), value.strip()) if equals else (key, part)
        if key not in _KEYS:
            raise ValueError(
                f"{text!r} begins with no key; write it like method=sgd,bcfw,lam=1/n (keys: {', '.join(_KEYS)})."
            )
        found.setdefault(key, []).append(word.lower())
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
    pairs = [(whole, _part(whole, wanted)) for whole in experiments]
    found = [(whole, part) for whole, part in pairs if part.cases and part.methods]
    if not found:
        named = experiments[0].name if len(experiments) == 1 else f"these {len(experiments)} experiments"
        raise ValueError(f"Nothing of {named} fits {only!r}. It has {_contents(experiments)}.")
    return found


def narrowed(experiment: Experiment, only: str | None) -> Experiment:
    """The cases and methods that `only` names; none is an error."""
    return parts_of([experiment], only)[0][1]


def _part(experiment: Experiment, wanted: Mapping[str, list[str]]) -> Experiment:
    def fits(key: str, value: str) -> bool:
        return key not in wanted or value.lower() in wanted[key]

    cases = tuple(c for c in experiment.cases if fits("data", c.source.name) and fits("lam", c.lam))
    return replace(experiment, cases=cases, methods=tuple(m for m in experiment.methods if fits("method", m.name)))


def _contents(experiments: Sequence[Experiment]) -> str:
    choices = {
        "method": [method.name for one in experiments for method in one.methods],
        "data": [case.source.name for one in experiments for case in one.cases],
        "lam": [case.lam for one in experiments for case in one.cases],
    }
    return "; ".join(f"{key}: {', '.join(dict.fromkeys(values))}" for key, values in choices.items())
