"""Named entity recognition: column files, tagging schemes, features and the entity F1 of the CoNLL shared tasks."""

from casimir.metrics import Counts, EntityScores, Scheme, Span, convert, detect_scheme, entity_scores, spans
from casimir.tasks.tag.columns import parse_conll, read_conll
from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.tag.features import extract, iter_features
from casimir.tasks.tag.templates.template_set import FEATURE_SETS
from casimir.tasks.tag.writer import format_conll, write_conll

__all__ = [
    "FEATURE_SETS",
    "Corpus",
    "Counts",
    "EntityScores",
    "Scheme",
    "Sentence",
    "Span",
    "convert",
    "detect_scheme",
    "entity_scores",
    "extract",
    "format_conll",
    "iter_features",
    "parse_conll",
    "read_conll",
    "spans",
    "write_conll",
]
