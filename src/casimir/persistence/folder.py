"""Model folders: `model.json`, which says what the model is and where its arrays are, and a file of arrays; no pickle.

A save writes the arrays into a file named by their content, puts a new `model.json` in the place of the old one, which
is one step, and removes the old arrays. Whatever goes wrong on the way, the folder holds either the old model or the
new one. Savers wait for one another; readers that come between two saves read again. Other files in a model folder are
not touched.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from casimir.persistence import description, files
from casimir.persistence.description import FIRST_ARRAYS_FILE, FORMAT_VERSION, JSON_FILE

__all__ = ["FORMAT_VERSION", "check_target", "load_folder", "migrate_folder", "save_folder"]

_log = logging.getLogger(__name__)

_DTYPES = ("float64", "float32", "int64", "int32", "uint64", "uint32", "uint8", "bool")
_TRIES = 20  # readings of a folder into which others save all the time


def save_folder(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a model; an older model in the same place is replaced at the very end.

    kind: what to make of the rest, e.g. "sequence-tagger"; meta: what JSON can hold (tuples come back as lists)
    """
    place = _resolved(path)
    _recover(place)
    _refuse_foreign(place, path)
    payload = _encode_arrays(arrays)
    text = description.encode(kind, meta, payload)
    try:
        with files.locked(place):
            _save(place, text, payload)
    except OSError as error:
        what = f"The model could not be saved to '{path}' ({_reason(error)}); nothing was changed there."
        raise _like(error, f"{what} Free some space or choose a folder you may write to.") from error
    _log.info("saved a model of the kind %r to %s, %d bytes of arrays", kind, path, len(payload))


def load_folder(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """(kind, meta, arrays) as given to `save_folder`. Never runs code from the folder."""
    place = _resolved(path)
    if not place.exists():
        raise FileNotFoundError(f"There is no model folder '{path}'.{_interrupted(place)} Check the path.")
    if not place.is_dir():
        raise NotADirectoryError(f"'{path}' is a file; a model is a folder with {JSON_FILE}. Give the folder.")
    text = _read(place / JSON_FILE, path)
    for _ in range(_TRIES):
        try:
            return _loaded(place, text, path)
        except (ValueError, OSError):
            before, text = text, _read(place / JSON_FILE, path)
            if text == before:  # else someone has saved meanwhile, and taken the old arrays away
                raise
    return _loaded(place, text, path)


def migrate_folder(path: str | os.PathLike[str]) -> None:
    """Write the model in the folder `path` again, in the newest format and all that it says as before."""
    save_folder(path, *load_folder(path))


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise now what `save_folder` would raise after hours of training: a foreign folder, or one without permission."""
    place = _resolved(path)
    _refuse_foreign(place, path)
    try:
        if place.exists():
            files.try_to_write(place)
        else:
            trial = place.with_name(f".{place.name}.trial-{secrets.token_hex(4)}")
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


def _save(place: Path, text: bytes, payload: bytes) -> None:
    old = _described(place)
    file = place / description.arrays_file(payload)
    try:
        files.replace(file, payload)
        files.replace(place / JSON_FILE, text)
    finally:
        _tidy(place, old)


def _tidy(place: Path, old: description.Description | None) -> None:
    """Remove what belongs to no model: files of killed saves, and arrays that model.json does not name."""
    now = _described(place)
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            is_stray = description.is_arrays_file(name) and (now is None or name != now.file)
            if files.is_leftover(name) or (is_stray and (now is not None or not (place / JSON_FILE).exists())):
                (place / name).unlink(missing_ok=True)
        if old is not None and now is not None and old.version == 1 and now.version > 1:
            (place / FIRST_ARRAYS_FILE).unlink(missing_ok=True)


def _described(place: Path) -> description.Description | None:
    """What the folder holds; None where that cannot be told."""
    with contextlib.suppress(ValueError, OSError):
        return description.decode(files.read_regular(place / JSON_FILE))
    return None


def _refuse_foreign(place: Path, path: str | os.PathLike[str]) -> None:
    """Never overwrite what is not ours."""
    if not place.exists():
        return
    if not place.is_dir():
        raise FileExistsError(f"'{path}' is a file; a model is saved as a folder. Choose another path.")
    try:
        ours = description.is_ours(files.read_regular(place / JSON_FILE))
    except FileNotFoundError:
        ours = all(files.is_leftover(name) or description.is_arrays_file(name) for name in os.listdir(place))
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


def _left_behind(place: Path) -> list[Path]:
    """Models that earlier versions moved aside when they were killed between two renames."""
    return sorted(place.parent.glob(f".{glob.escape(place.name)}.previous-*")) if place.parent.is_dir() else []


def _recover(place: Path) -> None:
    """Put a model that was moved aside back, with all that was in its folder."""
    left = _left_behind(place)
    if left and not place.exists():
        with contextlib.suppress(OSError):
            left[-1].rename(place)


# --- reading


def _loaded(
    place: Path, text: bytes, path: str | os.PathLike[str]
) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    try:
        found = description.decode(text)
        payload = _read(place / found.file, path, found.n_bytes)
        found.check_arrays(payload)
        arrays = _decode_arrays(payload, found.file)
    except description.Foreign:
        raise ValueError(
            f"'{path}' is not a casimir model: its {JSON_FILE} was written by something else. Check the path."
        ) from None
    except description.TooNew as error:
        raise ValueError(f"'{path}' {error}") from None
    except description.Damaged as error:
        raise _damaged(path, str(error)) from None
    _log.info("loaded a model of the kind %r from %s, written by casimir %s", found.kind, path, found.writer)
    return found.kind, found.meta, arrays


def _read(file: Path, path: str | os.PathLike[str], n_bytes: int | None = None) -> bytes:
    """Of a file that should have n_bytes, which is looked at before it is read."""
    try:
        if n_bytes is not None and file.stat().st_size != n_bytes:
            raise description.Damaged(f"{file.name} has {file.stat().st_size} bytes instead of {n_bytes}")
        return files.read_regular(file)
    except FileNotFoundError:
        raise ValueError(
            f"'{path}' is not a complete casimir model: it has no {file.name}. Give the folder that was saved."
        ) from None
    except OSError as error:
        raise _like(error, f"'{file}' cannot be read ({_reason(error)}). Check its permissions.") from error


def _decode_arrays(payload: bytes, file: str) -> dict[str, np.ndarray]:
    import safetensors.numpy

    try:
        arrays = safetensors.numpy.load(payload)
    except (safetensors.SafetensorError, ValueError, TypeError, LookupError, OverflowError) as error:
        what = f"of the type {error}, which no model has" if isinstance(error, KeyError) else str(error)
        raise description.Damaged(f"{file} cannot be read: {what}") from None
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise description.Damaged(f"{file} has the array {name!r} of {array.dtype}, which no model has")
    return {name: np.array(array) for name, array in arrays.items()}


# --- messages


def _damaged(path: str | os.PathLike[str], what: str) -> ValueError:
    return ValueError(f"The model in '{path}' is damaged: {what}. Copy the folder again or train a new model.")


def _interrupted(place: Path) -> str:
    left = _left_behind(place)
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
