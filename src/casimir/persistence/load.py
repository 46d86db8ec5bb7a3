"""Model folders -> models, whatever their kind."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from casimir.persistence import load_folder

_TAGGER = ("sequence-tagger", "casimir.estimators.state", "decode_tagger")  # every other kind is a task's
_TASKS = "casimir.tasks.registry"


def load(path: str | os.PathLike[str]) -> Any:
    """The model that was saved in the folder `path`: a `SequenceTagger`, or the model of a task."""
    return load_with_kind(path)[1]


def load_with_kind(path: str | os.PathLike[str]) -> tuple[str, Any]:
    """The kind of a model, which is its task's name as a rule, and the model."""
    kind, meta, arrays = load_folder(path)
    task = None if kind == _TAGGER[0] else import_module(_TASKS).task_of(kind)
    if kind != _TAGGER[0] and task is None:
        known = ", ".join(repr(name) for name in (_TAGGER[0], *import_module(_TASKS).tasks()))
        raise ValueError(
            f"'{path}' holds a model of the kind {kind!r}; this casimir knows {known}. Upgrade casimir to load it."
        )
    decode = task.decode if task is not None else getattr(import_module(_TAGGER[1]), _TAGGER[2])
    try:
        return kind, decode(meta, arrays)
    except ValueError as error:
        raise ValueError(f"The model in '{path}' cannot be loaded: {error}") from None
    except (TypeError, LookupError, ArithmeticError, AttributeError) as error:  # an entry of another type
        raise ValueError(f"The model in '{path}' cannot be loaded: the model file is damaged: {error}.") from None
