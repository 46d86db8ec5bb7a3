"""Scores of predicted labels: of entities, as seqeval and the CoNLL script count them, and of single tokens.

Labels are lists of lists, as taggers take and return them. `casimir.metrics.scorers` has scorers for scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
