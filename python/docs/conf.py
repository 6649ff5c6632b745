"""The documentation site: `sphinx-build -W docs docs/_build` in the folder python/. Nothing is downloaded."""

import sys
from pathlib import Path

import matplotlib

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
matplotlib.use("Agg")

import benchmark_report  # noqa: E402
import karhunen  # noqa: E402
import paper_report  # noqa: E402
import pictures  # noqa: E402

project = "karhunen"
copyright = "the karhunen developers"
release = version = karhunen.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "generated/performance", "generated/paper", "generated/pictures", "gallery/README.rst"]
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "code"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 392),
}

html_theme = "pydata_sphinx_theme"
html_title = "karhunen"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["karhunen.css"]
html_copy_source = False
html_show_sphinx = False
# Pages without others below them need no sidebar.
_alone = [page.stem for page in HERE.glob("*.rst") if page.stem != "api"]
html_sidebars = {name: [] for name in [*_alone, "search", "genindex", "py-modindex", "generated/gallery/*"]}
html_theme_options = {
    "logo": {"text": "karhunen"},
    "navbar_align": "left",
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
}

benchmark_report.write(HERE.parents[1] / "benchmarks" / "records", HERE / "generated" / "performance")
paper_report.write(HERE.parents[1] / "examples" / "paper" / "results", HERE / "generated" / "paper")
pictures.write(HERE / "generated" / "pictures")
