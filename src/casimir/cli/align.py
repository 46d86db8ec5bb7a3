"""`casimir train align`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import clear_ends, write_result
from casimir.cli.options import Encoding, Epochs, Json, Lam, Quiet, Seed, Solver, Target, Tol, lam_of
from casimir.cli.report import Report, figure_table
from casimir.cli.train import train_and_report
from casimir.persistence import check_target

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.tasks.align.bitext import Bitext
    from casimir.tasks.align.metrics import LinkScores
    from casimir.tasks.align.model import AlignModel

TRAIN_EXAMPLES = """Examples:

casimir train align --model out/

casimir train align --text enfr.src-tgt --gold enfr.gold --model out/

casimir evaluate out/ test.src-tgt --gold test.gold

casimir predict out/ new.src-tgt > links.txt"""


def train(
    model: Target,
    text: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sentence pairs, ||| between the two. Default: made-up pairs.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Links of each pair: 3-4 is sure, 3p4 possible.")
    ] = None,
    more_text: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More pairs, without links, for lexical statistics.")
    ] = None,
    train_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, metavar="X", help="Share to train on, drawn by the seed; the rest is held out."),
    ] = 0.5,
    wrong: Annotated[float, typer.Option(min=0.0, metavar="X", help="Cost of a link that is not even possible.")] = 1.0,
    missed: Annotated[
        str,
        typer.Option(metavar="X", help="Cost of a sure link that is not found; auto: by cross-validation in training."),
    ] = "auto",
    fertility: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Links a word may have. Default: what training links need.")
    ] = None,
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Epochs = 500,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn to align the words of sentence pairs, each word to none, one or a few others.

    A random share of the pairs is trained on, and error rates are told for the rest, beside those of simple methods.
    Lexical statistics count the words of all pairs, the links of the held-out ones are not used. Ctrl-C saves the best
    model so far.
    """
    with clear_ends():
        check_target(model)
        missed_cost = _missed_of(missed)
        bitext, more = _data(text, gold, more_text, encoding)
        chosen, held_out = (bitext, None) if train_share == 1.0 else bitext.split(train_share, seed)
        from casimir.tasks.align import model as align

        train_and_report(
            lambda callbacks: align.train(
                chosen,
                text=[other for other in (held_out, more) if other is not None],
                wrong=wrong,
                missed=missed_cost,
                fertility=fertility,
                lam=lam_of(lam, len(chosen)),
                solver=solver,
                tol=tol,
                epochs=epochs,
                seed=seed,
                callbacks=callbacks,
            ),
            lambda trained: _report(trained, chosen, held_out),
            title=f"Trained on {len(chosen):,} sentence pairs",
            target=model,
            quiet=quiet,
            json=json,
        )


def _missed_of(given: str) -> float | Literal["auto"]:
    """ "auto" is itself, and any other text must be a number."""
    if given == "auto":
        return "auto"
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise typer.BadParameter(f"--missed {given!r} is not a cost such as 1 or 2.5, or auto.")
    return value


def evaluate_model(model: AlignModel, file: Path, options: EvaluateOptions) -> Report:
    """Alignment error rate on sentence pairs with links."""
    from casimir.tasks.align.bitext import read_bitext

    if options.gold is None:
        raise ValueError("Word alignment is evaluated against true links: give them with --gold FILE.")
    bitext = read_bitext(file, options.gold, encoding=options.encoding)
    scores = model.evaluate(bitext)
    rows = {"casimir": scores}
    return Report(scores.to_dict(), lambda console: _show(console, rows, f"Links in {file}"))


def predict_model(model: AlignModel, file: Path, options: PredictOptions) -> None:
    """One line of links per pair, words counted from 1."""
    from casimir.tasks.align.bitext import format_links, read_bitext

    bitext = read_bitext(file, encoding=options.encoding)
    lines = "".join(format_links(links) + "\n" for links in model.align(bitext))
    write_result(lines, options.encoding, options.output, f"Aligned {len(bitext):,} sentence pairs into")


def _data(text: Path | None, gold: Path | None, more_text: Path | None, encoding: str) -> tuple[Bitext, Bitext | None]:
    from casimir.tasks.align.bitext import parse_bitext, read_bitext

    if (text is None) != (gold is None):
        raise ValueError("--text and --gold come together; without both, made-up sentence pairs are used.")
    more = None if more_text is None else read_bitext(more_text, encoding=encoding)
    if text is not None:
        return read_bitext(text, gold, encoding=encoding), more
    from casimir.datasets.phrases import make_phrases

    phrases = make_phrases()
    return parse_bitext(phrases.text, phrases.gold, name="made-up pairs", gold_name="their links"), more


def _report(model: AlignModel, chosen: Bitext, held_out: Bitext | None) -> Report:
    settings = {"features": len(model.w), "fertility": model.fertility, "missed": model.missed}
    if held_out is None:
        return Report(settings)
    from casimir.tasks.align.baselines import baseline_scores

    rows = {"casimir": model.evaluate(held_out), **baseline_scores(model.features.words, chosen, held_out)}

    def show(console: Console) -> None:
        console.print(f"links per word        up to {model.fertility}; a missed one costs {model.missed:g}\n")
        _show(console, rows, f"Links in {len(held_out):,} held-out pairs")

    figures = {name: scores.to_dict() for name, scores in rows.items()}
    ours = figures.pop("casimir")
    return Report({**settings, "heldout": {"pairs": len(held_out), **ours, "baselines": figures}}, show)


def _show(console: Console, rows: dict[str, LinkScores], title: str) -> None:
    table = [(name, s.aer, s.precision, s.recall, s.found) for name, s in rows.items()]
    console.print(figure_table(title, ["", "AER", "precision", "recall", "links"], table))
