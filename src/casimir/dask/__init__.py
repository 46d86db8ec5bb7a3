"""Training on many machines, by Dask.

    minimize         F over pieces of the data that lie on workers
    Piece            some of the examples of an objective
    SequenceTagger   a tagger that is trained so; what it has learned is an ordinary SequenceTagger's
    Central, Sharded the two schemes for hinge losses; log losses take LBFGS

Only this package imports dask: pip install "casimir[dask]". Names are loaded when they are used: workers come by.
"""

import lazy_loader

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'casimir.dask needs Dask ({error}). Install it with: pip install "casimir[dask]"', name="distributed"
    ) from error

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
