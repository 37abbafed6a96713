"""Sphinx: pages as they are written, examples executed, the reference from the docstrings."""

import json
import os
import re
import tomllib
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")  # before NumPy is imported by an example

metadata = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf8"))
repository = metadata["project"]["urls"]["Source"]

project = "likewise"
author = "likewise developers"
release = metadata["project"]["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "gallery", "auto_examples/*.ipynb"]
numpydoc_show_class_members = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
default_role = "py:obj"  # `names` in docstrings are links where the reference has them
highlight_language = "text"  # of blocks that name no language: commands and their output

html_theme = "furo"
html_title = f"likewise {release}"
html_extra_path = ["llms.txt"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": repository,
    "source_branch": "main",
    "source_directory": "docs/",
}

linkcheck_ignore = [
    r"http://127\.0\.0\.1.*",
    re.escape(repository) + ".*",  # not published yet
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
    "backreferences_dir": "auto_examples/used",  # which examples use a name
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3,
    "write_computation_times": False,  # a page with scripts of other sites
    "nested_sections": False,
}


def skip_inherited(app, what, name, member, skip, options):
    """Leave out what scikit-learn's classes contribute: its texts refer to its own pages."""
    inherited = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    return True if inherited or name.endswith("_request") else None


def link_examples(app, what, name, obj, options, lines):
    """Add links to the examples of the gallery that use a class or a function."""
    folder = Path(app.srcdir, sphinx_gallery_conf["backreferences_dir"])
    used = json.loads((folder / "backreferences_all.json").read_text(encoding="utf8"))
    if what in ("class", "function") and name in used:
        pages = [Path(example).stem for example, *_ in used[name]]
        links = [f"* :doc:`/auto_examples/{page}`" for page in pages]
        lines += ["", ".. rubric:: In the gallery", "", *links, ""]


def setup(app):
    """Connect the hooks."""
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", link_examples)  # after numpydoc
