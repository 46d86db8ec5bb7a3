"""`casimir pack`, and `casimir train tag --pack`: the models that the same files give in memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import casimir as cs
from casimir.cli import app
from casimir.datasets import load_news
from casimir.packs import writer
from casimir.tasks.tag import arrow_files, blocks
from casimir.tasks.tag.model import load_model

NEWS = load_news()


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "train.conll"
    found.write_bytes(Path(NEWS.train).read_bytes())
    return found


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of some sentences, and shards of some blocks."""
    monkeypatch.setattr(blocks, "BLOCK", 2000)
    monkeypatch.setattr("casimir.tasks.tag.packing.BLOCK", 2000)
    monkeypatch.setattr(writer, "SHARD_TOKENS", 1000)


def packed(*arguments: object) -> Any:
    result = invoke("pack", *arguments)
    assert result.exit_code == 0, result.stderr
    return result


def refused(said: str, *arguments: object) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1, result.stderr
    assert said in result.stderr


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("vocabulary", [(), ("--exact-vocabulary",)])
def test_a_model_of_a_pack_is_that_of_its_files(tmp_path: Path, file: Path, vocabulary: tuple[str, ...]) -> None:
    told = packed(file, "--out", tmp_path / "p", "--columns", "word", *vocabulary)
    assert "Packed" in told.stderr
    pack = cs.open_pack(tmp_path / "p")
    assert len(pack.shards) > 2
    options = ("--tol", 1e-4, "--boost", 0, "--json", "--quiet", "--seed", 1)
    there = invoke("train", "tag", "--pack", tmp_path / "p", "--memory", "2GB", "--model", tmp_path / "there", *options)
    assert there.exit_code == 0, there.stderr
    rest = ("--columns", "word", "--no-baselines", *vocabulary, *options)
    here = invoke("train", "tag", "--train", file, "--model", tmp_path / "here", *rest)
    assert here.exit_code == 0, here.stderr
    one, other = json.loads(there.stdout), json.loads(here.stdout)
    assert one["gap"] <= 1e-4
    assert one["objective"] == pytest.approx(other["objective"], rel=3e-4)
    models = [load_model(tmp_path / name) for name in ("there", "here")]
    assert models[0].columns == models[1].columns
    assert (models[0].scheme, models[0].file_scheme) == (models[1].scheme, models[1].file_scheme)
    found = [invoke("evaluate", tmp_path / name, NEWS.heldout, "--json") for name in ("there", "here")]
    scores = [json.loads(result.stdout)["f1"] for result in found]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    assert scores[0] > 0.5


