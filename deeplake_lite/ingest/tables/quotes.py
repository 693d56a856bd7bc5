"""Detecting unclosed quotes in CSV files, which would swallow the following lines."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from deeplake_lite.errors import InvalidValueError


def check_quotes(path: str, delimiter: str) -> None:
    """Raise an error if a CSV file has an unclosed quote.

    Arrow extends a value with an unclosed quote up to the next quote, or up to the end of the file.
    So a quote counts as unclosed if its value reaches the end of the file, or if the value spans
    several lines and text follows the quote that closes it.

    Raises
    ------
    InvalidValueError
        If a quote is not closed. The message names the line in which it is opened.
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
            f"Quotes in a CSV file must be closed, but the quote opened in line {line} of {path!r} "
            'is not closed. Close the quote or, if it is part of a value, double it: "".'
        )


def open_quote(data: bytes | mmap.mmap, delimiter: str) -> int | None:
    r"""Return the offset of the first unclosed quote, or None if all quotes are closed.

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
