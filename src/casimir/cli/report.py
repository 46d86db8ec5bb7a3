"""The figures of a training run, for readers and for scripts."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from casimir.cli.console import score_table
from casimir.tasks.ner.metrics import EntityScores
from casimir.tasks.ner.model import NERModel


def run_figures(model: NERModel) -> dict[str, Any]:
    """What happened in training, as plain numbers."""
    tagger = model.tagger
    last = tagger.trace_[-1]
    return {
        "status": tagger.status_,
        "objective": tagger.objective_,
        "dual": tagger.dual_,
        "gap": tagger.gap_,
        "lam": tagger.lam_,
        "epochs": last.epoch,
        "oracle_calls": last.oracle_calls,
        "seconds": last.seconds,
        "labels": len(tagger.classes_),
        "columns": ["word", *model.columns],
        "scheme": model.file_scheme.value,
        "trained_scheme": model.scheme.value,
    }


def show_run(console: Console, model: NERModel, title: str | None = None) -> None:
    """The same for readers."""
    figures = run_figures(model)
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False)
    table.add_column("", style="dim")
    table.add_column("")
    ended = {"converged": "certified", "epochs": "all epochs used", "interrupted": "interrupted"}
    gap = f"{figures['gap']:.2e}  ({ended.get(figures['status'], figures['status'])})"
    table.add_row("objective", f"{figures['objective']:.6f}")
    table.add_row("relative duality gap", gap)
    table.add_row("oracle calls", f"{figures['oracle_calls']:,}  in {figures['epochs']} epochs")
    table.add_row("seconds", f"{figures['seconds']:.1f}  (training alone)")
    console.print(table)


def show_scores(console: Console, scores: EntityScores, title: str) -> None:
    console.print(score_table(scores, title))
    console.print(f"token accuracy {scores.accuracy:.4f} over {scores.tokens:,} tokens")
