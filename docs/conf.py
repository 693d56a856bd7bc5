"""How the documentation is built: `sphinx-build -W --keep-going -n docs docs/_build`.

Some pages are generated before Sphinx reads them: the command line from typer's commands, and the
tables of the benchmarks from `benchmarks.json`. The notebooks are copied here, because Sphinx reads
nothing outside its own folder.
"""

from __future__ import annotations

import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 lies beside this file

generate.write_pages(HERE / "_generated")
shutil.copytree(ROOT / "notebooks", HERE / "notebooks", dirs_exist_ok=True)

project = "deeplake_lite"
copyright = "the authors of deeplake_lite"
release = metadata.version("deeplake-lite")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_generated", "_templates", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
default_role = "py:obj"  # `commit` in a docstring leads to what is called so, where that is known

# Markdown and notebooks
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the tests run the notebooks
suppress_warnings = ["misc.highlighting_failure"]  # cells with the magic %%tql

# The API, from docstrings
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the signatures are long; numpydoc's sections name the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them
numpydoc_class_members_toctree = False
nitpick_ignore_regex = [
    # Single backticks in docstrings are also used for parameters, which have no page of their own.
    (r"py:.*", r".*"),
]

# Links. External ones are checked by `sphinx-build -b linkcheck`, which needs the network.
linkcheck_anchors = False

html_theme = "pydata_sphinx_theme"
html_title = "deeplake_lite"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_sidebars = {"tour": [], "notebooks_index": []}  # nothing beside them
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output of doctests

RETURNED = {
    *("Browser", "Column", "Dataset", "Diff", "Loader", "Mix", "Report", "SavedViews", "Status"),
    *("Upserted", "Vacuumed", "View", "Commit", "Ingested", "IngestedDataset", "Skipped"),
}
"""Classes of objects that functions return; nobody calls their constructors."""


def drop_signature(
    _app: Any, what: str, name: str, _obj: Any, _options: Any, signature: str, returns: str
) -> tuple[str | None, str | None]:
    """Show no constructor for classes that users do not construct."""
    if what == "class" and name.rpartition(".")[2] in RETURNED:
        return "", None
    return signature, returns


def setup(app: Any) -> None:
    """Register what autodoc is to call."""
    app.connect("autodoc-process-signature", drop_signature)
