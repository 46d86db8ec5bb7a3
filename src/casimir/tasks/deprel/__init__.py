"""Labels of dependency trees: the relation of every word to its head, given the tree."""

from casimir.tasks.deprel.conllu import DependencyTree, Treebank, format_conllu, parse_conllu, read_conllu
from casimir.tasks.deprel.metrics import LabelScores, label_scores

__all__ = [
    "DependencyTree",
    "LabelScores",
    "Treebank",
    "format_conllu",
    "label_scores",
    "parse_conllu",
    "read_conllu",
]
