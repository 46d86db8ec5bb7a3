"""How much a file may make of memory, so that a small one cannot fill it. Environment variables raise the limits.

CASIMIR_MAX_MODEL_MB   of a file of a model folder, and of a matrix that its arrays or a pack describe
CASIMIR_MAX_INPUT_MB   of a data file, after decompression
"""

from __future__ import annotations

import os

_MB = 2**20
_MODEL_MB, _INPUT_MB = 4096, 4096
_MODERATE = 256 * _MB  # what any model may take
_TIMES = 64  # and what the arrays of a larger one may become, as a multiple of their file; packed files too
_UNPACKED = 16 * _MB  # what any packed file may become


def check_model_file(size: int, name: str) -> None:
    """Raise where a file of a model folder is larger than may be read."""
    limit = _limit("CASIMIR_MAX_MODEL_MB", _MODEL_MB)
    if size > limit:
        raise ValueError(
            f"{name} has {_in_mb(size)}, more than the {_in_mb(limit)} that are read. If you trust it, set "
            "CASIMIR_MAX_MODEL_MB to a larger number."
        )


def check_matrix(n_bytes: int, held: int, name: str) -> None:
    """Raise where a matrix would take far more memory than the arrays that describe it, `held` bytes."""
    limit = _plausible(held)
    if n_bytes > limit:
        raise ValueError(
            f"the model file describes {name} of {_in_mb(n_bytes)} by {_in_mb(held)} of arrays; without being asked, "
            f"{_in_mb(limit)} are made of them. If you trust it, set CASIMIR_MAX_MODEL_MB to a larger number."
        )


def check_weights(n_bytes: int, held: int, name: str) -> None:
    """Raise where weights would take far more memory than the data that they are for, `held` bytes."""
    limit = _plausible(held)
    if n_bytes > limit:
        raise ValueError(
            f"{name} asks for {_in_mb(n_bytes)} of weights by {_in_mb(held)} of data; without being asked, "
            f"{_in_mb(limit)} are made of them. If you trust it, say how much training may take, such as memory='8GB'."
        )


def _plausible(held: int) -> int:
    """Bytes of a matrix that so many bytes describe."""
    limit = _limit("CASIMIR_MAX_MODEL_MB", _MODEL_MB)
    return limit if os.environ.get("CASIMIR_MAX_MODEL_MB") else min(limit, max(_MODERATE, _TIMES * held))


def input_limit() -> int:
    """Bytes of a data file, after decompression."""
    return _limit("CASIMIR_MAX_INPUT_MB", _INPUT_MB)


def too_large(name: str) -> ValueError:
    """What is said of a data file that has more bytes."""
    return ValueError(
        f"{name} has more than {_in_mb(input_limit())}. If that is right, set CASIMIR_MAX_INPUT_MB to a larger number."
    )


def check_unpacked(size: int, packed: int, name: str) -> None:
    """Raise where `packed` bytes have become more than text or arrays do by unpacking."""
    if size > input_limit():
        raise too_large(name)
    if not os.environ.get("CASIMIR_MAX_INPUT_MB") and size > max(_UNPACKED, _TIMES * packed):
        raise ValueError(
            f"{name} unpacks to more than {_TIMES} times its {_in_mb(packed)}, which no text does. If that is right, "
            "set CASIMIR_MAX_INPUT_MB to what it may become."
        )


def _limit(variable: str, default: int) -> int:
    given = os.environ.get(variable, "").strip()
    if not given:
        return default * _MB
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"{variable}={given!r}; it must be a whole number of megabytes, 1 or larger.")
    return int(given) * _MB


def _in_mb(size: int) -> str:
    return f"{size:,} bytes" if size < _MB else f"{size / _MB:,.0f} MB"
