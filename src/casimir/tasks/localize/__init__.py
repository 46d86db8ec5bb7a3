"""Localization: the box of the one object in a picture."""
