"""Features of AlexNet: the layers of torchvision, and weights files that are not its."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casimir._boxes import iou
from casimir.datasets.objects import make_objects
from casimir.tasks.localize.alexnet import AlexNet, cut_patches
from casimir.tasks.localize.pictures import Pixels
from casimir.tasks.localize.proposals import propose
from casimir.tasks.localize.store import collect
from casimir.tasks.localize.voc import read_voc

SHAPES = {
    "features.0": (64, 3, 11, 11),
    "features.3": (192, 64, 5, 5),
    "features.6": (384, 192, 3, 3),
    "features.8": (256, 384, 3, 3),
    "features.10": (256, 256, 3, 3),
}


@pytest.fixture(scope="module")
def pixels() -> Pixels:
    return make_objects(1, seed=5)[0].pixels


def random_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    weights = {}
    for name, shape in SHAPES.items():
        weights[f"{name}.weight"] = (rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]) / 2)).astype(np.float32)
        weights[f"{name}.bias"] = rng.normal(scale=0.1, size=shape[0]).astype(np.float32)
    return weights


@pytest.fixture(scope="module")
def weights_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("weights") / "alexnet.npz"
    np.savez(file, **random_weights())  # type: ignore[arg-type]
    return file


def test_patches_are_what_is_under_the_boxes(pixels: Pixels) -> None:
    boxes = np.array([[0, 0, 63, 63], [10, 20, 10, 20]])
    patches = cut_patches(pixels, boxes)
    np.testing.assert_array_equal(patches[0], pixels[:64, :64])
    assert (patches[1] == pixels[10, 20]).all()


def test_alexnet_is_torchvisions_up_to_conv4(weights_file: Path, pixels: Pixels) -> None:
    torch = pytest.importorskip("torch")
    boxes = propose(pixels)[:5]
    descriptor = AlexNet(weights_file)
    assert (descriptor.cells, descriptor.channels, descriptor.dim) == (9, 256, 2304)
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
    )  # fmt: skip
    names = (f"features.{name}" for name in network.state_dict())
    network.load_state_dict(
        {name.removeprefix("features."): torch.from_numpy(random_weights()[name]) for name in names}
    )
    patches = torch.from_numpy(cut_patches(pixels, boxes)).double().permute(0, 3, 1, 2) / 255
    mean, std = torch.tensor([0.485, 0.456, 0.406]).double(), torch.tensor([0.229, 0.224, 0.225]).double()
    with torch.no_grad():
        expected = network.double()((patches - mean[:, None, None]) / std[:, None, None])
    rows = expected.permute(0, 2, 3, 1).reshape(5, -1).numpy()  # height, width, channel
    found = descriptor.describe(pixels, boxes)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rows, rtol=1e-3, atol=1e-4)


def test_several_layers_lie_side_by_side(weights_file: Path, pixels: Pixels) -> None:
    pytest.importorskip("torch")
    boxes = propose(pixels)[:3]
    both = AlexNet(weights_file, ("conv3", "conv5"))
    cells = both.describe(pixels, boxes).reshape(3, 9, 640)
    for layer, part in (("conv3", cells[..., :384]), ("conv5", cells[..., 384:])):
        alone = AlexNet(weights_file, (layer,))
        np.testing.assert_array_equal(part.reshape(3, -1), alone.describe(pixels, boxes))
        assert alone.key != both.key
    with pytest.raises(ValueError, match=r"layers=\('conv1',\); choose one or more of conv2"):
        AlexNet(weights_file, ("conv1",))


def test_context_is_the_enlarged_box_behind_the_box(weights_file: Path, pixels: Pixels) -> None:
    pytest.importorskip("torch")
    boxes = np.array([[40, 40, 59, 49], [0, 0, 9, 9]])
    wide, alone = AlexNet(weights_file, context=2.0), AlexNet(weights_file)
    assert (wide.channels, wide.dim) == (512, 4608)
    assert len({wide.key, alone.key, AlexNet(weights_file, context=1.5).key}) == 3
    cells = wide.describe(pixels, boxes).reshape(2, 9, 512)
    np.testing.assert_array_equal(cells[..., :256].reshape(2, -1), alone.describe(pixels, boxes))
    framed = np.empty((pixels.shape[0] + 5, pixels.shape[1] + 5, 3), dtype=np.uint8)
    framed[...] = (124, 116, 104)  # the mean colour of ImageNet
    framed[5:, 5:] = pixels
    larger = alone.describe(framed, np.array([[35, 40, 74, 59], [0, 0, 19, 19]])).reshape(2, 9, 256)
    np.testing.assert_allclose(cells[..., 256:], larger, rtol=1e-4, atol=1e-5)
    assert wide.describe(pixels, boxes[:0]).shape == (0, 4608)


@pytest.mark.parametrize("context", [1.0, 0.5, 5.0, np.nan])
def test_a_context_that_is_no_enlargement_is_refused(weights_file: Path, context: float) -> None:
    with pytest.raises(ValueError, match=r"context=.* above 1 and up to 4"):
        AlexNet(weights_file, context=context)


def test_alexnet_does_not_depend_on_threads(
    weights_file: Path, pixels: Pixels, set_threads: Callable[[str], None]
) -> None:
    torch = pytest.importorskip("torch")
    boxes, before, found = propose(pixels), torch.get_num_threads(), []
    for threads in ("1", "2"):
        set_threads(threads)
        found.append(AlexNet(weights_file).describe(pixels, boxes))
    np.testing.assert_array_equal(*found)
    assert torch.get_num_threads() == before
    assert AlexNet(weights_file).describe(pixels, boxes[:0]).shape == (0, 2304)


def test_the_same_weights_have_the_same_key_in_any_file(weights_file: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weights = random_weights()
    state = {name: torch.nn.Parameter(torch.from_numpy(array)) for name, array in weights.items()}
    torch.save({**state, "classifier.1.weight": torch.zeros(3)}, tmp_path / "alexnet.pth")
    assert AlexNet(tmp_path / "alexnet.pth").key == AlexNet(weights_file).key
    weights["features.3.bias"][7] += 1
    np.savez(tmp_path / "other.npz", **weights)  # type: ignore[arg-type]
    assert AlexNet(tmp_path / "other.npz").key != AlexNet(weights_file).key


def _without_a_layer(weights: dict[str, np.ndarray]) -> None:
    del weights["features.8.bias"]


def _another_shape(weights: dict[str, np.ndarray]) -> None:
    weights["features.3.weight"] = weights["features.3.weight"][:, :48]


def _whole_numbers(weights: dict[str, np.ndarray]) -> None:
    weights["features.0.bias"] = np.zeros(64, dtype=np.int64)


def _nan(weights: dict[str, np.ndarray]) -> None:
    weights["features.6.bias"][3] = np.nan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_a_layer, r"has no features\.8\.bias; it holds features\.0\.weight"),
        (_another_shape, r"features\.3\.weight is float32\[192, 48, 5, 5\]; .* float32\[192, 64, 5, 5\]"),
        (_whole_numbers, r"features\.0\.bias is int64\[64\]"),
        (_nan, r"features\.6\.bias has numbers that are NaN"),
    ],
)
def test_weights_of_another_network_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    pytest.importorskip("torch")
    weights = random_weights()
    change(weights)
    np.savez(tmp_path / "wrong.npz", **weights)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"wrong\.npz'.*{message}"):
        AlexNet(tmp_path / "wrong.npz")


@pytest.mark.parametrize("name", ["rubbish.npz", "rubbish.pth", "empty.npz", "empty.pth"])
def test_a_file_that_holds_no_weights_is_named(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / name).write_bytes(b"" if "empty" in name else b"no weights at all")
    with pytest.raises(ValueError, match=f"{name}' cannot be read as .*torchvision"):
        AlexNet(tmp_path / name)


def test_pickled_code_in_weights_is_not_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"features.0.weight": Path("x")}, tmp_path / "code.pth")
    with pytest.raises(ValueError, match=r"code\.pth' cannot be read as weights") as caught:
        AlexNet(tmp_path / "code.pth")
    assert "weights_only" not in str(caught.value)  # torch recommends to run the code


def test_missing_weights_say_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.pth'.*torchvision"):
        AlexNet(tmp_path / "nowhere.pth")


def test_without_torch_the_error_says_what_to_install(weights_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"casimir\[torch\]"):
        AlexNet(weights_file)


@pytest.mark.realdata
def test_real_pictures_have_good_candidates(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    data = Path(os.environ.get("CASIMIR_DATA", ""))
    weights = data / "weights" / "alexnet_features.npz"
    if not os.environ.get("CASIMIR_DATA") or not weights.is_file():
        pytest.skip("CASIMIR_DATA does not point at a folder with VOCdevkit and weights")
    pictures = read_voc(data / "VOCdevkit", "sheep")[:3]
    found = collect(pictures, AlexNet(weights), cache=tmp_path)
    assert np.mean([overlaps.max() for overlaps in map(iou, found.boxes, found.truth)]) > 0.7
    norms = np.linalg.norm(np.concatenate([features.astype(np.float64) for features in found.features]), axis=1)
    assert 90 < norms.mean() < 150
