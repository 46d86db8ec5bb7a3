"""The task of parts of speech: tagging whose labels are no spans."""

from __future__ import annotations

from casimir.datasets.treebank import treebank_text
from casimir.tasks.tag.columns import Layout, parse_conll
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.task import tagging_task

_WORD, _UPOS = 2, 4  # columns of CoNLL-U


def made_up() -> tuple[Corpus, Corpus]:
    """The words and parts of speech of the made-up treebank."""
    parts = [
        parse_conll(treebank_text(name), name=f"made-up {name}", layout=Layout(_WORD, _UPOS), spans=False)
        for name in ("train", "dev")
    ]
    return parts[0].keep_columns(), parts[1].keep_columns()


TASK = tagging_task(
    "pos",
    has_spans=False,
    made_up=made_up,
    title="Parts of speech",
    about="""Train a part-of-speech tagger until its distance to the best possible objective is certified.

    Files have the word first and its part of speech last, tabs or blanks between columns, a blank line after each
    sentence; or JSON lines. --word and --label name other columns, such as 2 and 4 of CoNLL-U files.""",
    data="Labelled column file, or JSON lines.",
    scores="accuracy, with a confidence interval, and precision, recall and F1 of the labels.",
    writes="the file with predicted labels.",
    examples=(
        "casimir train pos --model out/",
        "casimir train pos --train train.tsv --dev dev.tsv --model out/",
        "casimir train pos --train train.conllu --word 2 --label 4 --columns word --model out/",
    ),
)