@pytest.mark.usefixtures("small_blocks")
def test_blocks_hold_the_features_that_the_whole_file_has(tmp_path: Path, file: Path) -> None:
    packed(file, "--out", tmp_path / "blocks", "-q")
    small = cs.open_pack(tmp_path / "blocks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("casimir.tasks.tag.packing.BLOCK", 2**24)
        packed(file, "--out", tmp_path / "whole", "-q", "--memory", "8GB")
    whole = cs.open_pack(tmp_path / "whole")

    def rows(pack: cs.Pack) -> list[Any]:
        assert pack.labels is not None
        return sorted(
            (shard.X.indices[shard.X.indptr[shard.X.offsets[i]] : shard.X.indptr[shard.X.offsets[i + 1]]].tolist(),
             [pack.labels[k] for k in shard.labels[shard.X.offsets[i] : shard.X.offsets[i + 1]]])
            for shard in pack.shards
            for i in range(len(shard.X))
        )  # fmt: skip

    assert rows(small) == rows(whole)
    assert small.manifest.about == whole.manifest.about


@pytest.mark.usefixtures("small_blocks")
def test_documents_go_along_and_so_do_the_models_without_them(tmp_path: Path, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    cut = [k for k in range(len(text)) if text.startswith("\n\n", k)][::5]
    for k in reversed(cut):
        text = f"{text[: k + 2]}-DOCSTART- -X- O O\n\n{text[k + 2 :]}"
    columns = text.split("\n")[0].count(" ") + text.split("\n")[0].count("\t")
    text = text.replace("-DOCSTART- -X- O O", "-DOCSTART-" + " O" * columns)
    file.write_text(f"-DOCSTART-{' O' * columns}\n\n{text}", encoding="utf-8")
    for name in ("one", "two"):
        packed(file, "--out", tmp_path / name, "-q")
    assert cs.open_pack(tmp_path / "one").manifest.about["lexicons"]
    pack, alone = cs.open_pack(tmp_path / "one"), cs.open_pack(tmp_path / "one" / "alone")
    assert pack.manifest.about["has_documents"]
    assert (len(pack), pack.n_tokens) == (len(alone), alone.n_tokens)
    assert pack.nbytes > alone.nbytes
    packed("--merge", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "both", "-q")
    assert len(cs.open_pack(tmp_path / "both" / "alone")) == len(cs.open_pack(tmp_path / "both")) == 2 * len(pack)
    options = ("--tol", 0.05, "--boost", 0, "--quiet", "--checkpoint", tmp_path / "kept")
    for _ in range(2):  # the second one finds both trainings done
        result = invoke("train", "tag", "--pack", tmp_path / "both", "--model", tmp_path / "m", *options)
        assert result.exit_code == 0, result.stderr
        assert load_model(tmp_path / "m").alone is not None
    assert (tmp_path / "kept" / "run.checkpoint").exists()
    assert (tmp_path / "kept" / "alone" / "run.checkpoint").exists()


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupt_says_what_the_pack_holds(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = writer.write_shard, []

    def interrupted(*arguments: Any) -> Any:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(write(*arguments))
        return written[-1]

    monkeypatch.setattr(writer, "write_shard", interrupted)
    result = invoke("pack", file, "--out", tmp_path / "p", "--jobs", 1)
    assert result.exit_code == 130
    held = cs.open_pack(tmp_path / "p")
    assert not held.is_complete
    assert f"holds {len(held):,} sentences, and the same command goes on" in " ".join(result.stderr.split())
    monkeypatch.setattr(writer, "write_shard", write)
    packed(file, "--out", tmp_path / "p")
    assert cs.open_pack(tmp_path / "p").is_complete
    assert len(cs.open_pack(tmp_path / "p")) > len(held)


@pytest.mark.usefixtures("small_blocks")
def test_sentences_that_begin_with_a_brace_are_no_records(tmp_path: Path) -> None:
    (tmp_path / "t.conll").write_text("Ada B-PER\n\n" + "{ O\nBob B-PER\n} O\n\n" * 400, encoding="utf-8")
    packed(tmp_path / "t.conll", "--out", tmp_path / "p", "-q")
    pack = cs.open_pack(tmp_path / "p")
    assert (len(pack), pack.n_tokens) == (401, 1201)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Ada B-PER\n\n\xe9t O\n", "is not utf-8 text"),
        (b"Ada B-PER\n\0 O\n", "NUL character"),
        (b"Ada B-PER\rran O\r", "carriage return alone"),
        (b"", "hold no sentences"),
        (b"Ada\n", "has 1 column;"),
    ],
)
def test_files_that_are_no_text_are_told(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "t.conll").write_bytes(data)
    refused(said, "pack", tmp_path / "t.conll", "--out", tmp_path / "p")
    (tmp_path / "t.conll.gz").write_bytes(b"\x1f\x8b\x08" + data)
    refused("cannot read", "pack", tmp_path / "t.conll.gz", "--out", tmp_path / "p")


@pytest.mark.usefixtures("small_blocks")
def test_appending_and_info_tell_what_is_there(tmp_path: Path, file: Path) -> None:
    zipped = tmp_path / "again.conll.gz"
    zipped.write_bytes(gzip.compress(file.read_bytes()))
    packed(file, "--out", tmp_path / "p", "-q")
    once = cs.open_pack(tmp_path / "p")
    packed(zipped, "--out", tmp_path / "p", "-q", "--append")
    packed(NEWS.heldout, "--out", tmp_path / "q", "-q", "--like", tmp_path / "p")
    packed(NEWS.heldout, "--out", tmp_path / "r", "-q")
    refused("text (lexicons)", "pack", "--merge", tmp_path / "p", tmp_path / "r", "--out", tmp_path / "s")
    packed("--merge", tmp_path / "p", tmp_path / "q", "--out", tmp_path / "s", "-q")
    twice = cs.open_pack(tmp_path / "p")
    assert (len(twice), twice.n_tokens) == (2 * len(once), 2 * once.n_tokens)
    shown = packed("--info", tmp_path / "p", "--check")
    for said in ("complete   yes", f"{len(twice):,}", f"shards     {len(twice.entries)}", "every byte", "B-PER"):
        assert said in shown.stdout, shown.stdout
    shard = tmp_path / "p" / twice.entries[0].file
    shard.write_bytes(shard.read_bytes()[:-1] + b"\x7f")
    refused("checksum", "pack", "--info", tmp_path / "p", "--check")
    assert invoke("pack", "--info", tmp_path / "p").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "needs FILE"),
        (("FILE",), "--out DIR"),
        (("FILE", "--info", "DIR"), "leave FILE and --out out"),
        (("FILE", "--out", "DIR", "--check"), "--check comes with --info"),
        (("FILE", "--out", "DIR", "--memory", "lots"), "must be an amount"),
        (("FILE", "--out", "DIR", "--merge", "--seed", "3"), "--seed is for packing files"),
        (("nothing.conll", "--out", "DIR"), "cannot read nothing.conll"),
        (("--info", "DIR"), "is no pack"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path: Path, file: Path, arguments: tuple[str, ...], said: str) -> None:
    places = {"FILE": str(file), "DIR": str(tmp_path / "p")}
    refused(said, "pack", *(places.get(word, word) for word in arguments))


