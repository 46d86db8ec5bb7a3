"""How tensors of scores, targets and outputs belong to the parts of each kind of structure."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casimir._validate import sequence_of
from casimir.scores import FloatArray, IntArray, offsets_of, ragged_rows
from casimir.structures.base import Structure, split_flat
from casimir.structures.candidates import Candidates
from casimir.structures.matching import Matching
from casimir.torch.batch import Rows, TensorOrList, as_mask, read_integers, read_rows
from casimir.torch.layout import Layout, check_floating
from casimir.torch.outputs import takes_pairs


class Labels(Layout):
    """A label per row: chains, trees and other labelled graphs. scores [B, T, L], target and outputs [B, T]."""

    tail = 1
    shape = "T, L"

    def _checked(self, given: Any) -> TensorOrList:
        checked = super()._checked(given)
        labels = getattr(self.structure, "n_labels", None)
        for part in [checked] if isinstance(checked, Tensor) else checked:
            labels = part.shape[-1] if labels is None else labels
            if part.shape[-1] != labels:
                raise ValueError(
                    f"scores has {part.shape[-1]} labels in its last dimension; this {self.name} has {labels}."
                )
        return checked

    def read_targets(self, target: Any) -> FloatArray:
        flat = read_integers(target, self._row_shape(), "target")
        self.rows = self.rows.without(self.rows.take(flat) == self.ignore_index)
        self._y: IntArray = self.rows.take(flat)
        labels = self.nodes.shape[-1]
        bad = np.flatnonzero((self._y < 0) | (self._y >= labels))
        if len(bad):
            raise self._bad_target(bad[0], self._y[bad[0]], labels - 1)
        return (self.rows.counts > 0).astype(np.float64)

    @property
    def flat_targets(self) -> IntArray:
        """int64[N]: the label of every row that is left."""
        return self._y

    def outputs(self) -> list[IntArray]:
        return split_flat(self._y, self.rows.left)

    def padded_outputs(self, outputs: list[IntArray]) -> Tensor | list[Tensor]:
        return self._padded_rows(np.concatenate([np.zeros(0, dtype=np.int64), *outputs]))


class Listed(Layout):
    """One of a list of candidates. scores [B, M], target and outputs [B]: the number of a candidate as given."""

    shape = "M"

    def read_targets(self, target: Any) -> FloatArray:
        flat = read_integers(target, (len(self),), "target")
        there = flat != self.ignore_index
        sizes = np.diff(self.rows.bounds)
        bad = np.flatnonzero(there & ((flat < 0) | (flat >= sizes)))
        if len(bad):
            i = int(bad[0])
            raise ValueError(
                f"target[{i}] is {flat[i]}; example {i} has the candidates 0 to {sizes[i] - 1}, and "
                f"{self.ignore_index} is for examples that are to be ignored."
            )
        rank = np.full(self.rows.bounds[-1], -1)  # of every candidate among those kept
        rank[self.rows.numbers] = np.arange(self.rows.offsets[-1]) - np.repeat(self.rows.offsets[:-1], self.rows.counts)
        self._y = np.where(there, rank[self.rows.bounds[:-1] + np.where(there, flat, 0)], 0)
        hidden = np.flatnonzero(self._y < 0)
        if len(hidden):
            raise ValueError(f"target[{hidden[0]}] is {flat[hidden[0]]}, a candidate that the mask leaves out.")
        weights: FloatArray = there.astype(np.float64)
        return weights

    def outputs(self) -> list[IntArray]:
        return list(self._y[:, None])

    def padded_outputs(self, outputs: list[IntArray]) -> Tensor | list[Tensor]:
        y = np.concatenate([np.zeros(0, dtype=np.int64), *outputs])
        return torch.from_numpy(self.rows.position[self.rows.offsets[:-1] + y]).to(self.nodes.device)


class Cells(Layout):
    """A column for every row: matchings. scores [B, P, Q], target and outputs [B, P]: the number of a column as given.

    mask bool[B, P] leaves out rows; bool[B, P, Q] leaves out rows and columns, the cells of whole rows and columns.
    """

    shape = "P, Q"

    def _read_rows(self, mask: Any, lengths: Any) -> Rows:
        if not isinstance(self.given, Tensor):
            self._columns = Rows.of(np.array([part.shape[1] for part in self.given]), None, None)
            return read_rows(self.given, mask, lengths, "scores")
        size, _, width = self.given.shape
        columns = None
        if mask is not None and np.ndim(mask) == 3:
            cells = as_mask(mask, "mask")
            if cells.shape != tuple(self.given.shape):
                raise ValueError(f"mask has shape {list(cells.shape)}; scores {list(self.given.shape)} need the same.")
            mask, columns = np.any(cells, axis=2), np.asarray(np.any(cells, axis=1))
            if not np.array_equal(cells, mask[:, :, None] & columns[:, None]):
                raise ValueError(
                    "mask leaves out single cells; it can leave out whole rows and columns. To forbid a cell, give it "
                    "a large negative score such as -1e6."
                )
        if columns is not None and getattr(self.structure, "null", False) and not columns[:, -1].all():
            raise ValueError(
                "mask leaves out the last column, the score of unmatched rows, which Matching(null=True) needs."
            )
        self._columns = Rows.of(np.full(size, width), width, None if columns is None else columns.reshape(-1))
        return read_rows(self.given, mask, lengths, "scores")

    def index(self) -> IntArray | None:
        if self.rows.kept is None and self._columns.kept is None:
            return None
        width = np.diff(self._columns.bounds)  # of every example, as given
        starts = offsets_of(np.diff(self.rows.bounds) * width)[:-1]
        example, position = self.rows.example, self.rows.position
        first = starts[example] + position * width[example]
        cells, offsets = ragged_rows(self._columns.offsets, example)
        return np.repeat(first, np.diff(offsets)) + self._columns.position[cells]

    def offsets(self) -> IntArray:
        there = self.rows.counts > 0
        return offsets_of((self.rows.counts * self._columns.counts)[there])

    def _ragged_place(self, row: int) -> list[int]:
        left = int(np.searchsorted(self.offsets(), row, side="right")) - 1
        example, cell = int(self.chosen()[left]), row - int(self.offsets()[left])
        first = self.rows.place(int(self.rows.offsets[example]) + cell // int(self._columns.counts[example]))
        return [*first, cell % int(self._columns.counts[example])]

    def shapes(self) -> IntArray | None:
        both = np.stack([self.rows.counts, self._columns.counts], axis=1)
        return both[both[:, 0] > 0]

    def read_targets(self, target: Any) -> FloatArray:
        flat = read_integers(target, self._row_shape(), "target")
        self.rows = self.rows.without(self.rows.take(flat) == self.ignore_index)
        y, example, columns = self.rows.take(flat), self.rows.example, self._columns
        width = np.diff(columns.bounds)
        bad = np.flatnonzero((y < 0) | (y >= width[example]))
        if len(bad):
            raise self._bad_target(bad[0], y[bad[0]], int(width[example[bad[0]]]) - 1)
        rank = np.full(columns.bounds[-1], -1)
        rank[columns.numbers] = np.arange(columns.offsets[-1]) - np.repeat(columns.offsets[:-1], columns.counts)
        self._y = rank[columns.bounds[:-1][example] + y]
        hidden = np.flatnonzero(self._y < 0)
        if len(hidden):
            place = self.rows.place(hidden[0])
            raise ValueError(f"target{place} is {y[hidden[0]]}, a column that the mask leaves out.")
        return (self.rows.counts > 0).astype(np.float64)

    def outputs(self) -> list[IntArray]:
        return split_flat(self._y, self.rows.left)

    def padded_outputs(self, outputs: list[IntArray]) -> Tensor | list[Tensor]:
        y = np.concatenate([np.zeros(0, dtype=np.int64), *outputs])
        return self._padded_rows(self._columns.position[self._columns.offsets[:-1][self.rows.example] + y])


class Plain(Layout):
    """Any other structure: no masks; outputs as the structure numbers them. scores [B, ...] or a list, target alike."""

    shape = "..."

    def _checked(self, given: Any) -> TensorOrList:
        if isinstance(given, Tensor) and given.ndim >= 2:
            check_floating(given, "scores")
            return given
        if isinstance(given, Tensor):
            raise ValueError(f"scores has shape {list(given.shape)}; {self.name} needs [B, ...] or a list of tensors.")
        parts = list(sequence_of(given, "scores"))
        if not parts or not all(isinstance(part, Tensor) for part in parts):
            raise TypeError(f"scores must be a tensor or a list of tensors for a {self.name}, one per example.")
        return parts

    def _read_rows(self, mask: Any, lengths: Any) -> Rows:
        if mask is not None or lengths is not None:
            raise ValueError(f"A {self.name} takes no mask or lengths; give a list of tensors, one per example.")
        return Rows.of(np.array([part.numel() for part in self.given]), None, None)

    def shapes(self) -> IntArray | None:
        parts = list(self.given)
        return np.array([part.shape for part in parts], dtype=np.int64) if parts[0].ndim == 2 else None

    def read_targets(self, target: Any) -> FloatArray:
        given = list(sequence_of(target, "target"))
        if len(given) != len(self):
            raise ValueError(f"target has {len(given)} entries for {len(self)} examples.")
        self._y = [read_integers(y, tuple(np.shape(y)), f"target[{i}]") for i, y in enumerate(given)]
        return np.ones(len(self))

    def outputs(self) -> list[IntArray]:
        return self._y

    def padded_outputs(self, outputs: list[IntArray]) -> Tensor | list[Tensor]:
        tensors = [torch.from_numpy(np.ascontiguousarray(y)).to(self.nodes.device) for y in outputs]
        equal = all(a.shape == b.shape for a, b in itertools.pairwise(tensors))
        return torch.stack(tensors) if self.is_padded and equal else tensors


def layout_of(structure: Structure, given: Any, mask: Any, lengths: Any, ignore_index: int) -> Layout:
    kind: type[Layout] = Plain
    if isinstance(structure, Candidates):
        kind = Listed
    elif isinstance(structure, Matching):
        kind = Cells
    elif takes_pairs(structure):
        kind = Labels
    return kind(structure, given, mask, lengths, ignore_index)
