"""Classes of other libraries on casimir's solvers, for programs that were written against them.

`from casimir import compat as sklearn_crfsuite` is all that a program for sklearn-crfsuite has to change.
"""

from casimir import metrics
from casimir.compat.crf import CRF
from casimir.compat.dump import from_crfsuite
from casimir.metrics import scorers

__all__ = ["CRF", "from_crfsuite", "metrics", "scorers"]
