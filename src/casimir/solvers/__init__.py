"""Solvers: frozen dataclasses of hyperparameters, run by `minimize`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
