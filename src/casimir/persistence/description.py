"""`model.json`: what a model is, where its arrays are, and a digest over all of it.

    {"digest": of this file, read with 64 zeros in the place of the digest,
     "format": "casimir", "format_version": 2, "library_version": ..., "kind": ..., "meta": {...},
     "arrays": {"file": "model-0123456789abcdef.safetensors", "bytes": its size, "sha256": its checksum}}

Format 1 had no digest, and its arrays were in `model.safetensors`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casimir import __version__
from casimir.persistence.seal import fault_of, sealed, unread

FORMAT = "casimir"
FORMAT_VERSION = 2

JSON_FILE, FIRST_ARRAYS_FILE = "model.json", "model.safetensors"
_ARRAYS_FILE = re.compile(r"model-[0-9a-f]{16}\.safetensors")


@dataclass(frozen=True)
class Description:
    """What `model.json` says.

    file, n_bytes, sha256   of the arrays
    """

    version: int
    writer: str
    kind: str
    meta: dict[str, Any]
    file: str
    n_bytes: int
    sha256: str

    def check_arrays(self, payload: bytes) -> None:
        """Raise unless these are the bytes of the arrays."""
        if len(payload) != self.n_bytes:
            raise Damaged(f"{self.file} has {len(payload)} bytes instead of {self.n_bytes}")
        if hashlib.sha256(payload).hexdigest() != self.sha256:
            raise Damaged(f"the checksum of {self.file} does not match")


class Damaged(ValueError):
    """A model file that is not as it was written."""


class Foreign(ValueError):
    """A model.json of something else."""


class TooNew(ValueError):
    """A format of a later version."""


def arrays_file(payload: bytes) -> str:
    """The name of the file with these arrays: other arrays have another name, so that files of two saves never mix."""
    return f"model-{hashlib.sha256(payload).hexdigest()[:16]}.safetensors"


def is_arrays_file(name: str) -> bool:
    """Whether `arrays_file` gives such names."""
    return _ARRAYS_FILE.fullmatch(name) is not None


def is_ours(data: bytes) -> bool:
    """Whether casimir wrote this model.json, damaged or not."""
    return b'"format": "casimir"' in data


def encode(kind: str, meta: Mapping[str, Any], payload: bytes) -> bytes:
    """The bytes of model.json."""
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "kind": kind,
        "meta": dict(meta),
        "arrays": {
            "file": arrays_file(payload),
            "bytes": len(payload),
            "sha256": hashlib.sha256(payload).hexdigest(),
        },
    }
    try:
        return sealed(description)
    except (TypeError, ValueError) as error:
        what = f"meta cannot be written as JSON ({error}); use strings, finite numbers, lists and dicts."
        raise (TypeError(what) if isinstance(error, TypeError) else ValueError(what)) from None


def decode(data: bytes) -> Description:
    """What the bytes of model.json say: `Damaged`, `Foreign` or `TooNew` where they cannot be trusted or read."""
    try:
        given = unread(data)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{JSON_FILE} is not valid JSON: {error}") from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise Foreign
    version = given.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Damaged(f"{JSON_FILE} has the format version {version!r}")
    if version > FORMAT_VERSION:
        raise TooNew(
            f"has model format {version}, written by casimir {given.get('library_version')}; casimir {__version__} "
            f"reads formats up to {FORMAT_VERSION}. Upgrade casimir to load it."
        )
    fault = fault_of(data) if version > 1 else None
    if fault is not None:
        raise Damaged(f"{JSON_FILE} {fault}")
    return _described(given, version)


def _described(given: dict[str, Any], version: int) -> Description:
    for name, needed in (("kind", str), ("meta", dict), ("arrays", dict)):
        if not isinstance(given.get(name), needed):
            raise Damaged(f"{JSON_FILE} has no proper {name!r}")
    of_arrays = {"file": FIRST_ARRAYS_FILE, **given["arrays"]}
    file, n_bytes, sha256 = (of_arrays.get(name) for name in ("file", "bytes", "sha256"))
    is_first = file == FIRST_ARRAYS_FILE
    if not (is_first if version == 1 else is_arrays_file(str(file))):
        raise Damaged(f"{JSON_FILE} names {file!r} as the file of its arrays")
    if type(n_bytes) is not int or not isinstance(sha256, str) or not isinstance(file, str):
        raise Damaged(f"{JSON_FILE} has no proper 'arrays'")
    return Description(version, str(given.get("library_version")), given["kind"], given["meta"], file, n_bytes, sha256)
