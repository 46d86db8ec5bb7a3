"""The page in a browser: it opens, asks for nothing, fits a phone, has two colour schemes, and its filters work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from report.chromium import CHROMIUM, Page, browser
from report.pages import report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

SHOWN = "Array.from(document.querySelectorAll('.sentence:not([hidden])')).map((s) => Number(s.dataset.number))"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("browser")
    report().save(folder / "report.html")
    with browser(folder) as tab:
        tab.open(folder / "report.html")
        yield tab


def choose(page: Page, name: str, value: str) -> list[int]:
    """The numbers of the sentences that are left after a field of the filters got a value."""
    page.run(f"document.querySelector('#filters').elements['{name}'].value = {value!r}")
    page.run(
        f"document.querySelector('#filters').elements['{name}'].dispatchEvent(new Event('change', {{bubbles: true}}))"
    )
    found: list[int] = page.run(SHOWN)
    return found


def reset(page: Page) -> None:
    page.run("document.querySelector('#filters').reset()")
    page.run("0")  # the page filters again after the reset
    page.call("Runtime.evaluate", expression="new Promise((done) => setTimeout(done, 20))", awaitPromise=True)


def test_nothing_but_the_page_is_asked_for(page: Page) -> None:
    page.open(page.folder / "report.html")
    assert page.requests == [(page.folder / "report.html").as_uri()]
    assert page.run("document.title").startswith("A title")
    assert page.run(SHOWN) == [4, 2, 1, 3, 5, 0]


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("text", "LEEDS", [2]),
        ("type", "LOC", [2, 1, 3]),
        ("kind", "missed", [5]),
        ("kind", "right", [0]),
        ("pair", "LOC>PER", [1]),
        ("confidence", "0.5", [4, 1]),
        ("sort", "order", [0, 1, 2, 3, 4, 5]),
        ("sort", "unsure", [4, 1, 3, 2, 0, 5]),
    ],
)
def test_filters_leave_the_right_sentences(page: Page, name: str, value: str, left: list[int]) -> None:
    assert choose(page, name, value) == left
    assert page.run("document.querySelector('#count').textContent") == f"{len(left)} of 6 sentences shown"
    reset(page)
    assert page.run(SHOWN) == [4, 2, 1, 3, 5, 0]


def test_filters_add_up(page: Page) -> None:
    choose(page, "type", "LOC")
    assert choose(page, "kind", "boundary") == [3]
    reset(page)


def test_a_confusion_leads_to_its_sentences(page: Page) -> None:
    page.run("document.querySelector('button[data-pair=\"ORG>LOC\"]').click()")
    assert page.run(SHOWN) == [2]
    reset(page)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1100])
def test_it_fits_and_has_two_colour_schemes(page: Page, width: int, dark: bool) -> None:
    page.open(page.folder / "report.html", width, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    red = int(page.run("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")[0])
    assert red < 60 if dark else red > 200
    picture = page.folder / f"{width}-{dark}.png"
    page.screenshot(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


TYPE_IS_BESIDE_ITS_WORD = """[...document.querySelectorAll("mark")].every(m => {
  if (m.textContent.includes("script")) return true;
  const words = m.firstChild, last = document.createRange();
  last.setStart(words, words.length - 2);
  last.setEnd(words, words.length - 1);
  const a = last.getBoundingClientRect(), b = m.querySelector("small").getBoundingClientRect();
  return a.width > 0 && a.top < b.bottom && b.top < a.bottom && b.left >= a.right;
})"""


def test_the_type_of_a_span_stays_on_the_line_of_its_last_word(page: Page) -> None:
    for width in range(240, 420, 12):
        page.open(page.folder / "report.html", width)
        assert page.run(TYPE_IS_BESIDE_ITS_WORD), width
