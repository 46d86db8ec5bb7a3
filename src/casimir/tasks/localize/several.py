"""Objects of several classes: a model each, on the same candidates and features."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from casimir.persistence import save_folder
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.descriptors import Descriptor
from casimir.tasks.localize.model import KIND, Found, LocalizeModel, decode_model, find_best, train
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.localize.recipe import Recipe
from casimir.tasks.localize.store import Progress
from casimir.tasks.training import DEFAULT, Run, Training


@dataclass(frozen=True, eq=False)
class ClassModels:
    """models  one per class; their features and scores are made in the same way"""

    models: Sequence[LocalizeModel]

    @property
    def targets(self) -> tuple[str, ...]:
        """The classes that are found."""
        return tuple(model.target for model in self.models)

    @property
    def recipe(self) -> Recipe:
        """How features are made, the same for all classes."""
        return self.models[0].recipe

    @property
    def pictures(self) -> list[str]:
        """Names of all pictures that were trained on."""
        return list(dict.fromkeys(name for model in self.models for name in model.pictures))

    @property
    def run(self) -> Run:
        """All classes as one problem: F = (1/N) sum_i f_i(w_c(i)) + (lam/2) sum_c |w_c|^2 over N objects."""
        return joint_run([model.run for model in self.models], [len(model.pictures) for model in self.models])

    def collect(
        self,
        pictures: Sequence[Picture],
        *,
        weights: str | Path | None = None,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> CandidateSet:
        """As of one model; once for all classes."""
        return self.models[0].collect(pictures, weights=weights, cache=cache, progress=progress)

    def find_all(self, candidates: CandidateSet) -> dict[str, Found]:
        """The best candidate of every picture, by class."""
        return dict(zip(self.targets, find_best(self.models, candidates), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        shared, arrays = self.models[0].to_dict(), {}
        for model in self.models:
            arrays[f"w.{model.target}"] = model.w
        own = {model.target: {"pictures": list(model.pictures), "run": model.run.to_dict()} for model in self.models}
        common = {name: shared[name] for name in ("recipe", "score", "hidden")}
        save_folder(path, KIND, {**common, "classes": own}, arrays)


def train_classes(
    candidates: Mapping[str, CandidateSet],
    descriptor: Descriptor,
    how: Training = DEFAULT,
    *,
    begin: Callable[[str, int], None] = lambda name, n: None,
    **settings: Any,
) -> ClassModels:
    """`train` for every class, on its own pictures.

    lam       of `how`: that of all classes as one problem, see `ClassModels.run`; a class with n of the N objects is
              trained with lam N / n. None is 1/N, which is 1/n for a class
    begin     called with the name of a class and the number of its pictures before it is trained
    settings  as for `train`

    Ctrl-C ends with the classes that there are so far.
    """
    total = sum(map(len, candidates.values()))
    models: list[LocalizeModel] = []
    for k, (name, own) in enumerate(candidates.items()):
        if not len(own):
            raise ValueError(f"No picture to train on has an object of the class {name!r}. Leave the class out.")
        begin(name, len(own))
        share = None if how.lam is None else how.lam * total / len(own)
        models.append(train(own, descriptor, replace(how.part(f"class-{k}"), lam=share), target=name, **settings))
        if models[-1].run.status == "interrupted":
            break
    return ClassModels(models)


def joint_run(runs: Sequence[Run], sizes: Sequence[int]) -> Run:
    """Independent problems as one: F = sum_c (n_c / N) F_c, so lower bounds add up in the same way."""
    shares = np.array(sizes) / sum(sizes)
    objective = float(shares @ [run.objective for run in runs])
    dual = float(shares @ [run.dual for run in runs])
    steps = [run.prox_gradient for run in runs if run.prox_gradient is not None]
    ends = [run.status for run in runs if run.status != "converged"]
    return replace(
        runs[0],
        status=ends[-1] if ends else "converged",
        objective=objective,
        dual=dual,
        gap=(objective - dual) / objective if objective > 0.0 else 0.0,
        lam=runs[0].lam * float(shares[0]),
        epochs=max(run.epochs for run in runs),
        oracle_calls=sum(run.oracle_calls for run in runs),
        seconds=sum(run.seconds for run in runs),
        prox_gradient=math.hypot(*(shares * steps)) if len(steps) == len(runs) else None,
    )


def decode_localizer(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LocalizeModel | ClassModels:
    """The model of one class or of several that `save` wrote."""
    if "classes" not in meta:
        return decode_model(meta, arrays)
    try:
        parts = [(str(name), {**meta, **own, "target": name}) for name, own in meta["classes"].items()]
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the model file is damaged: it has no proper {error}.") from None
    if not parts:
        raise ValueError("the model file is damaged: it has no classes.")
    return ClassModels([decode_model(own, {"w": arrays.get(f"w.{name}")}) for name, own in parts])  # type: ignore[dict-item]
