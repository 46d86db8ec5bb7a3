"""How the scores and outputs of one example lie in tensors: what a structure says so that batches can be padded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property


@dataclass(frozen=True)
class TensorLayout:
    """The axes of one example; a batch of them has one more axis in front.

    nodes    the axes of the node scores, one or two. A number is a size that all examples share; a name, such as "T",
             one that may differ between them, so that tensors are padded there. The first is a name: its entries are
             the rows that masks and lengths cut. ("T", "T") is a square matrix, cut on both sides; the last column
             of ("T", "Q + 1") is always there
    output   the axes of an output: () is one number, (2,) two, ("T",) one per row; a name that is no axis of the
             nodes is a size that the structure alone knows
    numbers  what the numbers in an output are. An axis: they count its entries, and are renumbered where a mask leaves
             some out. A number n: they are 0 to n - 1. None: the structure checks them itself
    edges    None, or the number of edges, each with scores [L, L]: "T - 1", one from each row to the next; "T", one per
             row; another name, as many as structure.edges(i) lists
    holes    whether any row (or column) may be left out, and the others close up. If not, only the last ones may

    >>> TensorLayout(nodes=("T", 2), output=(2,), numbers="T")  # spans: scores [B, T, 2], targets [B, 2]
    TensorLayout(nodes=('T', 2), output=(2,), numbers='T', edges=None, holes=False)
    """

    nodes: tuple[str | int, ...]
    output: tuple[str | int, ...]
    numbers: str | int | None = None
    edges: str | None = None
    holes: bool = False

    def __post_init__(self) -> None:
        for name, most in (("nodes", 2), ("output", 1)):
            axes = getattr(self, name)
            if not isinstance(axes, tuple) or len(axes) > most or not all(_is_axis(axis) for axis in axes):
                raise ValueError(f"{name}={axes!r}; it must be a tuple of names and sizes, {most} or fewer.")
        if not self.nodes or not str(self.nodes[0]).isidentifier():
            raise ValueError(f"nodes={self.nodes!r}; the first axis needs a name such as 'T', as its size may differ.")
        if isinstance(self.numbers, str) and self.numbers not in self.nodes:
            raise ValueError(f"numbers={self.numbers!r} is no axis of nodes={self.nodes!r}.")
        if self.edges is None:
            return
        if self.n_labels is None:
            raise ValueError(f"edges={self.edges!r} need labels: nodes={self.nodes!r} must be a name and their number.")
        if self.missing_edges is None and not self.edges.isidentifier():
            row = self.nodes[0]
            raise ValueError(f"edges={self.edges!r}; it must be '{row} - 1', '{row}' or a name of its own.")

    def __str__(self) -> str:
        """The axes of the nodes, as they are written in shapes."""
        return ", ".join(map(str, self.nodes))

    @cached_property
    def n_labels(self) -> int | None:
        """The size of the second axis where all examples share it."""
        last = self.nodes[-1]
        return last if isinstance(last, int) else None

    @cached_property
    def has_columns(self) -> bool:
        """Whether examples may differ in the second axis too."""
        return len(self.nodes) == 2 and self.n_labels is None

    @cached_property
    def is_square(self) -> bool:
        """Whether node scores form a square."""
        return self.nodes[1:] == self.nodes[:1]

    @cached_property
    def keeps_last_column(self) -> bool:
        """Whether a last column stands for none of the others."""
        return str(self.nodes[-1]).endswith("+ 1")

    @cached_property
    def output_per_row(self) -> bool:
        """Whether an output has one number per row of the node scores."""
        return self.output == self.nodes[:1]

    @cached_property
    def output_size(self) -> int | None:
        """How many numbers an output has, where this is the same for all examples."""
        size = self.output[0] if self.output else 1
        return size if isinstance(size, int) else None

    @cached_property
    def is_choice(self) -> bool:
        """Whether an output is the number of a row, and a row has one score."""
        return self.output == () and (self.numbers,) == self.nodes

    @cached_property
    def missing_edges(self) -> int | None:
        """By how much an example has fewer edges than rows; None where the structure lists them."""
        return {f"{self.nodes[0]} - 1": 1, self.nodes[0]: 0}.get(self.edges or "")

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether the node scores of one example may have this shape."""
        if len(shape) != len(self.nodes) or (self.is_square and shape[0] != shape[1]):
            return False
        return self.n_labels is None or shape[-1] == self.n_labels


@cache
def labels_layout(n_labels: int, edges: str) -> TensorLayout:
    """One of L labels per row."""
    return TensorLayout(("T", n_labels), ("T",), n_labels, edges, holes=True)


def _is_axis(axis: object) -> bool:
    if isinstance(axis, str):
        return axis.removesuffix(" + 1").isidentifier()
    return isinstance(axis, int) and axis > 0
