"""Puts this folder on the import path, so that tests may share `problems`; keeps their caches out of the user's."""

from collections.abc import Callable, Iterator

import pytest

from casimir import _threads
from casimir._threads import n_threads


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def set_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str | None], None]]:
    """Sets CASIMIR_NUM_THREADS, or unsets it, and forgets what it was: it is looked up once per process."""
    cpus = _threads.allowed_cpus()
    monkeypatch.setattr(_threads, "allowed_cpus", lambda: max(cpus, 8))

    def set_to(count: str | None) -> None:
        if count is None:
            monkeypatch.delenv("CASIMIR_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("CASIMIR_NUM_THREADS", count)
        n_threads.cache_clear()

    yield set_to
    n_threads.cache_clear()
