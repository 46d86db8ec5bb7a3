"""Model folders: `model.safetensors` (arrays) and `model.json` (everything else), written as one and never pickled.

    {"format": "casimir", "format_version": 1, "library_version": ..., "kind": ..., "meta": {...},
     "arrays": {"bytes": size of model.safetensors, "sha256": its checksum}}

A folder is written beside its place, synced to disk and moved there in the end, so whatever goes wrong on the way, the
place holds either the old model or the new one. Other files in a model folder stay there.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from casimir import __version__

_log = logging.getLogger(__name__)

FORMAT = "casimir"
FORMAT_VERSION = 1

_ARRAYS, _JSON = "model.safetensors", "model.json"
_DTYPES = ("float64", "float32", "int64", "int32", "uint64", "uint32", "uint8", "bool")


def save_folder(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a model; an older model in the same place is replaced at the very end.

    kind: what to make of the rest, e.g. "sequence-tagger"; meta: what JSON can hold (tuples come back as lists)
    """
    place = _resolved(path)
    _refuse_foreign(place, path)
    payload = _encode_arrays(arrays)
    description = _encode_description(kind, meta, payload)
    fresh = _sibling(place, "writing")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir()
        _write(fresh / _ARRAYS, payload)
        _write(fresh / _JSON, description)
        _sync_folder(fresh)
        _move_into_place(fresh, place)
        _sync_folder(place.parent)
    except OSError as error:
        what = f"The model could not be saved to '{path}' ({_reason(error)}); nothing was changed there."
        raise _like(error, f"{what} Free some space or choose a folder you may write to.") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    _log.info("saved a model of the kind %r to %s, %d bytes of arrays", kind, path, len(payload))


