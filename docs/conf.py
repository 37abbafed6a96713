"""Sphinx: the guide as it is written, the reference from the docstrings."""

from importlib import metadata

project = "likewise"
author = "the likewise authors"
release = metadata.version("likewise")
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_title = f"likewise {release}"
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
