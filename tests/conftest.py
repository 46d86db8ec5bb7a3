"""Puts this folder on the import path, so that tests may share `problems`."""
