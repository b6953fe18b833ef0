"""Sphinx's settings: `make docs` builds the site, with warnings as errors. It opens from the file system, offline."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from source_pages import linkcode_resolve as _linkcode_resolve  # noqa: E402

from bayes_lssvm import __version__  # noqa: E402

project = "bayes-lssvm"
author = "The bayes-lssvm developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "api_pages",
    "source_pages",
    "checkout_links",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "_ext", "examples", "**/README.md"]
root_doc = "index"
language = "en"

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "attrs_inline", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto", "gallery"]

# The reference. A name in backticks in a docstring is a link where it is the name of something documented.
default_role = "py:obj"
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
linkcode_resolve = _linkcode_resolve

# Examples: run at each build, in the order of their names, with their scripts and notebooks to download
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py",
    "ignore_pattern": r"__init__",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "bayes-lssvm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_context = {"default_mode": "auto"}  # light or dark, as the system says
html_theme_options = {
    "logo": {"text": "bayes-lssvm"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
