"""minimize over pieces that lie on workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future

from casimir.dask import work
from casimir.dask.blocks import check_dual
from casimir.dask.central import Central
from casimir.dask.clusters import connected
from casimir.dask.crew import Crew
from casimir.dask.objective import SpreadObjective
from casimir.dask.pieces import Piece
from casimir.dask.sharded import Sharded
from casimir.losses import as_loss
from casimir.scores import FloatArray
from casimir.solvers import LBFGS, Result
from casimir.solvers import minimize as minimize_here
from casimir.solvers.base import Solver, check_solver
from casimir.solvers.checkpoint import Checkpoint
from casimir.solvers.run import Callback, Metric


def minimize(
    pieces: Sequence[Piece | Future],
    loss: Any,
    penalty: Any,
    solver: str | Solver = "auto",
    epochs: int = 500,
    tol: float = 1e-2,
    seed: int | np.random.Generator = 0,
    callbacks: Iterable[Callback] = (),
    *,
    client: Any = None,
    w0: FloatArray | None = None,
    checkpoint: Checkpoint | None = None,
    metrics: Mapping[str, Metric] | None = None,
    evaluate_every: int = 1,
) -> Result:
    """min_w sum_i s_i f_i(w) / sum_i s_i + R(w), the examples i in pieces on the workers of a Dask cluster.

    pieces   a `Piece` each, or a Dask future of one, which stays where it is. There should be as many as the workers
             have threads at the least. The result depends on the pieces and their order, and on the seed; not on the
             number of workers, nor on which of them dies on the way
    solver   "auto", "lbfgs", "central", "sharded", Central(), Sharded(), or one that makes full passes: LBFGS(),
             GradientDescent(lipschitz=...), Casimir(inner=LBFGS())
    client   a `distributed.Client`, the address of a scheduler, or "local:4"; None: the client of this process

    The others are those of `casimir.minimize`, and so is the result, with its certified gap.
    """
    with connected(client) as one:
        pieces = _listed(pieces)
        crew = crew_of(one, pieces, loss)
        whole = [piece for piece in pieces if isinstance(piece, Piece)]
        objective = SpreadObjective(crew, loss, penalty, (lambda: whole) if len(whole) == len(pieces) else None)
        chosen = solver_for(solver, objective)
        return minimize_here(
            objective,
            chosen,
            epochs,
            tol,
            seed,
            callbacks,
            w0=w0,
            checkpoint=checkpoint,
            metrics=metrics,
            evaluate_every=evaluate_every,
        )


def solver_for(solver: str | Solver, objective: SpreadObjective) -> Solver:
    """The solver of that name. "auto" is LBFGS for a smooth loss, exact for any number of workers.

    For a hinge loss it is Central where the client has the examples as well, or room for them, else Sharded; and LBFGS
    on a smoothed loss where these have no steps: for penalties other than a square, and structures that the core does
    not know.
    """
    if not isinstance(solver, str):
        check_solver(solver)
        return solver
    if solver not in ("auto", "lbfgs", "central", "sharded"):
        raise ValueError(
            f"solver={solver!r}; on many workers it must be 'auto', 'lbfgs', 'central', 'sharded', or a solver."
        )
    if solver != "auto":
        makers: dict[str, Callable[[], Solver]] = {"lbfgs": LBFGS, "central": Central, "sharded": Sharded}
        return makers[solver]()
    try:
        check_dual(objective, "auto")
    except TypeError:
        return LBFGS()
    return Sharded() if objective.whole is None else Central()


def _listed(pieces: Any) -> list[Any]:
    if isinstance(pieces, Piece | Future):
        raise TypeError("pieces is a single one; give a list of them, several for each worker.")
    if not isinstance(pieces, Iterable):
        raise TypeError(f"pieces is a {type(pieces).__name__}; it must be a list of pieces, several for each worker.")
    return list(pieces)


def crew_of(client: Client, pieces: Sequence[Piece | Future], loss: Any) -> Crew:
    """The workers that hold the pieces."""
    for k, one in enumerate(pieces):
        if not isinstance(one, Piece | Future):
            raise TypeError(f"pieces[{k}] is a {type(one).__name__}; it must be a Piece, or a Dask future of one.")
    known = as_loss(loss)
    return Crew(client, [origin_of(client, one) for one in pieces], lambda piece: (work.hold, piece, known, 1))


@dataclass(frozen=True, eq=False)
class OfClient:
    """The future of something that the client has, and can send again."""

    client: Client
    thing: Any

    def __call__(self, home: Sequence[str]) -> Future:
        try:
            return self.client.scatter(self.thing, workers=home, hash=False)
        except KeyError:  # the worker has gone since
            return self.client.scatter(self.thing, hash=False)


@dataclass(frozen=True, eq=False)
class OfFuture:
    """A future that was made before; Dask knows how to make it again, or it is lost with its worker."""

    future: Future

    def __call__(self, home: Sequence[str]) -> Future:
        if self.future.status in ("cancelled", "lost"):
            raise RuntimeError(
                f"The future {self.future.key!r} was lost with its worker, and Dask does not know how to make it "
                "again. Make shards by client.submit or from bags rather than by client.scatter."
            )
        return self.future


def origin_of(client: Client, thing: Any) -> Callable[[Sequence[str]], Future]:
    """How to come by a future of it, once more if it has to be."""
    return OfFuture(thing) if isinstance(thing, Future) else OfClient(client, thing)
