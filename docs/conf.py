"""Sphinx: pages as they are written, examples executed, the reference from the docstrings."""

import os
from importlib import metadata

os.environ.setdefault("OMP_NUM_THREADS", "2")  # before NumPy is imported by an example

project = "likewise"
author = "likewise developers"
release = metadata.version("likewise")
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "gallery", "auto_examples/*.ipynb", "sg_execution_times.rst"]
numpydoc_show_class_members = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]

html_theme = "furo"
html_title = f"likewise {release}"
html_extra_path = ["llms.txt"]
html_theme_options = {
    "source_repository": "https://github.com/likewise-developers/likewise",
    "source_branch": "main",
    "source_directory": "docs/",
}

linkcheck_ignore = [
    r"http://127\.0\.0\.1.*",
    r"https://github\.com/likewise-developers/.*",  # not published yet
]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "doc_module": ("likewise",),
    "backreferences_dir": None,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3,
    "nested_sections": False,
}


def skip_inherited(app, what, name, member, skip, options):
    """Leave out what scikit-learn's classes contribute: its texts refer to its own pages."""
    inherited = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    return True if inherited or name.endswith("_request") else None


def setup(app):
    """Connect the hooks."""
    app.connect("autodoc-skip-member", skip_inherited)
