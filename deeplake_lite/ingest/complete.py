"""Finding out whether all files of a sharded dataset are there.

Many tools number the files that they write, with their count: ``train-00000-of-00003.parquet``,
``mnist-train.tfrecord-00000-of-00010``. So an interrupted download or copy can be noticed.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMED = 3
"""Number of missing files that an error names."""

_SHARD = re.compile(
    r"(?<!\d)(?P<number>\d{4,18})-of-(?P<count>\d{4,18})(?P<hash>-[0-9a-f]+)?(?!\d)"
)
"""The part of a file name that has its number and their count, and perhaps a digest."""


def check_complete(names: Sequence[str]) -> None:
    """Reject files that belong to a set of numbered files of which some are missing.

    Call it for the files of a folder or a pattern; a list that the user gave is read as it is.
    Numbers start from 0 or from 1. Sets in different folders, or with different names, are
    separate.

    Raises
    ------
    InvalidValueError
        If files are missing; the error names some of them.

    Examples
    --------
    >>> check_complete(["a-00000-of-00002.parquet", "a-00001-of-00002.parquet", "b.parquet"])
    >>> check_complete(["data/a-00000-of-00002.parquet"])
    Traceback (most recent call last):
    deeplake_lite.errors.InvalidValueError: ... missing in 'data': 'a-00001-of-00002.parquet'. ...
    """
    sets: defaultdict[tuple[str, str, str, str], dict[int, str]] = defaultdict(dict)
    for path in names:
        folder, name = os.path.split(path)
        if found := _SHARD.search(name):
            ends = (name[: found.start()], found["count"], name[found.end() :])
            sets[folder, *ends][int(found["number"])] = found["number"]
    for (folder, before, total, after), there in sets.items():
        count = int(total)
        first = int(0 not in there and count in there)
        numbers = range(first, first + count)
        missing = count - sum(number in numbers for number in there)
        if missing:
            width = len(next(iter(there.values())))
            gaps = (number for number in numbers if number not in there)
            shown = [f"'{before}{n:0{width}}-of-{total}{after}'" for n in islice(gaps, NAMED)]
            raise InvalidValueError(
                f"All files of a set must be there, but {missing} of {count} files "
                f"{'is' if missing == 1 else 'are'} missing in {folder or '.'!r}: "
                f"{', '.join(shown)}{', …' if missing > NAMED else ''}. Get the missing files, or "
                "pass the list of the files that you have to read only those."
            )
