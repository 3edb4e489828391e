"""Sphinx settings of the documentation site. Build it with ``make docs``; nothing is fetched from the network."""

import os
import sys
from pathlib import Path
from typing import Any

# Where the gallery's examples and this folder's own modules are found.
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import treemend  # noqa: E402

project = "treemend"
author = "The treemend developers"
copyright = f"2026, {author}"  # noqa: A001
version = release = treemend.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "gallery/**/*.md5", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
templates_path = ["_templates"]
default_role = "py:obj"
myst_heading_anchors = 4

autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ["../examples/tables", "../examples/decisions", "../examples/integration"],
    "within_subsection_order": "gallery_order.position",
    "reset_modules": ("matplotlib", "gallery_style.use_style"),
    "image_srcset": ["2x"],
    "thumbnail_size": (450, 330),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "doc_module": ("treemend",),
    "backreferences_dir": "gallery/backreferences",
    "inspect_global_variables": False,
    "write_computation_times": False,  # their pages load scripts from the network
}

html_theme = "pydata_sphinx_theme"
html_title = "treemend"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "treemend", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": {"**": ["page-toc"], "gallery/index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}  # light or dark as the browser asks
html_sidebars = {"index": [], "changelog": [], "gallery/index": []}


def without_signature(app: Any, what: str, name: str, *others: Any) -> tuple[str, None] | None:
    """Hide the arguments of classes that people get and never make."""
    del app, others
    return ("", None) if what == "class" and name.endswith("Result") else None


def setup(app: Any) -> None:
    """Connect what Sphinx calls."""
    app.connect("autodoc-process-signature", without_signature)
