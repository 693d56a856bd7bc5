"""The front end as one script: anywidget and exported pages take a single module."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["script", "style"]

HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z-]+)\.js";\n', re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?s:.*?)\*/)\n", re.MULTILINE)
"""On lines of its own: every notebook stores the script, which needs no comments."""


@cache
def script(*names: str) -> str:
    """Return modules of ``js/`` as one, each behind those that it imports, without comments.

    They share one scope then, so that no name is declared in two of them.

    Parameters
    ----------
    *names : str
        Modules, without their suffix.

    Returns
    -------
    str
        Source of a module with all that they export.
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
def style() -> str:
    """Return the style sheet of the browser."""
    return (HERE / "browser.css").read_text("utf-8")
