"""`casimir pack`: labelled files as shards on disk, for training on more sentences than fit into memory."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casimir.cli import parameters
from casimir.cli.console import INTERRUPTED, counted, err, out, say
from casimir.cli.options import Using, declared
from casimir.cli.parallel import threads
from casimir.cli.parameters import command, parameter, parameter_of, parameters_of
from casimir.tasks.tag.jsonlines import TAGS, TOKENS
from casimir.tasks.tag.options import Options
from casimir.tasks.text import numbered

if TYPE_CHECKING:
    from casimir.packs import Pack

EXAMPLES = """Examples:

casimir pack part1.conll part2.conll.gz --out packed/

casimir pack more.conll --out packed/ --append

casimir pack --merge packed/ others/ --out all/

casimir pack train.parquet --tags ner_tags --out packed/

casimir pack --info packed/

casimir train tag --pack packed/ --memory 2GB --model out/"""
_FILES = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE", help="Labelled column files, JSON lines, Arrow or Parquet files; or packs.", show_default=False
    ),
]
_OUT = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the pack to make.", show_default=False)]
_INFO = Annotated[Path | None, typer.Option(metavar="DIR", help="Show what a pack holds, and nothing else.")]
_APPEND = Annotated[bool, typer.Option("--append", help="Add to the pack that is there.")]
_MERGE = Annotated[bool, typer.Option("--merge", help="Each FILE is the folder of a pack; put them into one.")]
_TOKENS = Annotated[str, typer.Option(metavar="NAME", help="Column of tokens in Arrow and Parquet files.")]
_TAGS = Annotated[str, typer.Option(metavar="NAME", help="Column of tags in Arrow and Parquet files.")]
_LIKE = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Take what this pack has learnt about words, so that both can be merged."),
]
_CHECK = Annotated[bool, typer.Option("--check", help="With --info: read every shard, and check it to its last byte.")]
_MEMORY = Annotated[str, typer.Option(metavar="SIZE", help="Memory that packing may use, about.")]
_NOT_OURS = ("loss", "cost", "boost", "pack", "memory", "dask")  # options of `train tag` that are for training
_DEFAULTS = {
    **{name: default for name, default in asdict(Options()).items() if name not in _NOT_OURS},
    "like": None,
    "tokens": TOKENS,
    "tags": TAGS,
    "seed": 0,
    "encoding": "utf-8",
    "memory": "1GB",
}


def pack_command() -> Callable[..., None]:
    """What makes features of text, as `casimir train tag` takes it, with where a pack goes."""
    about = """Read labelled files and write their features as shards: files that are mapped into memory and never
    read as a whole, so that training needs as much memory as it is given. Files are read in blocks; a pack that a full
    disk or Ctrl-C has cut short is marked incomplete, and the same command goes on from there."""
    own = [parameter_of(*one) for name, one in declared(Options).items() if name not in _NOT_OURS]
    _, jobs, encoding, quiet = parameters_of(Using)
    shown = [
        parameter("files", _FILES, None),
        parameter("out", _OUT, None),
        parameter("info", _INFO, None),
        parameter("check", _CHECK, False),
        parameter("append", _APPEND, False),
        parameter("merge", _MERGE, False),
        parameter("like", _LIKE, None),
        parameter("tokens", _TOKENS, TOKENS),
        parameter("tags", _TAGS, TAGS),
        parameter("memory", _MEMORY, "1GB"),
        parameter("seed", parameters.Seed, 0),
    ]
    return command("pack", inspect.cleandoc(about), [*shown, *own, jobs, encoding, quiet], _run)


def _run(given: dict[str, Any]) -> None:
    files, out_, info = given.pop("files"), given.pop("out"), given.pop("info")
    if info is not None:
        if files or out_ is not None:
            raise ValueError("--info shows a pack that is there; leave FILE and --out out.")
        return _show(info, given["check"])
    if given.pop("check"):
        raise ValueError("--check comes with --info DIR.")
    if not files or out_ is None:
        raise ValueError("casimir pack needs FILE..., and --out DIR for the pack; or --info DIR.")
    with threads(given.pop("jobs")), _kept(out_):
        (_merge if given.pop("merge") else _pack)(files, out_, given)


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
    """Ctrl-C says what is in the folder."""
    from casimir.packs import open_pack

    try:
        yield
    except KeyboardInterrupt:
        try:
            found = open_pack(folder)
        except ValueError:  # before it was begun
            raise KeyboardInterrupt from None
        say(
            err(),
            f"Interrupted; the pack in {folder} is marked incomplete and holds {len(found):,} sentences, and the same "
            "command goes on from there.",
            "yellow",
        )
        raise SystemExit(INTERRUPTED) from None


def _pack(files: list[Path], folder: Path, given: dict[str, Any]) -> None:
    from casimir._sizes import parse_size
    from casimir.tasks.tag.packing import pack_files, recipe_of

    began, quiet = time.perf_counter(), given.pop("quiet")
    memory, seed, append = parse_size(given.pop("memory"), "--memory"), given.pop("seed"), given.pop("append")
    like = given.pop("like")
    encoding, fields = given.pop("encoding"), (given.pop("tokens"), given.pop("tags"))
    progress = (lambda done, total: None) if quiet else counted("bytes")
    recipe = recipe_of(Options(**given), files, encoding, memory, seed, fields, progress)
    made = pack_files(files, folder, recipe, append=append, like=like)
    if not quiet:
        spent = time.perf_counter() - began
        n, tokens = _added(made)
        told = f"Packed {numbered(n, 'sentences')} of {numbered(tokens, 'tokens')} in {spent:.1f} s"
        say(err(), told, "green")
        _tell_size(made)


def _added(pack: Pack) -> tuple[int, int]:
    """The sentences and tokens of the last packing, which may have been cut short and gone on."""
    n, tokens = len(pack) - pack.manifest.before, 0
    left = n
    for entry in reversed(pack.entries):
        if left <= 0:
            break
        left, tokens = left - entry.sequences, tokens + entry.tokens
    return n, tokens


def _merge(folders: list[Path], out_: Path, given: dict[str, Any]) -> None:
    from casimir.tasks.tag.packing import merge_packs

    for name, default in _DEFAULTS.items():
        if given[name] != default:
            raise ValueError(f"--{name.replace('_', '-')} is for packing files; packs keep what they were made with.")
    made = merge_packs(folders, out_, append=given["append"])
    if not given["quiet"]:
        say(err(), f"Merged {len(folders)} packs: {len(made):,} sentences of {made.n_tokens:,} tokens", "green")
        _tell_size(made)


def _tell_size(made: Pack) -> None:
    grown = f" of {len(made):,} sentences" if made.manifest.before else ""
    held = f"{numbered(len(made.entries), 'shards')}{grown}, {made.nbytes / 1e6:,.1f} MB"
    say(err(), f"The pack {made.folder} has {held}" if grown else f"Wrote {held}, to {made.folder}", "green")


def _show(folder: Path, check: bool) -> None:
    from casimir.packs import open_pack

    pack = open_pack(folder)
    if check:
        pack.check_content()
    held = pack.manifest
    rows = {
        "complete": "yes" if held.complete else "no: give the command that packed it again",
        "sentences": f"{len(pack):,}",
        "tokens": f"{pack.n_tokens:,}",
        "shards": f"{len(held.shards):,}, {pack.nbytes / 1e6:,.1f} MB",
        "features": f"{held.n_features:,} {'hash buckets' if held.vocabulary is None else 'names'}",
        "labels": "none" if held.labels is None else f"{len(held.labels):,}: {' '.join(map(str, held.labels[:20]))}",
        "templates": str(held.about.get("feature_set", "none: packed from Python")),
        "checked": "every byte" if check else "the manifest; --check reads the shards too",
    }
    for name, text in rows.items():
        say(out(), f"{name:<10} {text}", hang=11)
