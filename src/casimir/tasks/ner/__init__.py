"""Named entity recognition: column files, tagging schemes, features and the entity F1 of the CoNLL shared tasks."""

from casimir.tasks.ner.columns import parse_conll, read_conll
from casimir.tasks.ner.corpus import Corpus, Sentence
from casimir.tasks.ner.features import FEATURE_SETS, extract, iter_features
from casimir.tasks.ner.metrics import Counts, EntityScores, entity_scores
from casimir.tasks.ner.schemes import Scheme, Span, convert, detect_scheme, spans
from casimir.tasks.ner.writer import format_conll, write_conll

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
