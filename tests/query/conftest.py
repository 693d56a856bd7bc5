"""Fixtures shared by the tests of queries."""

from __future__ import annotations

import zlib

import pytest

from deeplake_lite.query.run import sources

from . import data


@pytest.fixture(scope="session")
def ds():
    """Return the lake of all column types, which must not be written to."""
    return data.build()


@pytest.fixture(scope="session")
def owners():
    """Return the lake to be joined."""
    return data.owners()


@pytest.fixture(autouse=True)
def read_rows(request, monkeypatch):
    """Have two thirds of the tests read and filter the stored columns in small blocks of rows."""
    choice = zlib.crc32(request.node.nodeid.encode()) % 3
    if choice:
        monkeypatch.setattr(sources, "READ_ROWS", (0, 16, 1_000)[choice])
