"""JSON files that carry a digest of themselves in their second line, so that every changed byte is noticed.

{"digest": SHA-256 of this file, read with 64 zeros in the place of the digest, ...}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

_NO_DIGEST = b"0" * 64
_DIGEST = re.compile(rb'\A\{\n  "digest": "([0-9a-f]{64})",\n')


def sealed(description: Mapping[str, Any]) -> bytes:
    """The bytes of a file that says this, its digest first. TypeError or ValueError where JSON cannot hold it."""
    given = {"digest": _NO_DIGEST.decode(), **description}
    data = (json.dumps(given, indent=2, ensure_ascii=False, allow_nan=False, default=_plain) + "\n").encode()
    return data.replace(_NO_DIGEST, hashlib.sha256(data).hexdigest().encode(), 1)


def unread(data: bytes) -> Any:
    """What the JSON of a file says, whether or not its digest is right; ValueError where it is none."""
    return json.loads(data, parse_constant=_no_number)


def fault_of(data: bytes) -> str | None:
    """What is wrong with the digest of a file, or None."""
    found = _DIGEST.match(data)
    if found is None:
        return "has no digest in its second line"
    blank = data[: found.start(1)] + _NO_DIGEST + data[found.end(1) :]
    if hashlib.sha256(blank).hexdigest().encode() != found[1]:
        return "was changed after it was written; its digest does not match"
    return None


def _no_number(text: str) -> Any:
    raise ValueError(f"it has {text}, which is no number")


def _plain(value: object) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}")
