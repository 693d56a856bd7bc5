"""What tests of queries share."""

from __future__ import annotations

import pytest

from . import data


@pytest.fixture(scope="session")
def ds():
    """Return the lake of all column types; nobody writes to it."""
    return data.build()


@pytest.fixture(scope="session")
def owners():
    """Return the lake that is joined."""
    return data.owners()
