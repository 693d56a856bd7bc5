"""What tests of queries share."""

from __future__ import annotations

import pytest

from deeplake_lite.query.functions import REGISTRY

from . import data


@pytest.fixture
def registry():
    """Forget the functions that a test lets queries call."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.fixture(scope="session")
def ds():
    """Return the lake of all column types; nobody writes to it."""
    return data.build()


@pytest.fixture(scope="session")
def owners():
    """Return the lake that is joined."""
    return data.owners()
