"""Structured prediction with smoothed inference, fast solvers and certified duality gaps.

The public names are listed in the stub `__init__.pyi`, for type checkers and for this file alike. Each is loaded when
it is first asked for: scikit-learn takes a second, and `casimir --version` needs nothing at all.
"""

import logging

import lazy_loader

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # a library is silent until it is asked

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
