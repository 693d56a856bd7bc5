"""Fixtures shared by the tests of queries."""

from __future__ import annotations

import pytest

from . import data


@pytest.fixture(scope="session")
def ds():
    """Return the lake of all column types, which must not be written to."""
    return data.build()


@pytest.fixture(scope="session")
def owners():
    """Return the lake to be joined."""
    return data.owners()
