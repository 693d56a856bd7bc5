"""Golden plans: a query and its plan in each file of plans/.

Regenerate them with ``python -m tests.query.plan_files``.
"""

from __future__ import annotations

import re
from pathlib import Path

from deeplake_lite.query.run.cache import CACHE

from . import data

FOLDER = Path(__file__).parent / "plans"
GONE = re.compile(r", [\d.,]+ ms( in total)?| \[[\d.,]+ ms\]|, [\d.,]+ (B|KB|MB|GB) read")


def load(path: Path) -> tuple[str, str]:
    """Return a query and its plan."""
    query, _, plan = path.read_text().partition("\n\n")
    return query, plan.rstrip("\n")


def plan_of(query: str) -> str:
    """Return the plan of an executed query, without times and bytes."""
    CACHE.clear()  # nothing cached by earlier queries is used
    result = data.build().query(query, sources={"owners": data.owners()})
    return GONE.sub("", result.explain())


def write() -> None:
    """Regenerate all plans."""
    for path in sorted(FOLDER.glob("*.txt")):
        query, _ = load(path)
        path.write_text(f"{query}\n\n{plan_of(query)}\n")


if __name__ == "__main__":
    write()
