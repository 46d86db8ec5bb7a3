"""Tasks: what `casimir train NAME`, `evaluate` and `predict` know how to do. Each has a folder of its own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
