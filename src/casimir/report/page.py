"""One HTML page, complete in itself: style, script, pictures and data are all in it, and nothing is loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path

from casimir.report import charts
from casimir.report.counts import BOUNDARY, MISSED, SPURIOUS, WRONG_LABEL, WRONG_TYPE, Score, confusions, scores_by_type
from casimir.report.data import ReportData
from casimir.report.sentences import sentence, worst_first

_SENTENCES, _CONFUSIONS, _PAIRS, _LABELS = 300, 20, 60, 40  # at most so many are shown
_KINDS = {
    MISSED: "missed",
    SPURIOUS: "found where there is none",
    WRONG_TYPE: "wrong type",
    BOUNDARY: "wrong boundary",
    WRONG_LABEL: "wrong label",
    "right": "no mistake",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a tagger; in a notebook it shows itself."""

    data: ReportData

    def html(self) -> str:
        """The whole page."""
        return _page(self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """In a frame of its own, so that its style stays there."""
        return f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:70vh;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"Report({self.data.title!r}, {len(self.data.sentences)} sentences); .save(path) writes the page"


def _page(data: ReportData) -> str:
    sections = {
        "summary": ("Summary", _summary(data)),
        "scores": ("Scores by type" if data.has_spans else "Scores by label", _scores(scores_by_type(data.sentences))),
        "confusions": ("Confusions", _confusions(data)),
        "calibration": ("Calibration", _calibration(data)),
        "transitions": ("Transitions", _transitions(data)),
        "convergence": ("Convergence", _convergence(data)),
        "mistakes": ("Sentences, the worst first", _sentences(data)),
    }
    shown = {name: (title, body) for name, (title, body) in sections.items() if body}
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, (title, _) in shown.items())
    body = "".join(f'<section id="{name}"><h2>{escape(t)}</h2>{inner}</section>' for name, (t, inner) in shown.items())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(data.title)}</title><style>{_asset('style.css')}</style></head><body><main>"
        f"<h1>{escape(data.title)}</h1><nav>{links}</nav>{body}</main>"
        f"<script>{_asset('script.js')}</script></body></html>\n"
    )


def _summary(data: ReportData) -> str:
    facts = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in data.facts.items())
    return f'<dl class="facts">{facts}</dl>' if facts else ""


