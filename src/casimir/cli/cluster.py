"""`casimir cluster`: clusters of words that are used alike, from text without labels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from casimir.cli import parameters
from casimir.cli.console import clear_ends, counted, err, say
from casimir.tasks.text import numbered, write_text

EXAMPLES = """Examples:

casimir cluster text.txt more.txt.gz --out clusters.tsv

casimir cluster train.conll --word 1 --out clusters.tsv

casimir train ner --train train.conll --clusters clusters.tsv --model out/"""
Texts = Annotated[list[Path], typer.Argument(metavar="FILE", help="Text files, plain or .gz.", show_default=False)]
Out = Annotated[Path, typer.Option(metavar="FILE", help="File of clusters to write.", show_default=False)]
Word = Annotated[
    int | None,
    typer.Option(min=1, metavar="COLUMN", help="Files are column files with the word in this column, counted from 1."),
]
Number = Annotated[int, typer.Option("--clusters", min=2, metavar="N", help="Number of clusters, at most.")]
MinCount = Annotated[int, typer.Option(min=1, metavar="N", help="Rarer words get no cluster.")]


def cluster(
    texts: Texts,
    out: Out,
    word: Word = None,
    clusters: Number = 256,
    min_count: MinCount = 2,
    seed: parameters.Seed = 0,
    encoding: parameters.Encoding = "utf-8",
    quiet: parameters.Quiet = False,
) -> None:
    """Learn clusters of words that are used alike from text without labels, for `casimir train tag --clusters`.

    Text is split into sentences and words as `casimir predict --text` does. Files are read twice and need not fit into
    memory. A line of the result is the cluster as a path of 0 and 1, the word and its count, between tabs.
    """
    with clear_ends():
        from casimir.tasks.tag.clustering import Clustering
        from casimir.tasks.tag.raw_text import read_sentences

        began = time.perf_counter()
        learner = Clustering(n_clusters=clusters, min_count=min_count, seed=seed)
        if not quiet:
            say(
                err(),
                f"Counting the words of {numbered(len(texts), 'files')}, then their neighbours",
            )
        progress = (lambda done, total: None) if quiet else counted("neighbours")
        found = learner.learn(lambda: read_sentences(texts, word, encoding), progress)
        write_text(out, "".join(found.lines()), encoding)
        if not quiet:
            names = set(found.names.values())
            spent = time.perf_counter() - began
            counts = f"{numbered(len(names), 'clusters')} of {numbered(len(found.names), 'words')}"
            say(err(), f"Wrote {counts} to {out} in {spent:.1f} s", "green")
