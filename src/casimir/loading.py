"""Model folders -> models, whatever their kind."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from casimir.persistence import load_folder

# kind -> module and function(meta, arrays); imported only when such a model is loaded
_READERS = {
    "sequence-tagger": ("casimir.estimators.state", "decode_tagger"),
    "ner": ("casimir.tasks.ner.model", "decode_model"),
    "boxes": ("casimir.tasks.boxes.model", "decode_model"),
    "segment": ("casimir.tasks.segment.model", "decode_model"),
    "deprel": ("casimir.tasks.deprel.model", "decode_model"),
    "align": ("casimir.tasks.align.model", "decode_model"),
    "localize": ("casimir.tasks.localize.model", "decode_model"),
    "ocr": ("casimir.tasks.ocr.model", "decode_model"),
}


def load(path: str | os.PathLike[str]) -> Any:
    """The model that was saved in the folder `path`: a `SequenceTagger`, or the model of a task."""
    kind, meta, arrays = load_folder(path)
    if kind not in _READERS:
        known = ", ".join(repr(name) for name in _READERS)
        raise ValueError(
            f"'{path}' holds a model of the kind {kind!r}; this casimir knows {known}. Upgrade casimir to load it."
        )
    module, reader = _READERS[kind]
    try:
        return getattr(import_module(module), reader)(meta, arrays)
    except ValueError as error:
        raise ValueError(f"The model in '{path}' cannot be loaded: {error}") from None
    except (TypeError, LookupError, ArithmeticError) as error:  # an entry of another type, such as 1e400 for a count
        raise ValueError(f"The model in '{path}' cannot be loaded: the model file is damaged: {error}.") from None
