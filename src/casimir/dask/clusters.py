"""Clients of clusters, from what people write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, LocalCluster, get_client

from casimir._validate import positive_int


@contextmanager
def connected(given: Any) -> Iterator[Client]:
    """A client, which is closed at the end if it was opened here.

    given  a Client; "tcp://host:8786", the address of a scheduler; "local:4", that many processes on this machine for
           as long as it takes; None: the client that is open in this process
    """
    if given is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "client=None is the Dask client of this process, and there is none. Give a Client, the address of a "
                "scheduler such as 'tcp://host:8786', or 'local:4'."
            ) from None
        check_versions(client)
        yield client
        return
    if not isinstance(given, str):
        if not callable(getattr(given, "submit", None)) or not callable(getattr(given, "gather", None)):
            raise TypeError(f"client={given!r}; it must be a Dask client, the address of a scheduler, or 'local:4'.")
        check_versions(given)
        yield given
        return
    if given.startswith("local:"):
        with (
            LocalCluster(n_workers=count_of(given), threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(given, timeout=20)
    except (OSError, ValueError) as error:
        raise ValueError(f"There is no Dask scheduler at {given!r} ({error}).") from None
    with client:
        check_versions(client)
        yield client


def check_versions(client: Client) -> None:
    """Raise where another casimir is installed on a worker than here, or none."""
    told = client.get_versions(check=False, packages=["casimir"])
    own = told["client"]["packages"]["casimir"]
    for address, one in sorted(told["workers"].items()):
        found = one["packages"]["casimir"]
        if own is not None and found != own:
            raise RuntimeError(
                f"The worker at {address} has {f'casimir {found}' if found else 'no casimir'}, and this process has "
                f"casimir {own}. Install the same on all workers."
            )


def count_of(given: str) -> int:
    """4 of "local:4"."""
    number = given.partition(":")[2]
    if not number.isdecimal():
        raise ValueError(f"{given!r}; write local:N with a number of worker processes, such as local:4.")
    return positive_int(int(number), "the number of worker processes")
