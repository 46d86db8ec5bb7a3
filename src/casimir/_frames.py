"""DataFrames, which iterate over the names of their columns, told from lists of sentences."""

from __future__ import annotations

from typing import Any

_TOKENS = "frame.to_dict('records'), a dict per token"


def is_frame(x: Any) -> bool:
    """Whether x is a table of pandas, Polars or the like."""
    return hasattr(x, "columns") and hasattr(x, "dtypes")


def check_no_frame(sequences: Any) -> None:
    """Sentences must not come as one table."""
    if is_frame(sequences):
        raise TypeError(
            "a DataFrame is no list of sequences, each a list of tokens; write [rows.to_dict('records') for _, rows in "
            "frame.groupby(column)] with the column that tells the sentences apart."
        )


def check_dicts(sequences: list[Any]) -> None:
    """Nor as a list of tables, where matrices are not read."""
    for i, sequence in enumerate(sequences):
        if is_frame(sequence):
            raise TypeError(f"sequence {i} is a DataFrame; write {_TOKENS}.")


def not_numbers(i: int) -> TypeError:
    """What to say of sentence i, a table whose columns are not all numbers."""
    return TypeError(f"sequence {i} is a DataFrame that does not hold numbers alone; write {_TOKENS}.")
