"""`--only method=sgd,bcfw,lam=1/n`: which part of an experiment to run."""

from __future__ import annotations

from dataclasses import replace

from casimir.experiments.base import Case, Experiment, Method

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


def narrowed(experiment: Experiment, only: str | None) -> Experiment:
    """The cases and methods that `only` names; none is an error."""
    wanted = {} if only is None else parse_only(only)

    def fits(key: str, value: str) -> bool:
        return key not in wanted or value.lower() in wanted[key]

    cases = tuple(c for c in experiment.cases if fits("data", c.source.name) and fits("lam", c.lam))
    methods = tuple(m for m in experiment.methods if fits("method", m.name))
    if not cases or not methods:
        raise ValueError(
            f"Nothing of {experiment.name} fits {only!r}. It has {_contents(experiment.cases, experiment.methods)}."
        )
    return replace(experiment, cases=cases, methods=methods)


def _contents(cases: tuple[Case, ...], methods: tuple[Method, ...]) -> str:
    choices = {
        "method": [m.name for m in methods],
        "data": [c.source.name for c in cases],
        "lam": [c.lam for c in cases],
    }
    return "; ".join(f"{key}: {', '.join(dict.fromkeys(values))}" for key, values in choices.items())
