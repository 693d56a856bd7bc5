"""The front end as a single script and style sheet, for anywidget and exported pages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["script", "style"]

HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z-]+)\.js";\n', re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?s:.*?)\*/)\n", re.MULTILINE)
"""Comments on separate lines. They are removed, because every notebook stores the script."""


@cache
def script(*names: str) -> str:
    """Join modules from ``js/`` into one module without comments, in the order of their imports.

    Since the modules then share a scope, two of them must not declare the same name.

    Parameters
    ----------
    *names : str
        Names of modules, without their suffix.

    Returns
    -------
    str
        Source of one module, which exports everything that these modules export.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        text = (HERE / "js" / f"{name}.js").read_text("utf-8")
        for imported in _IMPORT.findall(text):
            if imported not in texts:
                add(imported)
        texts[name] = _COMMENT.sub("", _IMPORT.sub("", text))

    for name in names:
        add(name)
    return "".join(texts.values())


@cache
def style(name: str = "browser") -> str:
    """Return the style sheet of the browser, or of another widget."""
    return (HERE / f"{name}.css").read_text("utf-8")
