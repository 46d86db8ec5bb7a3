"""The task of chunks: tagging whose labels write phrases as spans."""

from __future__ import annotations

from dataclasses import dataclass

from casimir.tasks.tag.options import Options
from casimir.tasks.tag.task import tagging_task
from casimir.tasks.tag.templates.template_set import FEATURE_SETS
from casimir.tasks.task import opt


@dataclass(frozen=True)
class ChunkOptions(Options):
    """Those of `casimir train tag` with the features of phrases."""

    features: str | None = opt("One of chunks, default, pairs, paper.", "chunks", metavar="NAME", choices=FEATURE_SETS)


TASK = tagging_task(
    "chunk",
    has_spans=True,
    train_options=ChunkOptions,
    title="Chunks",
    about="""Train a tagger of phrases until its distance to the best possible objective is certified.

    Files have the word first and the chunk tag (IOB1, IOB2 or IOBES) last, such as those of CoNLL-2000; or JSON lines.
    Without --train, the entities of made-up news stand for phrases.""",
    data="Labelled column file, or JSON lines.",
    scores="precision, recall and F1, as the official CoNLL script counts them.",
    writes="the file with predicted labels.",
    examples=(
        "casimir train chunk --train train.txt --dev dev.txt --model out/",
        "casimir train chunk --train eng.train --label 3 --columns word,c2 --model out/",
    ),
)
