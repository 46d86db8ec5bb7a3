"""A cluster of threads in this process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'casimir[dask]'")


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    with warnings.catch_warnings(), dask.config.set({"distributed.worker.memory.spill": False}):
        warnings.filterwarnings("ignore", "Creating scratch directories")  # of a disk that is slow
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
            Client(cluster, set_as_default=False) as one,
        ):
            yield one
