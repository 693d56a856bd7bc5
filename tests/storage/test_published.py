"""A published lake on a static web server is read completely, from few files, despite faults."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import log
from deeplake_lite.storage.repo.vacuums import ROOT
from deeplake_lite.testing.proxy import NO_FAULTS, Faults, Proxy
from deeplake_lite.testing.static_server import StaticServer
from tests.dataset.everything import SCHEMA, VALUES

HTTP = {"allow_http": True}
ROWS = 200


@pytest.fixture
def lake(tmp_path):
    """Return the folder of a published lake with a column of every type."""
    ds = dl.create(str(tmp_path / "original"), SCHEMA)
    for _ in range(3):
        ds.append(VALUES)
        ds.commit("rows")
    ds.tag("v1")
    ds[[2, 0]].save("two")
    ds.publish(str(tmp_path / "site" / "lake"))
    return tmp_path / "site" / "lake"


@pytest.fixture
def images(tmp_path):
    """Return the folder of a published lake with many rows of bytes."""
    ds = dl.create(str(tmp_path / "original"), {"x": "int32", "data": "bytes"})
    data = np.random.default_rng(0).integers(0, 255, (ROWS, 30_000), np.uint8)
    ds.append({"x": range(ROWS), "data": [row.tobytes() for row in data]})
    ds.commit("rows")
    ds.publish(str(tmp_path / "site" / "lake"))
    return tmp_path / "site" / "lake"


@pytest.fixture
def server(tmp_path):
    (tmp_path / "site").mkdir(exist_ok=True)
    with StaticServer(tmp_path / "site") as server:
        yield server


@pytest.fixture
def proxy(server):
    with Proxy(server.endpoint, seed=3, stall=0.1) as proxy:
        yield proxy


def url(server):
    return f"{server.endpoint}/lake"


def files_in(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def digests(ds):
    table, slots = ds.handle.table, ds.handle.table.rows.live()
    return {f.name: table.digests(f.id, slots).tolist() for f in table.schema}


def read_all(ds):
    """Read every cell, and return digests of them."""
    ds.to_arrow()
    ds.views()
    return digests(ds), ds.row_ids.tolist()


def existing(server, folder):
    """Return the files that were requested and exist."""
    return {r.target.removeprefix("/lake/") for r in server.received} & files_in(folder)


def test_every_type_is_read_and_only_read(lake, server):
    ds, local = dl.open(url(server), storage_options=HTTP), dl.open(str(lake))
    assert read_all(ds) == read_all(local)
    assert ds.views()["two"].row_ids.tolist() == local.views()["two"].row_ids.tolist()
    assert dl.open(url(server), version="v1", storage_options=HTTP).version == ds.version
    assert {request.method for request in server.received} <= {"GET", "HEAD"}


def test_lake_on_a_web_server_is_published_to_a_folder(lake, server, tmp_path):
    done = dl.open(url(server), storage_options=HTTP).publish(str(tmp_path / "copy"))
    assert (done.tags, done.views) == (("v1",), ("two",))
    assert read_all(dl.open(done.url)) == read_all(dl.open(str(lake)))


def test_folder_has_exactly_the_files_that_readers_request(lake, server):
    files = files_in(lake)
    ds = dl.open(url(server), storage_options=HTTP)
    read_all(ds)
    ds.views()["two"].to_arrow()
    assert ds.verify()  # reads statistics, checksums, and what each commit wrote
    assert files - existing(server, lake) == {f"transactions/{ROOT}"}  # all repositories have it


def test_few_requests_open_a_lake_and_read_its_first_row(images, server):
    ds = dl.open(url(server), storage_options=HTTP)
    assert existing(server, images) == {"repo", f"snapshots/{ds.version}"}
    server.received.clear()
    assert ds[0]["x"] == 0
    assert len(server.received) <= 4
    assert all("range" in request.headers for request in server.received)
    size = sum(int(r.headers["range"].partition("-")[2]) for r in server.received)
    assert size < images.joinpath("snapshots", ds.version).stat().st_size + 100_000


def test_small_lake_is_read_from_two_files(tmp_path, server, monkeypatch):
    monkeypatch.setattr(log, "MAX_BYTES", 64 * 1024)
    ds = dl.create(str(tmp_path / "original"), {"x": "int32", "t": "text"})
    ds.append({"x": range(50), "t": list("ab") * 25})
    ds.commit("rows")
    ds.publish(str(tmp_path / "site" / "lake"))
    copy = dl.open(url(server), storage_options=HTTP)
    server.received.clear()
    assert copy["x"][:].tolist() == list(range(50))
    assert copy[1]["t"] == "b"
    assert len(server.received) <= 2  # the manifest of the texts, which has them inline


FAULTS = [
    Faults(lost=0.2),
    Faults(truncated=0.2),
    Faults(stalled=0.2),
    Faults(failed=0.2),
    Faults(busy=0.2),
    Faults.spread(0.2, "lost", "truncated", "failed", "busy"),
]


@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_faults_are_repaired_by_repeating_requests(lake, proxy, faults):
    proxy.faults = faults
    ds = dl.open(url(proxy), storage_options={**HTTP, "retries": 20})
    read = read_all(ds)
    assert proxy.faulty
    assert read == read_all(dl.open(str(lake)))


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("fault", ["lost", "truncated", "forbidden", "failed", "busy"])
def test_broken_server_raises_our_errors(proxy, fault):
    options = {**HTTP, "retries": 1}
    ds = dl.open(url(proxy), storage_options=options)
    proxy.faults = Faults(**{fault: 1.0})
    operations = {
        "open": lambda: dl.open(url(proxy), storage_options=options),
        "exists": lambda: dl.exists(url(proxy), storage_options=options),
        "read": lambda: ds["data"][0],
    }
    for name, operation in operations.items():
        before = proxy.requests
        with pytest.raises(dl.StorageError):
            operation()
        assert proxy.requests - before <= 30, name
    proxy.faults = NO_FAULTS
    assert len(ds["data"][0]) == 30_000


def test_loader_reads_through_its_disk_cache(images, proxy, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    proxy.latency = 0.01
    expected = dl.open(str(images))["data"][:]

    def epoch():
        ds = dl.open(url(proxy), storage_options=HTTP)
        proxy.exchanges.clear()
        with ds.batches(16, cache="disk", shuffle=True, seed=0) as loader:
            pairs = [zip(b["x"].tolist(), b["data"], strict=True) for b in loader]
        rows = {x: bytes(data) for pair in pairs for x, data in pair}
        return [rows[n] for n in range(ROWS)]

    assert epoch() == expected
    chunks = [e for e in proxy.exchanges if "/chunks/" in e.target]
    assert chunks
    assert epoch() == expected
    again = [e for e in proxy.exchanges if "/chunks/" in e.target]
    assert sum(e.received for e in again) < sum(e.received for e in chunks) / 100
