"""Made-up pictures and a model of them, shared by the tests of this task; and the horses that CASIMIR_DATA has."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from casimir.datasets.blobs import make_blobs
from casimir.tasks.opencv import write_image
from casimir.tasks.segment import features
from casimir.tasks.segment.model import SegmentModel, train
from casimir.tasks.segment.pictures import Picture
from casimir.tasks.training import Training


def blobs(n: int, seed: int = 0) -> list[Picture]:
    return [Picture(f"blob{k:02d}", blob.image, blob.mask) for k, blob in enumerate(make_blobs(n, seed))]


def write_folder(folder: Path, pictures: list[Picture]) -> Path:
    for picture in pictures:
        assert picture.mask is not None
        write_image(folder / "images" / f"{picture.name}.png", picture.image)
        write_image(folder / "masks" / f"{picture.name}.png", picture.mask)
    return folder


@pytest.fixture(scope="session")
def few_blobs() -> list[Picture]:
    return blobs(12)


@pytest.fixture
def blob_folder(tmp_path: Path, few_blobs: list[Picture]) -> Path:
    return write_folder(tmp_path / "data", few_blobs[:4])


def shrink_looks(patch: pytest.MonkeyPatch) -> None:
    """Fewer Fourier features: the same code in less time."""
    patch.setattr(features, "FIRST", replace(features.FIRST, n_features=300))
    patch.setattr(features, "AGAIN", replace(features.AGAIN, n_features=100))
    patch.setattr(features, "LAST_FEATURES", 60)


@pytest.fixture
def small_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_looks(monkeypatch)


@pytest.fixture(scope="session")
def trained(few_blobs: list[Picture]) -> SegmentModel:
    with pytest.MonkeyPatch.context() as patch:
        shrink_looks(patch)
        return train(few_blobs[:8], Training(tol=0.05))


@pytest.fixture(scope="session")
def horses() -> Path:
    folder = Path(os.environ.get("CASIMIR_DATA", "")) / "horses"
    if not os.environ.get("CASIMIR_DATA") or not folder.is_dir():
        pytest.skip("CASIMIR_DATA does not point at a folder with horses")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
