"""Sphinx: `make docs` writes docs/_build/html."""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "casimir"
author = "The casimir developers"
copyright = "the casimir developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("FloatArray", "IntArray", "BoolArray", "Label")}  # short in signatures
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
python_maximum_signature_line_length = 100
html_theme = "furo"
html_title = "casimir"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