def test_templates_of_pairs_of_labels_need_memory(tmp_path: Path, file: Path) -> None:
    (tmp_path / "own.txt").write_text("word={word}\nfor pairs\n  word={word}\nend\n", encoding="utf-8")
    refused("Templates of pairs", "pack", file, "--out", tmp_path / "p", "--templates", tmp_path / "own.txt")
    assert not (tmp_path / "p").exists()


def test_options_of_packing_are_not_told_to_training(tmp_path: Path, file: Path) -> None:
    packed(file, "--out", tmp_path / "p", "-q")
    train = ("train", "tag", "--model", tmp_path / "m", "--pack", tmp_path / "p")
    refused("--pack takes the place of --train", *train, "--train", file)
    refused("--n-features is told to `casimir pack`", *train, "--n-features", 99)
    in_memory = ("train", "tag", "--train", file, "--model", tmp_path / "m")
    refused("--memory bounds training on a pack", *in_memory, "--memory", "1GB")
    refused("--folds and --held-out need", *train, "--folds", 3)
    refused("Give --dev, or a number", *train, "--boost", "auto")
    refused("workers have limits of their own", *train, "--dask", "local:1", "--memory", "1GB")
    refused("No such option: --dask", "pack", file, "--out", tmp_path / "q", "--dask", "local:1")
    cs.pack([[{"a": True}]], y=[["N"]], out=tmp_path / "python")
    refused("without the templates", "train", "tag", "--model", tmp_path / "m", "--pack", tmp_path / "python")


def test_a_pack_is_trained_on_by_workers(tmp_path: Path, file: Path) -> None:
    pytest.importorskip("distributed")
    packed(file, "--out", tmp_path / "p", "-q")
    for name, cluster in (("here", ()), ("there", ("--dask", "local:1"))):
        told = invoke("train", "tag", "--pack", tmp_path / "p", "--model", tmp_path / name, "--tol", 1e-3, *cluster)
        assert told.exit_code == 0, told.stderr
    text = ("predict", tmp_path / "here", file, "--labelled"), ("predict", tmp_path / "there", file, "--labelled")
    here, there = (invoke(*one).stdout.split() for one in text)
    assert len(here) == len(there)
    assert np.mean(np.array(here) == np.array(there)) > 0.98


