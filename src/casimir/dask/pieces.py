"""Shards of an objective: what a user gives, and what a worker holds of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir._validate import weights_of
from casimir.losses import Loss
from casimir.models.base import layout_of
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.persistence.fingerprint import fingerprint
from casimir.scores import Scores
from casimir.solvers.at_zero import Scale, scale_at_zero

_SAMPLED = 20  # examples of a piece


@dataclass(frozen=True, eq=False)
class Piece:
    """Some of the examples of an objective, as `Objective` takes them; the weights are those of all pieces together.

    model          of these examples alone; its `n_params` is the same in all pieces
    structure      of these examples alone
    y              their true outputs
    sample_weight  how much each counts; None: 1. It is compared with that of all examples, in other pieces too
    """

    model: Any
    structure: Any
    y: Any
    sample_weight: Any = None

    def __post_init__(self) -> None:
        for name, needed, such in (("model", "n_examples", "LinearChainModel"), ("structure", "select", "Chain")):
            given = getattr(self, name)
            if not hasattr(given, needed):
                raise TypeError(f"{name} is a {type(given).__name__}; it must be a {name} such as a {such}.")
        if self.sample_weight is not None and not weights_of(self.sample_weight, self.model.n_examples).any():
            raise ValueError("sample_weight of a piece is zero everywhere; leave the piece out.")

    @property
    def weight(self) -> float:
        """Of all its examples."""
        return float(self.model.n_examples if self.sample_weight is None else np.sum(self.sample_weight))


@dataclass(frozen=True)
class Facts:
    """What the client knows of a piece: everything but the examples.

    weight         of its examples together
    parts          tokens, nodes or candidates
    nbytes         of its arrays
    log_n_outputs  the mean of log |Y_i|
    at_zero        what the gradients of a few examples at w = 0 tell, where the loss has dual steps
    digest         of the data
    native         whether the core knows model, structure and loss
    refused        why it cannot be trained on; None: nothing
    """

    n_examples: int
    n_active: int
    n_params: int
    weight: float
    parts: int
    nbytes: int
    log_n_outputs: float
    at_zero: Scale
    digest: str
    native: bool
    refused: str | None


class Held:
    """A piece on a worker, with its native problem. One that moves to another worker is made anew there.

    kept  what a solver keeps here of the piece between two rounds, and never anywhere else
    lock  held by who reads or changes `kept`
    """

    def __init__(self, piece: Piece, loss: Loss, threads: int) -> None:
        if not isinstance(piece, Piece):
            raise TypeError(f"A future of a piece gave a {type(piece).__name__}; it must give a casimir.dask.Piece.")
        self.piece, self.loss, self.threads = piece, loss, threads
        self.kept: Any = None
        self.lock = threading.Lock()

    def __reduce__(self) -> Any:
        return Held, (self.piece, self.loss, self.threads)

    def __sizeof__(self) -> int:
        return nbytes_of(self.piece)

    @cached_property
    def objective(self) -> Objective:
        """The mean loss of these examples, without a penalty."""
        p = self.piece
        return Objective(p.model, p.structure, self.loss, p.y, Ridge(0.0), p.sample_weight, n_threads=self.threads)

    def facts(self) -> Facts:
        """Everything but the examples."""
        p, objective, refused = self.piece, self.objective, None
        if not objective.is_convex:
            refused = "every example needs one true output, and scores that are linear in the weights"
        has_steps = refused is None and objective.dual_variables is not None
        return Facts(
            n_examples=objective.n_examples,
            n_active=objective.n_active,
            n_params=objective.n_params,
            weight=p.weight,
            parts=_parts(layout_of(p.model)),
            nbytes=nbytes_of(p),
            log_n_outputs=objective.log_n_outputs(),
            at_zero=scale_at_zero(objective, _SAMPLED) if has_steps else Scale(1.0, 0.0, 0.0),
            digest=fingerprint((p.model, p.y, p.sample_weight)),
            native=objective.is_native,
            refused=refused,
        )


def _parts(layout: Scores) -> int:
    return len(layout.nodes)


def nbytes_of(value: Any) -> int:
    """Of all arrays in an object, each counted once."""
    seen: set[int] = set()
    total, todo = 0, [value]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            total += one.nbytes
        elif isinstance(one, list | tuple):
            todo += one
        elif isinstance(one, dict):
            todo += one.values()
        elif hasattr(one, "tocsr") and hasattr(one, "data"):
            todo += [one.data, one.indices, one.indptr] if hasattr(one, "indptr") else [one.data]
        else:
            todo += getattr(one, "__dict__", {}).values()
            todo += [getattr(one, name) for name in getattr(type(one), "__slots__", ()) if hasattr(one, name)]
    return total
