"""The page: well-formed, complete in itself, and no text of the data becomes markup."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report.pages import NASTY, SENTENCES, labelled, report

from casimir.report import SentenceView

_EMPTY = {"meta", "input"}


class Outline(HTMLParser):
    """Tags with their attributes, and whether they are closed in the order in which they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def outline() -> Outline:
    return Outline(report().html())


def test_every_tag_is_closed_and_every_section_is_there(outline: Outline) -> None:
    assert outline.open == []
    sections = [attrs["id"] for tag, attrs in outline.tags if tag == "section"]
    names = ["summary", "scores", "confusions", "calibration", "transitions", "convergence", "mistakes"]
    assert sections == names
    assert [attrs["href"] for tag, attrs in outline.tags if tag == "a"] == [f"#{name}" for name in names]
    assert sum(tag == "svg" for tag, _ in outline.tags) == 4


def test_nothing_is_loaded_from_anywhere(outline: Outline) -> None:
    for tag, attrs in outline.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed"}
        assert "src" not in attrs
        assert not (attrs.get("href") or "#").startswith("http")
    html = report().html()
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in next(a["content"] or "" for t, a in outline.tags if "http-equiv" in a)


def test_text_of_the_data_never_becomes_markup(outline: Outline) -> None:
    assert sum(tag == "script" for tag, _ in outline.tags) == 1
    assert NASTY in outline.text
    assert "<script>alert" not in report().html()


def test_the_worst_sentences_come_first_with_what_the_filters_read(outline: Outline) -> None:
    items = [attrs for tag, attrs in outline.tags if attrs.get("class") == "sentence"]
    assert [int(a["data-number"] or "") for a in items] == [4, 2, 1, 3, 5, 0]
    assert items[2]["data-text"] == "paris is large"
    assert items[2]["data-types"] == "LOC\nPER"
    assert items[2]["data-kinds"] == "type"
    assert items[2]["data-pairs"] == "LOC>PER"
    assert items[5]["data-kinds"] == "right"
    marks = [attrs["class"] for tag, attrs in outline.tags if tag == "mark"]
    assert marks.count("right") == 2
    assert marks.count("wrong") == 8


def test_pictures_are_proper_xml() -> None:
    html = report().html()
    for part in html.split("<svg")[1:]:
        picture = ET.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")
        assert picture.get("role") == "img"
        for element in picture.iter():
            for name in ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2", "r"):
                assert -1 <= float(element.get(name, 0)) < 1000


def test_labels_without_spans_and_without_a_model_make_a_shorter_page() -> None:
    outline = Outline(labelled().html())
    sections = [attrs["id"] for tag, attrs in outline.tags if tag == "section"]
    assert sections == ["scores", "confusions", "mistakes"]
    assert "VB → JJ 0.40" in outline.text


def test_a_report_is_saved_and_shown_in_a_notebook(tmp_path: Path) -> None:
    report().save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report().html()
    ((tag, attrs),) = Outline(report()._repr_html_()).tags
    assert (tag, attrs["srcdoc"]) == ("iframe", report().html())
    assert "6 sentences" in repr(report())


def test_a_sentence_needs_as_many_of_everything() -> None:
    with pytest.raises(ValueError, match="2 words, 1 true labels"):
        SentenceView(["a", "b"], ["O"], ["O"], [1.0], [], [], 0.0, 0.0)
    assert len(SENTENCES) == 6
