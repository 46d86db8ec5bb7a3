"""The task of named entities: tagging whose labels write spans."""

from __future__ import annotations

from casimir.tasks.tag.task import tagging_task

TASK = tagging_task(
    "ner",
    has_spans=True,
    title="Named entities",
    about="""Train a named-entity tagger until its distance to the best possible objective is certified.

    Files have the word first and the label last, tabs or blanks between columns, a blank line after each sentence; or
    JSON lines. IOB1, IOB2 (BIO) and IOBES labels are recognised.""",
    data="Labelled CoNLL file.",
    scores="precision, recall and F1, as the official CoNLL script counts them.",
    writes="""the file with predicted labels as its last column, in its own scheme. It has the columns of the
    training file, with or without labels; labels that it has are replaced.""",
    examples=(
        "casimir train ner --model out/",
        "casimir train ner --train eng.train --dev eng.testa --model out/",
        "casimir train ner --train eng.train --model out/ --lam 0.1/n --tol 1e-3",
        "casimir train ner --train eng.train --model out/ --features paper --loss crf --json > run.json",
    ),
)
