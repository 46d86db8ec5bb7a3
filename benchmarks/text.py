"""From a file to tags: reading, features and packing, with and without lists of strings, and whole commands.

    CASIMIR_DATA=... python -m benchmarks.text

CPU seconds on CoNLL-2003, medians of runs that take turns. The commands are processes of their own, start-up included;
"beyond start-up" takes off what a file of one sentence costs. Native features are made by one thread and commands run
with --jobs 1, as threads have tables of their own. python-crfsuite tags with the features of the paper as strings; its
model comes from ten passes of its perceptron.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pycrfsuite

from benchmarks.clock import medians, take_turns
from casimir.features import pack
from casimir.tasks.tag.columns import read_conll
from casimir.tasks.tag.features import iter_features
from casimir.tasks.tag.lexicons import NO_LEXICONS
from casimir.tasks.tag.templates.extract import extract
from casimir.tasks.tag.templates.template_set import TemplateSet

FOLDER = Path(os.environ.get("CASIMIR_DATA", ""), "conll2003")
TRAIN, TESTA = FOLDER / "eng.train", FOLDER / "eng.testa"
REPETITIONS, BUCKETS = 3, 2**18


def native(name: str) -> Callable[[], object]:
    def run() -> object:
        corpus = read_conll(TRAIN)
        templates = TemplateSet.named(name)
        return extract(corpus.tokens, templates, NO_LEXICONS.learnt(corpus, templates.learns), BUCKETS)

    return run


def plain(name: str) -> Callable[[], object]:
    def run() -> object:
        corpus = read_conll(TRAIN)
        lexicons = NO_LEXICONS.learnt(corpus, TemplateSet.named(name).learns)
        return pack(iter_features(corpus.sentences, name, lexicons), BUCKETS)

    return run


def crfsuite(folder: Path) -> Callable[[], object]:
    """Reads testa, makes the features of the paper and tags, all from Python."""
    trainer, model = pycrfsuite.Trainer(algorithm="ap", verbose=False), str(folder / "crfsuite")
    corpus = read_conll(TRAIN)
    for x, y in zip(iter_features(corpus.sentences, "paper"), corpus.labels, strict=True):
        trainer.append(x, y)
    trainer.set_params({"max_iterations": 10})
    trainer.train(model)
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    return lambda: [tagger.tag(x) for x in iter_features(read_conll(TESTA).sentences, "paper")]


def command(*arguments: object) -> float:
    """CPU seconds of a command of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "from casimir.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        actions = {f"read + features + pack, {name}, native": native(name) for name in ("default", "paper")}
        actions |= {f"read + features + pack, {name}, strings": plain(name) for name in ("default", "paper")}
        actions["testa, paper features, python-crfsuite"] = crfsuite(folder)
        for name, seconds in medians(take_turns(actions, REPETITIONS)).items():
            print(f"{name:<50}{seconds:>8.3f} s")
        model, one = folder / "model", folder / "one.txt"
        whole = command("train", "ner", "--train", TRAIN, "--model", model, "--jobs", 1)
        print(f"{'train ner, two taggers, from the file':<50}{whole:>8.2f} s")
        one.write_text("Ada NNP I-NP\nslept VBD I-VP\n", encoding="utf-8")
        runs = [
            (command("predict", model, one, "--jobs", 1), command("predict", model, TESTA, "--jobs", 1))
            for _ in range(REPETITIONS)
        ]
        start, whole = (statistics.median(column) for column in zip(*runs, strict=True))
        tokens = int(read_conll(TESTA).tokens.offsets[-1])
        print(f"{'predict, one sentence':<50}{start:>8.3f} s")
        print(f"{'predict, testa':<50}{whole:>8.3f} s")
        print(f"{'predict, testa, beyond start-up':<50}{tokens / (whole - start):>8,.0f} tokens/s")


if __name__ == "__main__":
    main()
