"""The workers of a cluster that hold the pieces of an objective, as the client sees them."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

import dask
from distributed import Client, Future
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from casimir.dask import work
from casimir.dask.clusters import check_versions
from casimir.dask.pieces import Facts
from casimir.dask.vectors import Sent
from casimir.scores import FloatArray

_log = logging.getLogger(__name__)

LOST = (KilledWorker, CancelledError, CommClosedError, TimeoutError)
_WARNING = "distributed.admin.large-graph-warning-threshold"  # weights are no graph
_TRIES = 20  # of one round
_PATIENCE = 120.0  # seconds that there may be no worker at all
_VECTORS = 4  # as long as w, that a worker needs for each of its threads


@dataclass
class Traffic:
    """What training has cost so far.

    down, up   bytes of what was sent to every worker, and of what came back to the client
    oracles    oracle calls
    redone     rounds that were done again because a worker was lost
    """

    workers: int = 0
    down: int = 0
    up: int = 0
    oracles: int = 0
    redone: int = 0
    parts_per_example: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    @property
    def moved(self) -> int:
        """Bytes, those to every worker counted for each."""
        return self.down + self.up

    def told(self) -> list[str]:
        """Two figures of a line of progress."""
        seconds = max(time.perf_counter() - self.began, 1e-9)
        speed = self.oracles * self.parts_per_example / seconds
        found = [f"{_short(speed)} tokens/s", f"{_short(self.moved)}B moved"]
        return [*found, f"{self.redone} redone"] if self.redone else found


def _short(number: float) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000.0:
            return f"{number:.3g} {unit}"
        number /= 1000.0
    return f"{number:.3g} T"


class Team:
    """Pieces of an objective, whoever holds them: what solvers ask of a `Crew`."""

    facts: list[Facts]
    traffic: Traffic

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def shares(self) -> list[float]:
        """How much every piece counts."""
        return [one.weight / self.weight for one in self.facts]

    def each(
        self,
        name: str,
        function: work.Task,
        *args: Any,
        sent: Any = None,
        of: Callable[[int], tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        """function(held, [sent,] *args, *of(k)) of every piece k, or of those chosen, by its number.

        sent  what is large and the same for all, such as weights
        """
        raise NotImplementedError

    def total(self, name: str, function: work.Task, w: FloatArray, *args: Any) -> work.Part:
        """The sum of function(held, w, share, *args) over all pieces, in the order of a tree over their numbers."""
        raise NotImplementedError

    def _learn(self, facts: list[Facts]) -> None:
        """What the pieces are."""
        self.facts = facts
        for k, one in enumerate(facts):
            if one.refused is not None:
                raise TypeError(f"Shard {k} cannot be trained on by several workers: {one.refused}.")
            if one.n_params != facts[0].n_params:
                raise ValueError(
                    f"Shard {k} has {one.n_params} weights and shard 0 has {facts[0].n_params}; they must agree."
                )
        self.weight = sum(one.weight for one in facts)
        self.n_examples = sum(one.n_examples for one in facts)
        self.n_active = sum(one.n_active for one in facts)
        self.n_params = facts[0].n_params
        self.traffic.parts_per_example = sum(one.parts for one in facts) / self.n_examples


class Alone(Team):
    """Pieces in this process, one after another: the same numbers without a cluster, for tests and simulations."""

    def __init__(self, held: Sequence[Any]) -> None:
        self.held, self.traffic = list(held), Traffic(workers=len(held))
        self._learn([work.facts(one) for one in self.held])

    def each(
        self,
        name: str,
        function: work.Task,
        *args: Any,
        sent: Any = None,
        of: Callable[[int], tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        first = () if sent is None else (sent,)
        self.traffic.down += 0 if sent is None else sent.__sizeof__() * self.traffic.workers
        chosen = range(len(self)) if only is None else only
        return [function(self.held[k], *first, *args, *(() if of is None else of(k))) for k in chosen]

    def total(self, name: str, function: work.Task, w: FloatArray, *args: Any) -> work.Part:
        shares = self.shares
        row = self.each(name, function, sent=Sent.of(w), of=lambda k: (shares[k], *args))
        while len(row) > 1:
            row = [work.add(*row[k : k + 2]) for k in range(0, len(row) - 1, 2)] + row[len(row) - len(row) % 2 :]
        self.traffic.up += row[0].__sizeof__() * self.traffic.workers
        self.traffic.oracles += self.n_active
        found: work.Part = row[0]
        return found


class Crew(Team):
    """Pieces on workers, and rounds of work over all of them.

    origins  what makes a future of each piece: called at the beginning, and again if a worker takes the piece with it
    prepare  (function, arguments): what makes a `Held` of a piece on its worker

    Answers come by the number of the piece, and are summed up by it too: who computes what, and what comes first,
    change nothing. A round in which a worker dies is done again.
    """

    def __init__(
        self,
        client: Client,
        origins: Sequence[Callable[[Sequence[str]], Future]],
        prepare: Callable[[Future], tuple[Any, ...]],
    ) -> None:
        self.client, self._origins, self._prepare = client, list(origins), prepare
        if not self._origins:
            raise ValueError("There are no shards; training needs at least one.")
        self._id, self._round = uuid.uuid4().hex, 0
        self.traffic = Traffic()
        self.held: list[Future] = [self._place(k) for k in range(len(self._origins))]
        self._learn(self.each("casimir-look", work.facts))
        self._check_memory()

    def each(
        self,
        name: str,
        function: work.Task,
        *args: Any,
        sent: Any = None,
        of: Callable[[int], tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        def make() -> list[Future]:
            first = () if sent is None else (self._send(sent),)
            return self._submit(name, function, *first, *args, of=of, only=only)

        found: list[Any] = self._insist(make)
        return found

    def _submit(
        self,
        name: str,
        function: work.Task,
        *args: Any,
        of: Callable[[int], tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Future]:
        """The futures of one round."""
        self._round += 1
        return [
            self.client.submit(
                function,
                self.held[k],
                *args,
                *(() if of is None else of(k)),
                key=f"{name}-{self._id}-{self._round}-{k}",
                pure=False,
                priority=len(self._origins) - k,
            )
            for k in (range(len(self._origins)) if only is None else only)
        ]

    def total(self, name: str, function: work.Task, w: FloatArray, *args: Any) -> work.Part:
        shares, sent = self.shares, Sent.of(w)

        def make() -> Future:
            row = self._submit(name, function, self._send(sent), of=lambda k: (shares[k], *args))
            depth = 0
            while len(row) > 1:
                depth += 1
                pairs = [
                    self.client.submit(
                        work.add, *row[k : k + 2], key=f"casimir-sum-{self._id}-{self._round}-{depth}-{k}", pure=False
                    )
                    for k in range(0, len(row) - 1, 2)
                ]
                row = pairs + row[len(row) - len(row) % 2 :]
            return row[0]

        found: work.Part = self._insist(make)
        self.traffic.up += found.__sizeof__() * max(self.traffic.workers, 1)  # a vector leaves every worker
        self.traffic.oracles += self.n_active
        return found

    def _send(self, sent: Any) -> Future:
        """One thing for all workers. It is a task, which Dask does again when a worker dies with the result."""
        self.traffic.workers = len(self.workers())
        self.traffic.down += sent.__sizeof__() * self.traffic.workers
        self._round += 1
        with dask.config.set({_WARNING: "1TB"}):
            return self.client.submit(
                work.weights,
                sent,
                key=f"casimir-weights-{self._id}-{self._round}",
                pure=False,
                priority=len(self._origins) + 1,
            )

    def _insist(self, make: Callable[[], Any]) -> Any:
        """What the futures that `make` submits give; again from its beginning while workers are lost on the way."""
        for left in reversed(range(_TRIES)):
            try:
                if left < _TRIES - 1:
                    self._mend()
                return self.client.gather(make())
            except LOST as error:
                if not left:
                    raise RuntimeError(
                        f"A round was begun {_TRIES} times, and workers were lost each time ({error}). Look at the "
                        "logs of the workers: those that run out of memory are killed."
                    ) from error
                _log.info("a worker was lost (%s); the round is done again", type(error).__name__)
                self.traffic.redone += 1
            except Exception:
                check_versions(self.client)  # of workers that have come since
                raise

    def _mend(self) -> None:
        """Pieces that were lost for good are made again on the workers that are left."""
        self._wait_for_a_worker()
        for k, held in enumerate(self.held):
            if held.status not in ("finished", "pending"):
                self.held[k] = self._place(k)

    def workers(self) -> dict[str, Any]:
        """What the scheduler knows of each worker, by its address."""
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _home(self, k: int) -> list[str]:
        """Where piece k goes to: neighbours go to one worker, whose share is that of its threads."""
        slots = [address for address, one in sorted(self.workers().items()) for _ in range(one["nthreads"])]
        if not slots:
            self._wait_for_a_worker()
            return self._home(k)
        return [slots[k * len(slots) // len(self._origins)]]

    def _wait_for_a_worker(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise RuntimeError(f"The Dask cluster has had no worker for {_PATIENCE:.0f} s. Start some.") from None

    def _place(self, k: int) -> Future:
        for left in reversed(range(_TRIES)):
            try:
                return self._place_once(k)
            except LOST:
                if not left:
                    raise
                self._wait_for_a_worker()
        raise AssertionError("unreachable")

    def _place_once(self, k: int) -> Future:
        home = self._home(k)
        function, *args = self._prepare(self._origins[k](home))
        return self.client.submit(
            function,
            *args,
            key=f"casimir-hold-{self._id}-{uuid.uuid4().hex[:6]}-{k}",
            pure=False,
            workers=home,
            allow_other_workers=True,
        )

    def _check_memory(self) -> None:
        """Before training starts: whether every worker has room for its pieces and for vectors of weights."""
        where = self.client.who_has(self.held)
        vectors = 8 * _VECTORS * self.facts[0].n_params
        for address, worker in self.workers().items():
            limit = worker.get("memory_limit") or 0
            own = sum(
                f.nbytes for f, held in zip(self.facts, self.held, strict=True) if address in where.get(held.key, ())
            )
            needed = own + vectors * worker["nthreads"]
            if limit and needed > limit:
                raise MemoryError(
                    f"The worker {worker.get('name') or address} may use {limit / 1e6:,.0f} MB, and its shards and "
                    f"{_VECTORS} vectors of {self.facts[0].n_params:,} weights per thread need {needed / 1e6:,.0f} MB. "
                    "Give it more memory, take more workers, or pack with fewer hash buckets."
                )
