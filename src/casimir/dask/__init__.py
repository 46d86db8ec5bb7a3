"""Training on many machines, by Dask.

    minimize         F over pieces of the data that lie on workers
    SequenceTagger   a tagger that is trained so; what it has learned is an ordinary SequenceTagger's
    Piece            some of the examples of an objective
    Central, Sharded the two schemes for hinge losses; log losses take LBFGS

Only this package imports dask: pip install "casimir[dask]".
"""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'casimir.dask needs Dask ({error}). Install it with: pip install "casimir[dask]"', name="distributed"
    ) from error

from casimir.dask.optimize import minimize
from casimir.dask.pieces import Piece
from casimir.dask.tagger import SequenceTagger

__all__ = ["Piece", "SequenceTagger", "minimize"]
