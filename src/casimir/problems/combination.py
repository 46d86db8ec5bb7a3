"""What stands beside the model in a sum of maxima: structure, costs, truth and offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from casimir._validate import all_finite, flat_labels
from casimir.costs import Cost
from casimir.problems.base import Truth
from casimir.scores import IntArray, Scores, check_same_layout


class Combination(NamedTuple):
    """See `Term` for what each of them is."""

    structure: Any
    cost: Cost | None
    y: Sequence[Any]
    truth: Truth
    offset: Scores | None = None

    @property
    def truth_is_native(self) -> bool:
        """Whether it is outputs, or marginals in the core's layout and not in that of the composed problem."""
        return self.truth.marginals is None or self.truth.is_fused

    def fixed_scores(self, layout: Scores) -> Scores | None:
        """Part scores that do not depend on w: the costs plus the offset, or None when there are none."""
        costs = None if self.cost is None else self.cost.parts(self.structure, layout, self.y)
        if self.offset is None:
            return costs
        check_offset(self.offset, layout)
        return self.offset if costs is None else costs + self.offset

    def flat_truth(self, lengths: IntArray, n_labels: Any) -> Any | None:
        """int32[N]: the true outputs of all examples, one after another; None where the truth is no output."""
        if self.truth.outputs is None:
            return None
        return flat_labels(self.truth.outputs, lengths, n_labels, "y").astype(np.int32)


def check_offset(offset: Any, layout: Scores) -> None:
    """An offset must be finite scores of the parts of the same examples."""
    if not isinstance(offset, Scores):
        raise TypeError(f"offset is a {type(offset).__name__}; it must be Scores, such as structure.scores(...) makes.")
    check_same_layout(layout, offset)
    if not all(part is None or all_finite(part) for part in (offset.nodes, offset.edges, offset.whole)):
        raise ValueError("offset has entries that are NaN or infinite; they must be finite.")
