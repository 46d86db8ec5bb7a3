"""Truths that are sets of outputs: labels that are unknown, or one of several, and latent parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray, Scores
from casimir.structures.base import Structure, indicator

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TruthSets:
    """Which outputs may be the truth, example by example.

    masks      as `structure.restricted` takes them: bool[p_i, L] for labels, bool[m_i] for candidates, ...
    structure  restricted to them
    is_open    bool[n]: whether more than one output is left
    """

    masks: list[BoolArray]
    structure: Structure
    is_open: BoolArray


def has_masks(y: Any) -> bool:
    return any(isinstance(output, np.ndarray) and output.dtype == np.bool_ for output in y)


def truth_sets(structure: Structure, layout: Scores, y: Sequence[Any]) -> TruthSets:
    """The sets that y means: a mask for each example, or an output, which is a set of one."""
    restricted = getattr(structure, "restricted", None)
    if restricted is None:
        raise TypeError(
            f"y has masks of outputs that may be true, which needs {type(structure).__name__}.restricted; it does not "
            "have it. Give one output per example."
        )
    masks = [
        given if given.dtype == np.bool_ else _mask_of(structure.select([i]), layout.select([i]), given)
        for i, given in enumerate(y)
    ]
    return TruthSets(masks, restricted(masks), np.array([not _is_single(mask) for mask in masks], dtype=np.bool_))


def _mask_of(structure: Structure, s: Scores, output: IntArray) -> BoolArray:
    """The mask that leaves one output of one example."""
    listed = getattr(structure, "outputs", None)
    if listed is not None:
        return np.asarray((listed(0) == output).all(axis=1))
    return np.asarray(indicator(structure, s, [output]).unary(0) > 0.0)


def _is_single(mask: BoolArray) -> bool:
    """Whether the mask leaves one choice everywhere."""
    return bool((mask.sum(axis=-1) == 1).all())