def _scores(scores: Sequence[Score]) -> str:
    *rows, total = scores
    left_out = len(rows) - _LABELS
    cells = "".join(_score_row(row) for row in rows[:_LABELS]) + _score_row(total, "all")
    more = f'<p class="hint">{left_out} more are in "all".</p>' if left_out > 0 else ""
    head = (
        '<th>type</th><th class="bar"></th><th>F1</th><th>precision</th><th>recall</th><th>true</th><th>predicted</th>'
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div>{more}'


def _score_row(row: Score, kind: str = "") -> str:
    bar = f'<td class="bar"><span style="width:{100 * row.f1:.1f}%"></span></td>'
    numbers = "".join(f"<td>{value:.3f}</td>" for value in (row.f1, row.precision, row.recall))
    name = escape(row.name or "(no type)")
    return f'<tr class="{kind}"><td>{name}</td>{bar}{numbers}<td>{row.support:,}</td><td>{row.predicted:,}</td></tr>'


def _confusions(data: ReportData) -> str:
    found = confusions(data.sentences)
    if not found:
        return "<p>No mistakes.</p>"
    total = sum(n for _, _, n in found)
    most = found[0][2]
    rows = "".join(_confusion_row(gold, guess, n, n / total, n / most) for gold, guess, n in found[:_CONFUSIONS])
    head = '<th>true</th><th class="name">predicted</th><th class="bar"></th><th>count</th><th>share</th><th></th>'
    more = f"; the {_CONFUSIONS} most frequent are shown" if len(found) > _CONFUSIONS else ""
    hint = f'<p class="hint">{total:,} mistakes of {len(found):,} kinds{more}.</p>'
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{hint}'


def _confusion_row(gold: str, guess: str, n: int, share: float, length: float) -> str:
    same = " (boundary)" if gold == guess else ""
    button = f'<button class="link" type="button" data-pair="{escape(f"{gold}>{guess}")}">show</button>'
    return (
        f'<tr><td>{escape(gold)}</td><td class="name">{escape(guess)}{same}</td>'
        f'<td class="bar"><span style="width:{100 * length:.1f}%"></span></td>'
        f"<td>{n:,}</td><td>{share:.1%}</td><td>{button}</td></tr>"
    )


def _calibration(data: ReportData) -> str:
    if not data.curves:
        return ""
    rows = "".join(
        f"<tr><td>{escape(c.name)}</td><td>{sum(c.counts):,}</td><td>{_mean(c.confidence, c.counts):.3f}</td>"
        f"<td>{_mean(c.accuracy, c.counts):.3f}</td><td>{c.error:.3f}</td></tr>"
        for c in data.curves
    )
    head = "<th></th><th>predictions</th><th>mean confidence</th><th>right</th><th>expected error</th>"
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    hint = (
        '<p class="hint">On the dashed line confidence is what it says. Below it the tagger is too sure, above '
        "it not sure enough. <code>calibrate</code> on sentences that were not trained on brings both together.</p>"
    )
    return f'<div class="pair"><div>{charts.reliability(data.curves)}</div><div>{table}{hint}</div></div>'


def _mean(values: Sequence[float], counts: Sequence[int]) -> float:
    return sum(v * n for v, n in zip(values, counts, strict=True)) / sum(counts)


def _transitions(data: ReportData) -> str:
    if data.transitions is None:
        return ""
    hint = '<p class="hint">From the label of the row to that of the column: blue is favoured, orange is avoided.</p>'
    return f'<div class="wide">{charts.heat_map(data.labels, data.transitions)}</div>{hint}'


def _convergence(data: ReportData) -> str:
    if not data.trace:
        return ""
    pictures = (charts.convergence(data.trace), charts.gap(data.trace, data.tol))
    drawn = "".join(f"<div>{one}</div>" for one in pictures if one)
    hint = '<p class="hint">No weights have an objective below the lower bound.</p>'
    return f'<div class="pair">{drawn}</div>{hint}' if drawn else ""


def _sentences(data: ReportData) -> str:
    order = worst_first(data.sentences)[:_SENTENCES]
    pairs = [f"{gold}>{guess}" for gold, guess, _ in confusions(data.sentences)[:_PAIRS]]
    types = sorted({row.name for row in scores_by_type(data.sentences)[:-1]})
    kinds = [WRONG_LABEL, "right"] if not data.has_spans else [MISSED, SPURIOUS, WRONG_TYPE, BOUNDARY, "right"]
    sorts = {"worst": "worst mistake", "unsure": "least sure", "sure": "most sure", "order": "as in the data"}
    fields = (
        '<label>Words<input type="search" name="text" placeholder="part of a sentence"></label>'
        + _select("Type" if data.has_spans else "Label", "type", {name: name or "(no type)" for name in types})
        + _select("Mistake", "kind", {kind: _KINDS[kind] for kind in kinds})
        + _select("True > predicted", "pair", {pair: pair.replace(">", " > ") for pair in pairs})
        + '<label><span>Sure at most <output id="sure">1.00</output></span>'
        '<input type="range" name="confidence" min="0" max="1" step="0.01" value="1"></label>'
        + _select("Order", "sort", sorts, first="")
        + '<button type="reset">Show all</button>'
    )
    items = "".join(sentence(i, data.sentences[i]) for i in order)
    more = f" The {len(order)} worst of {len(data.sentences):,} are here." if len(order) < len(data.sentences) else ""
    return (
        f'<form id="filters">{fields}</form><p class="hint"><span id="count" aria-live="polite"></span>.{more}</p>'
        f'<ol id="sentences" class="sentences">{items}</ol>'
    )


def _select(label: str, name: str, options: dict[str, str], first: str = "all") -> str:
    choices = [f'<option value="">{first}</option>'] if first else []
    choices += [f'<option value="{escape(value)}">{escape(shown)}</option>' for value, shown in options.items()]
    return f'<label>{escape(label)}<select name="{name}">{"".join(choices)}</select></label>'


def _asset(name: str) -> str:
    return resources.files("casimir.report").joinpath(name).read_text(encoding="utf-8")