def load_folder(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """(kind, meta, arrays) as given to `save_folder`. Never runs code from the folder."""
    import safetensors.numpy

    place = _resolved(path)
    if not place.exists():
        raise FileNotFoundError(f"There is no model folder '{path}'.{_interrupted(place)} Check the path.")
    if not place.is_dir():
        raise NotADirectoryError(
            f"'{path}' is a file; a model is a folder with {_JSON} and {_ARRAYS}. Give the folder."
        )
    description = _decode_description(place / _JSON, path)
    payload = _read(place / _ARRAYS, path)
    _check_payload(payload, description["arrays"], path)
    try:
        arrays = safetensors.numpy.load(payload)
    except safetensors.SafetensorError as error:
        raise _damaged(path, f"{_ARRAYS} cannot be read: {error}") from None
    kind, writer = description["kind"], description.get("library_version")
    _log.info("loaded a model of the kind %r from %s, written by casimir %s", kind, path, writer)
    return kind, description["meta"], {name: np.array(array) for name, array in arrays.items()}


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise now what `save_folder` would raise after hours of training: a foreign folder, or one without permission."""
    place = _resolved(path)
    _refuse_foreign(place, path)
    trial = _sibling(place, "trial")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        what = f"A model cannot be saved to '{path}' ({_reason(error)})."
        raise _like(error, f"{what} Choose a folder you may write to.") from error


# --- writing


def _resolved(path: str | os.PathLike[str]) -> Path:
    """Absolute, links followed: a link to a model folder stays a link."""
    return Path(path).resolve()


def _sibling(place: Path, purpose: str) -> Path:
    """A new name in the same folder, hence in the same file system."""
    return place.with_name(f".{place.name}.{purpose}-{secrets.token_hex(4)}")


def _refuse_foreign(place: Path, path: str | os.PathLike[str]) -> None:
    """Never overwrite what is not ours."""
    if not place.exists():
        return
    if not place.is_dir():
        raise FileExistsError(f"'{path}' is a file; a model is saved as a folder. Choose another path.")
    try:
        ours = not any(place.iterdir()) or _is_casimir(json.loads((place / _JSON).read_bytes()))
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise FileExistsError(
            f"'{path}' exists and is not a casimir model, so it is left alone. Choose another folder or remove it."
        )


def _encode_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    import safetensors.numpy

    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.name not in _DTYPES:
            given = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(f"array {name!r} is {given}; a model file holds arrays of {', '.join(_DTYPES)}.")
    return bytes(safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def _encode_description(kind: str, meta: Mapping[str, Any], payload: bytes) -> bytes:
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "kind": kind,
        "meta": dict(meta),
        "arrays": {"bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest()},
    }
    try:
        text = json.dumps(description, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)
        return (text + "\n").encode()
    except (TypeError, ValueError) as error:
        what = f"meta cannot be written as JSON ({error}); use strings, finite numbers, lists and dicts."
        raise (TypeError(what) if isinstance(error, TypeError) else ValueError(what)) from None


def _plain(value: object) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _write(file: Path, data: bytes) -> None:
    with open(file, "xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Make names and renames durable; not every system can, and there it is not needed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _move_into_place(fresh: Path, place: Path) -> None:
    if not place.exists():
        fresh.rename(place)
        return
    previous = _sibling(place, "previous")
    try:
        place.rename(previous)
        fresh.rename(place)
    except BaseException:
        if previous.exists() and not place.exists():
            previous.rename(place)
        raise
    for extra in previous.iterdir():
        if extra.name not in (_ARRAYS, _JSON):
            extra.rename(place / extra.name)
    shutil.rmtree(previous, ignore_errors=True)


# --- reading


def _read(file: Path, path: str | os.PathLike[str]) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise ValueError(
            f"'{path}' is not a complete casimir model: it has no {file.name}. Give the folder that was saved."
        ) from None
    except OSError as error:
        raise _like(error, f"'{file}' cannot be read ({_reason(error)}). Check its permissions.") from error


def _decode_description(file: Path, path: str | os.PathLike[str]) -> dict[str, Any]:
    data = _read(file, path)
    try:
        description = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"{_JSON} is not valid JSON: {error}") from None
    if not _is_casimir(description):
        raise ValueError(f"'{path}' is not a casimir model: its {_JSON} was written by something else. Check the path.")
    found, writer = description.get("format_version"), description.get("library_version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise _damaged(path, f"{_JSON} has the format version {found!r}")
    if found > FORMAT_VERSION:
        raise ValueError(
            f"'{path}' has model format {found}, written by casimir {writer}; casimir {__version__} reads "
            f"formats up to {FORMAT_VERSION}. Upgrade casimir to load it."
        )
    for name, needed in (("kind", str), ("meta", dict), ("arrays", dict)):
        if not isinstance(description.get(name), needed):
            raise _damaged(path, f"{_JSON} has no proper {name!r}")
    result: dict[str, Any] = description
    return result


def _is_casimir(description: object) -> bool:
    return isinstance(description, dict) and description.get("format") == FORMAT


def _check_payload(payload: bytes, expected: dict[str, Any], path: str | os.PathLike[str]) -> None:
    if len(payload) != expected.get("bytes"):
        raise _damaged(path, f"{_ARRAYS} has {len(payload)} bytes instead of {expected.get('bytes')}")
    if hashlib.sha256(payload).hexdigest() != expected.get("sha256"):
        raise _damaged(path, f"the checksum of {_ARRAYS} does not match")


# --- messages


def _damaged(path: str | os.PathLike[str], what: str) -> ValueError:
    return ValueError(f"The model in '{path}' is damaged: {what}. Copy the folder again or train a new model.")


def _interrupted(place: Path) -> str:
    """A power cut between two renames leaves the old model under this name."""
    left = sorted(place.parent.glob(f".{glob.escape(place.name)}.previous-*")) if place.parent.is_dir() else []
    return (
        f" A save was interrupted there; the model before it is in '{left[-1]}', rename it to use it." if left else ""
    )


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _like(error: OSError, message: str) -> OSError:
    """The same kind of error with a message for the user."""
    copy = type(error)(message)
    copy.errno = error.errno
    return copy
