"""Quotes of a CSV file that are opened and not closed: they would swallow lines that follow."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from deeplake_lite.errors import InvalidValueError


def check_quotes(path: str, delimiter: str) -> None:
    """Refuse a file with a quote that is not closed.

    Arrow takes such a value up to the next quote, or up to the end of the file. So that is where
    one is found: at the end, or where more text follows on the quote that closes several lines.

    Raises
    ------
    InvalidValueError
        With the line in which the quote is opened.
    """
    if not Path(path).stat().st_size:
        return
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        at = open_quote(data, delimiter)
        line = 0 if at is None else data[:at].count(b"\n") + 1
    if at is not None:
        raise InvalidValueError(
            f"{path!r} does not read: a quote that is opened in line {line} is not closed. Close "
            'it, or write a quote that is part of a value twice: "".'
        )


def open_quote(data: bytes | mmap.mmap, delimiter: str) -> int | None:
    r"""Return where a quote is opened that is not closed, or None.

    >>> open_quote(b'a,b\n1,"rose\n2,lily\n', ","), open_quote(b'1,"a\nb"\n2,5"\n', ",")
    (6, None)
    >>> open_quote(b'1,"rose\n2,"lily"\n', ",")
    2
    """
    if data.find(b'"') < 0:
        return None
    ends = (b"", b"\r", b"\n", delimiter.encode())
    before = re.escape(delimiter.encode())
    value = rb"(?:\A|(?<=\xef\xbb\xbf)|(?<=[\r\n" + before + rb']))"((?:[^"]++|"")*+)("?)(?=(.?))'
    for match in re.compile(value, re.DOTALL).finditer(data):
        inside, end, follows = match.groups()
        if not end or (b"\n" in inside and follows not in ends):
            return match.start()
    return None
