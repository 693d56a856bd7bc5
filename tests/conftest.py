"""Settings and lakes shared by all tests."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from itertools import count
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

import deeplake_lite as dl
from deeplake_lite import codecs, plugins
from deeplake_lite.htypes.registry import load_class
from deeplake_lite.storage import log
from deeplake_lite.testing.tiny import only_arrays as write_only_arrays
from deeplake_lite.testing.tiny import tiny_chunks

SLOW_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=20, stateful_step_count=30, **SLOW_MACHINE)
settings.register_profile("thorough", max_examples=1_000, stateful_step_count=60, **SLOW_MACHINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A process has one fork server, and the last list before its start decides what it imports. If a
# test set another list, every worker process of other tests would import PyTorch again. The slow
# tests, which run apart, have shorter lists, because they start many processes.
multiprocessing.set_forkserver_preload(
    [
        "deeplake_lite.dataset.opening",
        "deeplake_lite.dataset.saved.pickles",
        "deeplake_lite.htypes.bytes",
        "deeplake_lite.loader.frameworks.torch_datasets",
        "numcodecs",
        "numpy.ma",
        "numpy.random",
        "torchdata.stateful_dataloader",
    ]
)

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow prints a greeting on stderr
if not os.environ.get("PYTEST_APART"):
    with contextlib.suppress(ImportError):  # not available everywhere that PyTorch is
        import triton  # noqa: F401 both bring LLVM, and Triton's aborts behind TensorFlow's
if not os.environ.get("PYTEST_APART"):  # see APART in the other conftest.py
    for name in ("deeplake", "lance"):  # importing them is an error
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]

_numbers = count()


def pytest_collection_modifyitems(items):
    """Refuse tests whose ids differ between processes: pytest-xdist would not run them.

    Objects without a `repr` of their own end up in such ids where a parameter has no `id`.
    """
    moving = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if moving:
        raise pytest.UsageError(f"Give the parameters of these tests ids: {moving[:3]}")


def pytest_collection_finish():
    """Exclude modules and tests from garbage collection, which would visit them all each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def log_limit(request, monkeypatch):
    """Limit the size of logs, differently for each test, so that arrays and logs are both read.

    Small lakes would otherwise consist of nothing but a log.
    """
    number = crc32(request.node.nodeid.encode()) % 4
    if number < 3:
        monkeypatch.setattr(log, "MAX_BYTES", (-1, 200, 2_000)[number])


@pytest.fixture
def only_arrays(log_limit):  # noqa: ARG001 (it is changed after that)
    """Write everything to arrays, and nothing to logs."""
    with write_only_arrays():
        yield


@pytest.fixture(scope="session")
def processes():
    """Return an executor with two worker processes."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("forkserver")) as executor:
        yield executor


@pytest.fixture(scope="session")
def dask_client():
    """Return a client of a Dask cluster with two worker processes."""
    from distributed import Client, LocalCluster

    options = {"dashboard_address": None, "host": "127.0.0.1"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def make_lake():
    """Make a lake in memory: its schema, then columns of rows to commit."""

    def make(schema, **columns):
        ds = dl.create(f"memory://test-{next(_numbers)}", schema)
        if columns:
            ds.append(columns)
            ds.commit("rows")
        return ds

    return make


@pytest.fixture
def points(monkeypatch):
    """Pretend that packages with some entry points are installed; add entry points to the list."""
    added, real = [], metadata.entry_points

    def entry_points(*, group, name=None):
        if group not in (plugins.HTYPES, plugins.CODECS):
            return real(group=group) if name is None else real(group=group, name=name)
        return [p for p in added if p.group == group and name in (None, p.name)]

    def forget():
        for cached in (plugins.names, plugins.load, codecs._load_class, load_class):
            cached.cache_clear()

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    forget()
    yield added
    forget()


@pytest.fixture
def install(points):
    """Register column types, as an installed package would."""

    def install(*types):
        for cls in types:
            where = f"{cls.__module__}:{cls.__name__}"
            points.append(metadata.EntryPoint(cls.name, where, plugins.HTYPES))

    return install


@pytest.fixture
def new_url():
    """Return the URL of a lake that does not exist yet."""
    return lambda: f"memory://test-{next(_numbers)}"


@pytest.fixture
def tiny():
    """Shrink chunks, blocks and spills to a few bytes."""
    with tiny_chunks():
        yield


@pytest.fixture
def registry():
    """Unregister the functions that a test has registered for queries."""
    from deeplake_lite.query.functions.user import OWN  # half a second, which only a few tests need

    before = dict(OWN)
    yield
    OWN.clear()
    OWN.update(before)


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory):
    """Return the address of an object store, which each process starts when it first needs it."""
    from tests import servers  # boto3 takes a second to import

    with servers.seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as url:
        yield url


@pytest.fixture
def bucket(seaweedfs):
    """Return a new bucket of an object store."""
    from tests import servers

    with servers.new_bucket(seaweedfs) as bucket:
        yield bucket
