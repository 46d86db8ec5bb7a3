"""One sentence with its columns and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: a word, the values of some named columns and, if known, a label for each token.

    words       tuple[str, ...]
    columns     name -> tuple[str, ...], such as "pos" and "chunk"; empty when there are only words
    labels      tuple[str, ...], or None when unlabelled
    document    number of the document it belongs to; None when the source does not tell
    """

    words: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    document: int | None = None

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError("a sentence needs at least one word, got none; drop empty sentences")
        for name, values in [*self.columns.items(), ("label", self.labels)]:
            if values is not None and len(values) != len(self.words):
                raise ValueError(
                    f"{len(self.words)} words but {len(values)} values in column {name!r}, "
                    f"in the sentence {' '.join(self.words[:8])!r}; each token needs one of each"
                )

    def __len__(self) -> int:
        return len(self.words)

    def with_labels(self, labels: tuple[str, ...] | None) -> Sentence:
        """The same sentence with other labels."""
        return replace(self, labels=labels)
