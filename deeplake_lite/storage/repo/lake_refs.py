"""Names of branches and tags, and of the branches that are the lake's own.

A pin names a version for a while, so that no vacuum takes it; on an object store, a vacuum that is
at work announces itself by a branch, too. A link remembers that a version comes from an older one
although the history between them was cut.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

PIN = "_pin-"
"""Begin of the names of pins."""

VACUUM = "_vacuum-"
"""Begin of the names of announced vacuums."""

LINK = "_base-"
"""Begin of the names of links."""

ANNOUNCED_AGE = timedelta(hours=24)
"""On an object store, pins and announced vacuums that are older than this count as dead."""

SKEW = timedelta(minutes=1)
"""By how much the clocks of writers and of an object store may differ."""


def branch_ref(name: str) -> str:
    """Return what notes on refs call a branch."""
    return f"branch.{name}"


def tag_ref(name: str) -> str:
    """Return what notes on refs call a tag."""
    return f"tag.{name}"


def is_pin(name: str) -> bool:
    """Tell whether a branch is only there for a while: a pin, or a vacuum that is at work."""
    return name.startswith((PIN, VACUUM))


def in_words(ref: str) -> str:
    """Return how a message calls a ref.

    >>> in_words("tag.v1.0")
    "tag 'v1.0'"
    """
    kind, _, name = ref.partition(".")
    return f"{kind} {name!r}"


def pin_name(now: datetime) -> str:
    """Return a new name for a pin: a UUID of version 7, which begins with the time.

    >>> name = pin_name(datetime(2026, 1, 31, tzinfo=UTC))
    >>> name[:18], made_at(name).isoformat()
    ('_pin-019c115970007', '2026-01-31T00:00:00+00:00')
    """
    return f"{PIN}{_uuid7(now)}"


def vacuum_name(now: datetime, limit: datetime) -> str:
    """Return a new name for a vacuum that spares what is younger than `limit`."""
    return f"{VACUUM}{_uuid7(now)}-{max(0, int(limit.timestamp() * 1000)):012x}"


def _uuid7(now: datetime) -> str:
    return f"{int(now.timestamp() * 1000):012x}7{uuid4().hex[13:]}"


def made_at(name: str) -> datetime | None:
    """Return when a pin was made or a vacuum announced, None where the name does not tell."""
    found = re.fullmatch(
        f"(?:{PIN}|{VACUUM})([0-9a-f]{{12}})7[0-9a-f]{{19}}(?:-[0-9a-f]{{12}})?", name
    )
    return _at(found[1]) if found else None


def may_delete(name: str, begun: datetime | None) -> bool:
    """Tell whether a name is of a vacuum that is at work and may delete what is as old as `begun`.

    >>> name = "_vacuum-" + _uuid7(datetime.now(UTC)) + "-019c11597000"
    >>> may_delete(name, None), may_delete(name, datetime(2026, 1, 30, tzinfo=UTC))
    (True, True)
    >>> may_delete(name, datetime(2026, 2, 1, tzinfo=UTC)), may_delete("main", None)
    (False, False)
    """
    made = made_at(name) if name.startswith(VACUUM) else None
    if made is None or made < datetime.now(UTC) - ANNOUNCED_AGE:
        return False
    limit = _at(name.rpartition("-")[2]) if name.count("-") > 1 else made
    return begun is None or begun - SKEW < limit


def _at(milliseconds: str) -> datetime:
    """Return the time of a hexadecimal number of milliseconds."""
    try:
        return datetime.fromtimestamp(int(milliseconds, 16) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def link_name(older: str, later: str) -> str:
    """Return the name of the link between two versions."""
    return f"{LINK}{older}-{later}"


def is_link(name: str) -> bool:
    """Tell whether a branch is a link."""
    return name.startswith(LINK)


def link_ends(name: str) -> tuple[str, str] | None:
    """Return the older and the later version of a link.

    >>> link_ends("_base-1CECHNKREP0F1RSTCMT0-KCD17E4CZYH6CNFH7ZR0")
    ('1CECHNKREP0F1RSTCMT0', 'KCD17E4CZYH6CNFH7ZR0')
    """
    found = re.fullmatch(f"{LINK}([0-9A-Z]{{20}})-([0-9A-Z]{{20}})", name)
    return (found[1], found[2]) if found else None
