"""How the site is built: offline, with nothing loaded from outside."""
# ruff: noqa: INP001, A001

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE), str(HERE.parent / "src")]

from lowlift._version import __version__  # noqa: E402 (found by the line above)

project = "lowlift"
author = "The lowlift developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "formulas",
    "pictures",
    "live",
    "docstrings",
    "everything_else",
    "references",
]
exclude_patterns = ["_*"]
default_role = "py:obj"
nitpicky = True
#: What is not ours or not public, and aliases of types, have no page here; a lower-case word may
#: be an argument.
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|np|npt|os|types|collections|pathlib|typing|fractions|sqlglot|uuid|pd)\..*"),
    ("py:class", r"contextlib\..*"),
    (
        "py:class",
        "(ndarray|float64|int64|bool_?|str_|object_|uint64|void|Floats|Ints|Bools|Label|Seed|Progress|Mechanism|Engine|Target|Profiling|lowlift.workflow.transaction.Content|lowlift._distortion.proof.Proof|lowlift.tables.cells.CellBins|lowlift._verbs.published._Groups)",
    ),
    ("py:obj", r"[a-z_]\w*"),
]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Guarantee", "Cost"]
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "lowlift"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "formulas"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
#: Doctests end with an empty line, which nobody needs to see.
highlight_options = {"python": {"stripnl": True}}
pygments_style = "tango"
pygments_dark_style = "monokai"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#005a8c",
        "color-brand-content": "#005a8c",
        "picture-region": "#0072b2",
        "picture-atom": "#c04f00",
        "picture-other": "#00795a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cbdf0",
        "color-brand-content": "#6cbdf0",
        "picture-region": "#56b4e9",
        "picture-atom": "#ff9a4d",
        "picture-other": "#3fcf9f",
    },
}
