"""Converting Deep Lake's names of branches and tags to names that a lake accepts."""

from __future__ import annotations

import re


def safe_name(name: str) -> str:
    """Replace characters in the name of a branch or tag that a lake does not accept.

    >>> safe_name("experiment 1"), safe_name("v1.0"), safe_name("ü")
    ('experiment_1', 'v1.0', 'x_')
    """
    parts = [re.sub(r"[^A-Za-z0-9._+-]", "_", part) for part in name.split("/")]
    safe = [part if re.match("[A-Za-z0-9]", part) else f"x{part}" for part in parts]
    return "/".join(safe)[:100]
