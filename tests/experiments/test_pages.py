"""tools/experiment_pages.py: tables come from records, and what those lack stays."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "experiment_pages.py"
PAGE = """# Page

<!-- table: one -->

### one: a 1/n (F* in [1, 2])

| old a |

### one: b 1/n (F* in [1, 2])

| old b |

<!-- end -->

by hand

<!-- table: one-more -->
<!-- end -->
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("experiment_pages", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cases_without_records_keep_their_tables(tool: ModuleType) -> None:
    page = tool.filled(PAGE, {"one": "### one: b 1/n (F* in [3, 4])\n\n| new b |\n"})
    assert page == PAGE.replace("### one: b 1/n (F* in [1, 2])", "### one: b 1/n (F* in [3, 4])").replace(
        "old b", "new b"
    )
    assert tool.incomplete(PAGE, {"one": "### one: b 1/n (F* in [3, 4])\n"}) == {"one"}
    assert (
        tool.incomplete(PAGE, {"one": "### one: b 1/n\n\n### one: a 1/n\n", "one-more": "### one-more: c\n"}) == set()
    )


def test_empty_places_are_filled(tool: ModuleType) -> None:
    page = tool.filled(PAGE, {"one-more": "### one-more: c 1/n (F* in [3, 4])\n\n| c |\n"})
    assert "<!-- table: one-more -->\n\n### one-more: c 1/n (F* in [3, 4])\n\n| c |\n\n<!-- end -->" in page
    assert tool.filled(page, {"one-more": "### one-more: c 1/n (F* in [3, 4])\n\n| c |\n"}) == page


def test_pictures_belong_to_the_longest_name(tool: ModuleType) -> None:
    assert tool.experiment_of(Path("one-more-objective.png"), ["one", "one-more"]) == "one-more"
    assert tool.experiment_of(Path("one-objective.png"), ["one", "one-more"]) == "one"
