"""The compiled core for this CPU.

The core is built once per instruction set level (`_core_v1`, `_core_v3`, `_core_v4`); this module imports the best one
that the CPU runs. The environment variable CASIMIR_ISA forces a level, for tests and measurements.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

from casimir._cpu import best_level

_LEVELS = ("v4", "v3", "v1")


def _load() -> tuple[str, Any]:
    forced = os.environ.get("CASIMIR_ISA")
    if forced is not None and forced not in _LEVELS:
        raise ImportError(f"CASIMIR_ISA={forced!r} is not a known level; use one of {', '.join(_LEVELS)}.")
    start = _LEVELS.index(forced or best_level())
    for level in _LEVELS[start:]:
        try:
            return level, importlib.import_module(f"casimir._core_{level}")
        except ModuleNotFoundError:
            if forced is not None:
                raise
    raise ImportError("casimir was installed without a compiled core for this machine; reinstall it with pip.")


isa_level, core = _load()
logging.getLogger(__name__).debug("compiled core %s", isa_level)
