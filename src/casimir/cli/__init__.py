"""The command line: `casimir demo`, `casimir train ner`, `casimir evaluate`, `casimir predict`."""

from casimir.cli.app import app, main

__all__ = ["app", "main"]
