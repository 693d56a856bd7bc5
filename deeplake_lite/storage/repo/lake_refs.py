"""Names of branches and tags, including the branches that the lake creates internally.

A *ref* is a branch or a tag; its full name is ``branch.NAME`` or ``tag.NAME``. A *pin* is a
temporary branch that protects a version from vacuums. On an object store, a running vacuum
*announces* itself with a temporary branch. A *link* is a branch that records that a version
descends from an older version although a vacuum has deleted the history between the two.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

PIN = "_pin-"
"""Prefix of the names of pins."""

VACUUM = "_vacuum-"
"""Prefix of the names of announced vacuums."""

LINK = "_base-"
"""Prefix of the names of links."""

ANNOUNCED_AGE = timedelta(hours=24)
"""On an object store, a pin or announcement older than this is ignored: its process has died."""

SKEW = timedelta(minutes=1)
"""The largest expected difference between the clocks of writers and of an object store."""


def branch_ref(name: str) -> str:
    """Return the full name of a branch, ``branch.NAME``."""
    return f"branch.{name}"


def tag_ref(name: str) -> str:
    """Return the full name of a tag, ``tag.NAME``."""
    return f"tag.{name}"


def name_of(ref: str) -> str:
    """Return the name of the branch or tag that a ref is for.

    >>> name_of("tag.v1.0")
    'v1.0'
    """
    return ref.partition(".")[2]


def is_pin(name: str) -> bool:
    """Return whether a branch is temporary: a pin or the announcement of a vacuum."""
    return name.startswith((PIN, VACUUM))


def describe_ref(ref: str) -> str:
    """Describe a ref for an error message.

    >>> describe_ref("tag.v1.0")
    "tag 'v1.0'"
    """
    kind, _, name = ref.partition(".")
    return f"{kind} {name!r}"


def pin_name(now: datetime) -> str:
    """Return a new name for a pin, with a UUID of version 7, which begins with the time.

    >>> name = pin_name(datetime(2026, 1, 31, tzinfo=UTC))
    >>> name[:18], made_at(name).isoformat()
    ('_pin-019c115970007', '2026-01-31T00:00:00+00:00')
    """
    return f"{PIN}{uuid7(now)}"


def vacuum_name(now: datetime, limit: datetime) -> str:
    """Return a new name to announce a vacuum that spares objects written since `limit`."""
    return f"{VACUUM}{uuid7(now)}-{max(0, int(limit.timestamp() * 1000)):012x}"


def uuid7(now: datetime) -> str:
    """Return a new UUID of version 7 as 32 hexadecimal digits, which begin with the time."""
    return f"{int(now.timestamp() * 1000):012x}7{uuid4().hex[13:]}"


def made_at(name: str) -> datetime | None:
    """Return the time at which a pin or an announcement was made, or None for any other name."""
    match = re.fullmatch(
        f"(?:{PIN}|{VACUUM})([0-9a-f]{{12}})7[0-9a-f]{{19}}(?:-[0-9a-f]{{12}})?", name
    )
    return _at(match[1]) if match else None


def may_delete(name: str, begun: datetime | None) -> bool:
    """Return whether a branch announces a running vacuum that may delete objects since `begun`.

    If `begun` is None, return whether the vacuum may delete objects of any age.

    >>> name = "_vacuum-" + uuid7(datetime.now(UTC)) + "-019c11597000"
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
    """Convert hexadecimal milliseconds since the Unix epoch to a time."""
    try:
        return datetime.fromtimestamp(int(milliseconds, 16) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def link_name(older: str, later: str) -> str:
    """Return the name of the link that records that version `later` descends from `older`."""
    return f"{LINK}{older}-{later}"


def is_link(name: str) -> bool:
    """Return whether a branch is a link."""
    return name.startswith(LINK)


def link_ends(name: str) -> tuple[str, str] | None:
    """Return the older and the later version of a link, or None if `name` is not a link's name.

    >>> link_ends("_base-1CECHNKREP0F1RSTCMT0-KCD17E4CZYH6CNFH7ZR0")
    ('1CECHNKREP0F1RSTCMT0', 'KCD17E4CZYH6CNFH7ZR0')
    """
    match = re.fullmatch(f"{LINK}([0-9A-Z]{{20}})-([0-9A-Z]{{20}})", name)
    return (match[1], match[2]) if match else None