def test_an_interrupt_after_training_says_where_the_model_is(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    packed(file, "--out", tmp_path / "p", "-q")
    monkeypatch.setattr("casimir.cli.run._scores", interrupt)
    options = ("--test", file, "--tol", 0.5, "--quiet")
    result = invoke("train", "tag", "--pack", tmp_path / "p", "--model", tmp_path / "m", *options)
    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted after training; the model is in")
    assert load_model(tmp_path / "m")


# --- Arrow and Parquet


def records(n: int = 40) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(0)
    words = {"O": ["sleeps", "in", "the"], "B-PER": ["Ada", "Bob"], "B-LOC": ["Paris", "Rome"]}
    tags = [[str(rng.choice(list(words))) for _ in range(rng.integers(2, 7))] for _ in range(n)]
    return [[str(rng.choice(words[tag])) for tag in own] for own in tags], tags


def write_parquet(path: Path, table: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path, row_group_size=7)


def write_file(path: Path, table: Any) -> None:
    import pyarrow

    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=7)


def write_stream(path: Path, table: Any) -> None:
    import pyarrow

    with pyarrow.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=7)


@pytest.mark.parametrize(
    ("name", "write"), [("d.parquet", write_parquet), ("d.arrow", write_file), ("d.feather", write_stream)]
)
@pytest.mark.parametrize("kind", ["strings", "numbers", "dictionary"])
def test_arrow_files_are_packed_as_json_lines_are(
    tmp_path: Path, name: str, write: Callable[[Path, Any], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(blocks, "_CHARACTERS_OF_A_SENTENCE", 2**16 // 5)  # 5 rows at a time
    tokens, tags = records()
    lines = [json.dumps({"tokens": a, "tags": b}) for a, b in zip(tokens, tags, strict=True)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    names, metadata, column = ["O", "B-PER", "B-LOC"], {}, pyarrow.array(tags)
    if kind == "numbers":
        about = {"info": {"features": {"ner": {"feature": {"names": names, "_type": "ClassLabel"}}}}}
        metadata = {"huggingface": json.dumps(about)}
        column = pyarrow.array([[names.index(tag) for tag in own] for own in tags])
    elif kind == "dictionary":
        flat = pyarrow.array([tag for own in tags for tag in own]).dictionary_encode()
        column = pyarrow.ListArray.from_arrays(np.concatenate([[0], np.cumsum([len(own) for own in tags])]), flat)
    table = pyarrow.table({"id": list(range(len(tags))), "words": tokens, "ner": column})
    write(tmp_path / name, table.replace_schema_metadata(metadata))
    columns = ("--tokens", "words", "--tags", "ner")
    packed(tmp_path / name, *columns, "--out", tmp_path / "there", "-q", "--memory", "1MB")
    packed(tmp_path / "d.jsonl", "--out", tmp_path / "here", "-q")
    shards = [cs.open_pack(tmp_path / where).shards for where in ("there", "here")]
    for one, other in zip(*shards, strict=True):
        np.testing.assert_array_equal(one.X.indices, other.X.indices)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_arrow_files_that_do_not_fit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    tokens, tags = records(4)
    write_parquet(tmp_path / "a.parquet", pyarrow.table({"tokens": tokens, "ner": tags}))
    refused("no column 'tags'; its columns are tokens, ner", "pack", tmp_path / "a.parquet", "--out", tmp_path / "p")
    numbers = [[0] * len(own) for own in tags]
    write_parquet(tmp_path / "b.parquet", pyarrow.table({"tokens": tokens, "tags": numbers}))
    refused("numbers need their names", "pack", tmp_path / "b.parquet", "--out", tmp_path / "p")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 nothing")
    refused("cannot read", "pack", tmp_path / "c.parquet", "--out", tmp_path / "p")
    (tmp_path / "c.arrow").write_bytes(b"nothing")
    refused("cannot read", "pack", tmp_path / "c.arrow", "--out", tmp_path / "p")
    (tmp_path / "d.arrow").symlink_to("/dev/zero")
    refused("is no regular file", "pack", tmp_path / "d.arrow", "--out", tmp_path / "p")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    refused("pip install 'casimir[arrow]'", "pack", tmp_path / "a.parquet", "--out", tmp_path / "p")
    assert arrow_files.is_arrow(Path("x.parquet"))
