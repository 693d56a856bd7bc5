"""A setting of all tests of indexes."""

import pytest

from deeplake_lite.index import build_vectors


@pytest.fixture(autouse=True)
def few_queries(monkeypatch):
    """Measure the recall of new indexes with fewer searches, which take most of the build."""
    monkeypatch.setattr(build_vectors, "QUERIES", 16)
