"""Sentences in Arrow or Parquet files: a list of tokens and a list of tags per row.

Tags are strings, or numbers whose names the file tells, as data sets of the Hugging Face hub do.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from casimir._limits import check_unpacked
from casimir.tasks.tag.jsonlines import TAGS, TOKENS

_PARQUET, _ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")


def is_arrow(path: Path) -> bool:
    """By its name."""
    return path.suffix in (*_PARQUET, *_ARROW)


def read_arrow(
    path: Path, fields: tuple[str, str], rows: int, progress: Callable[[int, int], None]
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """(number of the first row, records with tokens and tags), `rows` rows at a time; progress: rows read, and all."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ValueError(
            f"{path} is an Arrow or Parquet file, which needs pyarrow: pip install 'casimir[arrow]'."
        ) from None
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no regular file; Arrow and Parquet files are read from regular files only.")
    try:
        with contextlib.ExitStack() as stack:
            if path.suffix in _PARQUET:
                file = stack.enter_context(parquet.ParquetFile(path))
                schema, total = file.schema_arrow, file.metadata.num_rows
                _check(path, schema, fields)
                groups = (file.read_row_group(k, columns=list(fields)) for k in range(file.num_row_groups))
                batches: Any = (batch for group in groups for batch in group.to_batches(max_chunksize=rows))
            else:
                source = stack.enter_context(pyarrow.memory_map(str(path)))
                schema, total, batches = _arrow_batches(pyarrow, source)
                _check(path, schema, fields)
            names, first, size = _names(schema, fields[1]), 0, path.stat().st_size
            for batch in batches:
                batch.validate(full=True)  # Arrow reads where offsets say, and nobody else looks at them
                check_unpacked(batch.nbytes, size, str(path))
                for start in range(0, len(batch), rows):
                    part = batch.slice(start, rows)
                    tokens, tags = (part.column(_place(part, name)).to_pylist() for name in fields)
                    yield first, [_record(*one, names) for one in zip(tokens, tags, strict=True)]
                    first += len(part)
                    progress(first, max(total, first))
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def _place(batch: Any, name: str) -> int:
    """The place of a column."""
    return int(batch.schema.get_field_index(name))


def _arrow_batches(pyarrow: Any, source: Any) -> tuple[Any, int, Iterator[Any]]:
    """(schema, rows or 0 where the file does not tell, batches) of a file or a stream."""
    try:
        file = pyarrow.ipc.open_file(source)
    except pyarrow.ArrowInvalid:
        source.seek(0)
        stream = pyarrow.ipc.open_stream(source)
        return stream.schema, 0, iter(stream)
    return file.schema, 0, (file.get_batch(k) for k in range(file.num_record_batches))


def _check(path: Path, schema: Any, fields: tuple[str, str]) -> None:
    for name, option in zip(fields, ("--tokens", "--tags"), strict=True):
        if schema.get_field_index(name) < 0:
            raise ValueError(
                f"{path} has no column {name!r}; its columns are {', '.join(schema.names)}. Name the right one with "
                f"{option}."
            )


def _names(schema: Any, tags: str) -> Sequence[str] | None:
    """The names of tags that are numbers, where the file tells them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][tags]
        found = features["feature" if "feature" in features else "_type"]["names"]
    except (KeyError, TypeError, ValueError):
        return None
    return [str(name) for name in found] if isinstance(found, list) else None


def _record(tokens: Any, tags: Any, names: Sequence[str] | None) -> dict[str, Any]:
    if names is not None and isinstance(tags, list):
        tags = [names[tag] if isinstance(tag, int) and 0 <= tag < len(names) else tag for tag in tags]
    return {TOKENS: tokens, TAGS: tags}
