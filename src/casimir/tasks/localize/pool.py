"""Pictures of one or several classes: found, proposed and described once, however many classes look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from casimir.scores import IntArray
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.descriptors import Descriptor
from casimir.tasks.localize.pictures import Picture

Describe = Callable[[Sequence[Picture]], CandidateSet]


@dataclass(frozen=True, eq=False)
class Pool:
    """pictures   each once
    boxes      boxes[name][k]: the object of class `name` in picture k; None where there is none, or it is not known
    describe   pictures -> candidates with features; called when they are first asked for
    """

    pictures: Sequence[Picture]
    boxes: Mapping[str, Sequence[IntArray | None]]
    describe: Describe

    @classmethod
    def of(cls, by_class: Mapping[str, Sequence[Picture]], describe: Describe) -> Pool:
        """Pictures by class; those of equal names are one picture, if they are in several classes."""
        if len(by_class) == 1:
            ((name, own),) = by_class.items()
            return cls(list(own), {name: [picture.box for picture in own]}, describe)
        distinct = {picture.name: replace(picture, box=None) for own in by_class.values() for picture in own}
        boxes = {name: _boxes_by_picture(name, own) for name, own in by_class.items()}
        return cls(
            list(distinct.values()), {name: [own.get(p) for p in distinct] for name, own in boxes.items()}, describe
        )

    @cached_property
    def candidates(self) -> CandidateSet:
        return self.describe(self.pictures)

    def images(self, descriptor: Descriptor | None = None) -> Images:
        """All of them."""
        return Images(self, range(len(self.pictures)), descriptor)


def _boxes_by_picture(name: str, own: Sequence[Picture]) -> dict[str, IntArray | None]:
    boxes: dict[str, IntArray | None] = {}
    for picture in own:
        if picture.name in boxes:
            raise ValueError(f"{picture.name!r} is there twice as a picture of the class {name!r}; leave one out.")
        boxes[picture.name] = picture.box
    return boxes


@dataclass(frozen=True, eq=False)
class Images:
    """Some of the pictures of a pool; `descriptor` makes their features, None where a model does."""

    pool: Pool
    rows: Sequence[int]
    descriptor: Descriptor | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, examples: Sequence[int] | IntArray) -> Images:
        return replace(self, rows=[self.rows[i] for i in examples])

    @property
    def pictures(self) -> list[Picture]:
        return [self.pool.pictures[i] for i in self.rows]

    @property
    def candidates(self) -> CandidateSet:
        """Those of all pictures."""
        return self.pool.candidates.select(self.rows)

    def boxes(self, name: str) -> list[IntArray | None]:
        """The object of a class in every picture."""
        return [self.pool.boxes[name][i] for i in self.rows]

    def labelled(self, name: str) -> CandidateSet:
        """The candidates of the pictures with an object of a class, and where it is."""
        boxes = self.pool.boxes[name]
        rows = [i for i in self.rows if boxes[i] is not None]
        truth = np.array([boxes[i] for i in rows], dtype=np.int64).reshape(-1, 4)
        return replace(self.pool.candidates.select(rows), truth=truth)
