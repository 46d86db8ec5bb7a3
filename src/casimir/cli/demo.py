"""`casimir demo`: the main job on the embedded corpus."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casimir.cli.console import INTERRUPTED, clear_ends, err, out, say, write_json
from casimir.datasets import load_news
from casimir.persistence import check_target
from casimir.tasks.tag.columns import read_conll

if TYPE_CHECKING:
    from casimir.tasks.tag.model import TagModel


def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model and the plot.")] = Path(
        "demo-output"
    ),
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the order of examples.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Write the results to stdout as JSON.")] = False,
) -> None:
    """Train a named-entity tagger on the embedded news corpus and show what it does, in under a minute.

    Leaves a model folder and a convergence plot in DIR.
    """
    with clear_ends():
        _demo(output, seed, json)


def _demo(output: Path, seed: int, json: bool) -> None:
    from casimir.cli.examples import show_examples
    from casimir.cli.report import Section, show_run
    from casimir.estimators.chain_tagger import ChainTagger
    from casimir.progress import Progress
    from casimir.tasks.ner.task import TASK
    from casimir.tasks.tag.held_out import HeldOut
    from casimir.tasks.tag.lexicons import NO_LEXICONS
    from casimir.tasks.tag.model import train

    began = time.perf_counter()
    check_target(output / "model")
    corpus, held_out = (read_conll(path) for path in (load_news().train, load_news().heldout))
    watched = HeldOut(held_out, lexicons=NO_LEXICONS.learnt(corpus))
    tagger = ChainTagger(random_state=seed)
    begin = f"Training on {len(corpus):,} sentences, {len(held_out):,} held out, to a certified gap of {tagger.tol:g}"
    say(err(), begin, "bold")
    with Progress({"held-out F1": watched.f1}, err()) as progress:
        model = train(corpus, tagger, callbacks=(progress,))
    model.save(output / "model")
    scores = watched.scores(model.given.predictor_)
    plot = _plot(model, output / "convergence.png")
    if json:
        figures = {**model.run.to_dict(), **TASK.figures(model), "heldout": scores.to_dict()}
        write_json({**figures, "model": str(output / "model"), "plot": plot})
    else:
        Section("heldout", "Held-out entities", {"casimir": scores}).show(out(), TASK)
        out().print()
        show_run(out(), model.run, "Training")
        show_examples(out(), held_out, model.tag(held_out))
    left = f"model in {output / 'model'}" + (f", plot in {plot}" if plot else "")
    say(err(), f"\nDone in {time.perf_counter() - began:.1f} s: {left}", "green")
    say(err(), f"Try it on your own text: casimir predict {output / 'model'} FILE   (one word per line)")
    if model.present[0].status_ == "interrupted":
        raise SystemExit(INTERRUPTED)


def _plot(model: TagModel, path: Path) -> str | None:
    from casimir.plotting import save_convergence

    tagger, _ = model.present
    try:
        save_convergence(tagger.trace_, path, tol=tagger.tol, title="Named-entity tagger, embedded corpus")
    except ImportError as error:
        say(err(), f"note: {error}", "yellow")
        return None
    return str(path)
