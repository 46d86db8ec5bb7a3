"""Sphinx: `make docs` writes docs/_build/html."""

project = "casimir"
author = "The casimir developers"
copyright = "the casimir developers"
extensions = ["myst_parser"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "casimir"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
