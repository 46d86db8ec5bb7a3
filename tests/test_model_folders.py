"""Model folders under attack: damage, other savers, kills, files that are no files, and what earlier versions wrote."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.persistence import check_target, description, files, load_folder, migrate_folder, save_folder
from casimir.persistence.arrays import decode_rows, decode_used_rows, decode_vocabulary

GOLDEN = Path(__file__).parent / "golden"
TOKENS = [[{"word": "Ada"}, {"word": "slept"}], [{"word": "Bob"}, {"word": "slept"}]]


def save(path: Path, seed: int) -> None:
    save_folder(path, "tagger", {"seed": seed}, {"weights": np.full((50, 4), float(seed))})


def seed_of(path: Path) -> int:
    """Of a model whose parts belong together."""
    _, meta, arrays = load_folder(path)
    np.testing.assert_array_equal(arrays["weights"], np.full((50, 4), float(meta["seed"])))
    return int(meta["seed"])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def is_whole(path: Path) -> bool:
    """Whether a model folder holds one model, and no file of another."""
    return [name.partition("-")[0] for name in names(path)] == ["model", "model.json"]


@pytest.fixture
def tagger(tmp_path: Path) -> Path:
    cs.SequenceTagger().fit(TOKENS, [["PER", "O"], ["PER", "O"]]).save(tmp_path / "tagger")
    return tmp_path / "tagger"


# --- damage


def test_every_flipped_bit_of_the_description_is_noticed(tagger: Path) -> None:
    data = bytearray((tagger / "model.json").read_bytes())
    assert description.decode(bytes(data)).kind == "sequence-tagger"
    accepted = []
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        try:
            description.decode(bytes(data))
            accepted.append(bit)
        except ValueError:
            pass
        data[bit // 8] ^= 1 << bit % 8
    assert accepted == []


def test_a_changed_description_is_named(tagger: Path) -> None:
    file = tagger / "model.json"
    file.write_text(file.read_text().replace('"PER"', '"LOC"', 1))
    with pytest.raises(ValueError, match=r"is damaged: model\.json was changed after it was written; its digest"):
        cs.load(tagger)
    file.write_text(file.read_text().partition("\n")[2])
    with pytest.raises(ValueError, match="is damaged: "):
        cs.load(tagger)


def test_arrays_of_another_save_are_noticed(tmp_path: Path) -> None:
    for seed in (1, 2):
        save(tmp_path / str(seed), seed)
    [one], [two] = (list((tmp_path / name).glob("*.safetensors")) for name in ("1", "2"))
    shutil.copy(two, one)
    with pytest.raises(ValueError, match=r"damaged: the checksum of model-[0-9a-f]+\.safetensors does not match"):
        load_folder(tmp_path / "1")


def test_a_description_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    save(tmp_path / "out", 1)
    file = tmp_path / "out" / "model.json"
    for name in ("../secret", "/etc/passwd", "model.safetensors", "model.json"):
        given = file.read_bytes()
        [arrays] = (tmp_path / "out").glob("*.safetensors")
        changed = given.replace(arrays.name.encode(), name.encode())
        head, tail = b'{\n  "digest": "', changed[15 + 64 :]
        assert changed.startswith(head)
        digest = hashlib.sha256(head + b"0" * 64 + tail).hexdigest().encode()
        with pytest.raises(description.Damaged, match="as the file of its arrays"):
            description.decode(head + digest + tail)


# --- memory


@pytest.mark.parametrize("rows", [10**8, 10**12, 2**62])
def test_a_small_file_cannot_declare_a_large_matrix(rows: int, tmp_path: Path) -> None:
    kind, meta, arrays = load_folder(GOLDEN / "tagger-2")
    small = {name: array for name, array in arrays.items() if name != "weights"}
    small |= {"weights.shape": np.array([rows, len(meta["classes"])]), "weights.used": np.zeros(1, np.int64)}
    small |= {"weights.rows": np.ones((1, len(meta["classes"])))}
    save_folder(tmp_path / "out", kind, meta, small)
    with pytest.raises(ValueError, match=r"cannot be loaded: .*CASIMIR_MAX_MODEL_MB|do not fit"):
        cs.load(tmp_path / "out")


def test_a_tagger_of_many_buckets_and_labels_that_saw_little_is_read_again(tmp_path: Path) -> None:
    """All weights would take more than a small file may make of memory; those that are not 0 take next to nothing."""
    X = [[[f"word={t}"] for t in range(40)]]
    tagger = cs.SequenceTagger(n_features=2**20, tol=0.9).fit(X, [[f"label {t}" for t in range(40)]])
    assert tagger.coef_.nbytes > 256 * 2**20
    tagger.save(tmp_path / "out")
    assert sum(file.stat().st_size for file in (tmp_path / "out").iterdir()) < 2**20
    assert cs.load(tmp_path / "out").predict(X) == tagger.predict(X)


def test_few_entries_of_wide_rows_cannot_make_large_ones() -> None:
    wide = {"w.shape": np.array([1000, 10**6]), "w.places": np.arange(0, 10**9, 10**6, dtype=np.uint32)}
    with pytest.raises(ValueError, match=r"describes 'w' of 7,629 MB by .*CASIMIR_MAX_MODEL_MB"):
        decode_used_rows("w", wide | {"w.entries": np.ones(1000)})


@pytest.mark.parametrize("form", ["rows", "entries"])
def test_the_bound_of_a_matrix_can_be_raised(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {"w.shape": np.array([36 * 2**20, 1])}
    arrays |= (
        {"w.used": np.array([5]), "w.rows": np.ones((1, 1))}
        if form == "rows"
        else {"w.places": np.array([5], np.uint32), "w.entries": np.ones(1)}
    )
    with pytest.raises(ValueError, match=r"describes 'w' of 288 MB by (28|32) bytes.* 256 MB .*CASIMIR_MAX_MODEL_MB"):
        decode_rows("w", arrays)
    monkeypatch.setenv("CASIMIR_MAX_MODEL_MB", "288")
    assert decode_rows("w", arrays)[5, 0] == 1.0
    monkeypatch.setenv("CASIMIR_MAX_MODEL_MB", "much")
    with pytest.raises(ValueError, match="CASIMIR_MAX_MODEL_MB='much'; it must be a whole number"):
        decode_rows("w", arrays)


def test_a_file_larger_than_it_says_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "out", 1)
    [arrays] = (tmp_path / "out").glob("*.safetensors")
    os.truncate(arrays, 2**40)  # sparse: it takes no room
    with pytest.raises(ValueError, match="has 1099511627776 bytes instead of"):
        load_folder(tmp_path / "out")
    os.truncate(tmp_path / "out" / "model.json", 2**40)
    with pytest.raises(ValueError, match=r"1,048,576 MB, more than the 4,096 MB that .*CASIMIR_MAX_MODEL_MB"):
        load_folder(tmp_path / "out")


# --- files that are no files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
@pytest.mark.parametrize("what", ["pipe", "device"])
@pytest.mark.parametrize("part", ["model.json", "*.safetensors"])
def test_only_regular_files_are_read(tmp_path: Path, what: str, part: str) -> None:
    save(tmp_path / "out", 1)
    [file] = (tmp_path / "out").glob(part)
    file.unlink()
    if what == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"is no regular file|bytes instead of"):  # a pipe would block for ever
        load_folder(tmp_path / "out")


# --- others who save


def test_a_reader_between_two_saves_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "out", 0)
    read, saves = files.read_regular, iter(range(1, 6))

    def interrupted(file: Path) -> bytes:
        data = read(file)
        with monkeypatch.context() as plain:
            plain.setattr(files, "read_regular", read)
            for seed in saves:
                save(tmp_path / "out", seed)
                break
        return data

    monkeypatch.setattr(files, "read_regular", interrupted)
    assert seed_of(tmp_path / "out") == 5
    assert is_whole(tmp_path / "out")


def saver(path: Path, first: int, n: int) -> None:
    for seed in range(first, first + n):
        save(path, seed)


@pytest.mark.parametrize("start", [True, False], ids=["replacing", "new"])
def test_readers_and_savers_never_see_or_leave_a_mixture(tmp_path: Path, start: bool) -> None:
    out, mine = tmp_path / "out", tmp_path / "out" / "notes.txt"
    if start:
        save(out, 0)
        mine.write_text("mine")
    context = multiprocessing.get_context("spawn")
    savers = [context.Process(target=saver, args=(out, 100 * k, 40)) for k in range(3)]
    for process in savers:
        process.start()
    seen = 0
    while any(process.is_alive() for process in savers):
        if (out / "model.json").exists():
            seed_of(out)
            seen += 1
    assert [process.exitcode for process in savers] == [0, 0, 0]
    assert seen > 0
    assert seed_of(out) % 100 == 39
    assert not start or mine.read_text() == "mine"
    mine.unlink(missing_ok=True)
    assert is_whole(out)
    assert names(tmp_path) == ["out"]


def test_a_saver_that_never_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "out", 0)
    monkeypatch.setattr(files, "_PATIENCE", 0.05)
    with files.locked(tmp_path / "out"), pytest.raises(TimeoutError, match=r"someone else has been saving to '.*out'"):
        save(tmp_path / "out", 1)
    save(tmp_path / "out", 2)
    assert seed_of(tmp_path / "out") == 2


def test_savers_in_threads_wait_for_one_another(tmp_path: Path) -> None:
    threads = [threading.Thread(target=saver, args=(tmp_path / "out", 100 * k, 20)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seed_of(tmp_path / "out") % 100 == 19
    assert is_whole(tmp_path / "out")


# --- kills


def steps_until_killed(save_now: Any, step: int) -> bool:
    """Run in a process of its own that ends at the given step of saving, as by SIGKILL; whether it came to that."""
    child = os.fork()
    if child == 0:
        taken = iter(range(10**6))

        def dying(original: Any) -> Any:
            def run(*args: Any, **kwargs: Any) -> Any:
                if next(taken) == step:
                    os._exit(9)
                return original(*args, **kwargs)

            return run

        for owner, name in ((Path, "mkdir"), (Path, "unlink"), (os, "fsync"), (os, "replace"), (os, "open")):
            setattr(owner, name, dying(getattr(owner, name)))
        try:
            save_now()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "new"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_save_killed_at_any_step_leaves_a_model_and_what_is_yours(tmp_path: Path, existing: bool) -> None:
    for step in range(100):
        out = tmp_path / str(step) / "out"
        out.parent.mkdir()
        if existing:
            save(out, 0)
            (out / "notes.txt").write_text("mine")
            (out / "model.txt").write_text("mine")
        killed = steps_until_killed(lambda out=out: save(out, 1), step)
        if (out / "model.json").exists():
            assert seed_of(out) in ((0, 1) if existing else (1,))
        else:
            assert not existing
        if existing:
            assert [(out / name).read_text() for name in ("notes.txt", "model.txt")] == ["mine", "mine"]
        check_target(out)
        save(out, 2)  # cleans up
        assert seed_of(out) == 2
        for name in ("notes.txt", "model.txt"):
            (out / name).unlink(missing_ok=True)
        assert is_whole(out)
        assert names(out.parent) == ["out"]
        if not killed:
            break
    assert not killed
    assert step > 8


def test_a_model_that_an_earlier_version_moved_aside_is_recovered_by_the_next_save(tmp_path: Path) -> None:
    save(tmp_path / "out", 0)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out").rename(tmp_path / ".out.previous-0123abcd")
    save(tmp_path / "out", 1)
    assert seed_of(tmp_path / "out") == 1
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    assert names(tmp_path) == ["out"]


def test_files_of_yours_that_look_alike_are_left_alone(tmp_path: Path) -> None:
    save(tmp_path / "out", 0)
    mine = ["model.safetensors", "model-1.safetensors", "model-0123456789abcdef.txt", ".casimir", "model.json.old"]
    for name in mine:
        (tmp_path / "out" / name).write_text("mine")
    save(tmp_path / "out", 1)
    assert all((tmp_path / "out" / name).read_text() == "mine" for name in mine)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "model-1.safetensors").write_text("mine")
    with pytest.raises(FileExistsError, match="not a casimir model"):
        save(tmp_path / "new", 0)


# --- formats


def test_format_2_is_read_for_ever() -> None:
    """The folder was written by casimir 0.1; a later format keeps it and adds its own."""
    folder = GOLDEN / "model-format-2"
    kind, meta, arrays = load_folder(folder)
    assert description.decode((folder / "model.json").read_bytes()).version == 2
    assert (kind, meta) == ("example", {"classes": ["O", "B-Zürich"], "lam": 0.1})
    expected = np.zeros((50, 3))
    expected[[3, 40]] = [[0.1, -2.5, 0.0], [1e-300, 4.0, 5.0]]
    np.testing.assert_array_equal(decode_rows("weights", arrays), expected)
    assert list(decode_vocabulary("features", arrays)) == ["word=東京", "title"]


OF_FORMAT_1 = [
    file.parent for file in sorted(GOLDEN.rglob("model.json")) if description.decode(file.read_bytes()).version == 1
]


@pytest.mark.parametrize("folder", OF_FORMAT_1, ids=lambda path: path.relative_to(GOLDEN).as_posix())
def test_folders_of_format_1_migrate(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out, ignore=lambda *_: ["baselines"])
    (out / "notes.txt").write_text("mine")
    migrate_folder(out)
    assert description.decode((out / "model.json").read_bytes()).version == 2
    (old_kind, old_meta, old), (kind, meta, arrays) = load_folder(folder), load_folder(out)
    assert (kind, meta, set(arrays)) == (old_kind, old_meta, set(old))
    for name, array in old.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)
    assert (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    assert is_whole(out)


def test_a_model_of_format_1_is_replaced_whole(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "tagger-1", tmp_path / "out")
    before = cs.load(tmp_path / "out")
    before.save(tmp_path / "out")
    assert is_whole(tmp_path / "out")
    np.testing.assert_array_equal(cs.load(tmp_path / "out").predictor_.w, before.predictor_.w)


def test_a_reader_of_format_1_reads_again_when_the_model_migrates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(GOLDEN / "model-format-1", tmp_path / "out")
    read, waiting = files.read_regular, [True]

    def interrupted(file: Path) -> bytes:
        data = read(file)
        if waiting:
            waiting.clear()
            migrate_folder(tmp_path / "out")
        return data

    monkeypatch.setattr(files, "read_regular", interrupted)
    assert load_folder(tmp_path / "out")[1]["classes"] == ["O", "B-Zürich"]
