"""A check that no file of a dataset in several numbered files is missing.

Many tools put the number of a file and the total into its name, as in
``train-00000-of-00003.parquet`` and ``mnist-train.tfrecord-00000-of-00010``. This makes it possible
to detect an interrupted download.
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
"""Maximum number of missing files that the error lists."""

_SHARD = re.compile(
    r"(?<!\d)(?P<number>\d{4,18})-of-(?P<count>\d{4,18})(?P<hash>-[0-9a-f]+)?(?!\d)"
)
"""Pattern of the end of a file's name, such as ``-00000-of-00003``: the number of the file and the
number of files. A digest may follow."""


def check_complete(names: Sequence[str]) -> None:
    """Raise an error if some files of a numbered set are missing.

    Call this function for the files in a folder, or for those that match a pattern, but not for a
    list that the user passed. Numbers start at 0 or 1. Files in different folders, or with
    different names apart from the number, belong to different sets.

    Raises
    ------
    InvalidValueError
        If files are missing. The message lists some of them.

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
        if match := _SHARD.search(name):
            ends = (name[: match.start()], match["count"], name[match.end() :])
            sets[folder, *ends][int(match["number"])] = match["number"]
    for (folder, before, total, after), there in sets.items():
        count = int(total)
        first = int(0 not in there and count in there)
        numbers = range(first, first + count)
        missing = count - sum(number in numbers for number in there)
        if missing:
            width = len(next(iter(there.values())))
            gaps = (number for number in numbers if number not in there)
            examples = [f"'{before}{n:0{width}}-of-{total}{after}'" for n in islice(gaps, NAMED)]
            raise InvalidValueError(
                f"A numbered set of files must be complete, but {missing} of {count} files "
                f"{'is' if missing == 1 else 'are'} missing in {folder or '.'!r}: "
                f"{', '.join(examples)}{', …' if missing > NAMED else ''}. Download the missing "
                "files, or pass a list of the files to ingest."
            )
