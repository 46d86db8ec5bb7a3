"""Word alignment: sentence pairs, lexical statistics, features, costs and error rates.

The models themselves are in `casimir.tasks.align.model`.
"""

from casimir.tasks.align.bitext import Bitext, Links, format_links, parse_bitext, parse_links, read_bitext
from casimir.tasks.align.metrics import LinkScores, link_scores

__all__ = [
    "Bitext",
    "LinkScores",
    "Links",
    "format_links",
    "link_scores",
    "parse_bitext",
    "parse_links",
    "read_bitext",
]
