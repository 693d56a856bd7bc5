"""The proxy forwards requests, delays them, makes some of them fail, and counts."""

import http.client
import time
import urllib.error
import urllib.request

import pytest

import deeplake_lite as dl
from deeplake_lite.testing.proxy import Faults, Proxy
from deeplake_lite.testing.slow_store import SlowStore

DATA = bytes(range(256)) * 100


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    (folder / "a").write_bytes(DATA)
    with SlowStore(folder, 0.0) as store:
        yield store


def get(proxy, **headers):
    request = urllib.request.Request(f"{proxy.endpoint}/lakes/a", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read()


def test_requests_are_forwarded_and_counted(store):
    with Proxy(store.endpoint) as proxy:
        assert get(proxy) == DATA
        assert get(proxy, Range="bytes=1-3") == DATA[1:4]
    first, second = proxy.exchanges
    assert (first.operation, first.target, first.status) == ("get", "/lakes/a", 200)
    assert second.status == 206
    assert proxy.requests == 2
    assert len(DATA) < first.received < len(DATA) + 500
    assert proxy.bytes == first.received + second.received
    assert not proxy.faulty


def test_connection_serves_many_requests(store):
    with Proxy(store.endpoint) as proxy:
        connection = http.client.HTTPConnection(*proxy.endpoint.removeprefix("http://").split(":"))
        for _ in range(3):
            connection.request("HEAD", "/lakes/a")
            reply = connection.getresponse()
            assert int(reply.headers["Content-Length"]) == len(DATA)
            assert reply.read() == b""
        connection.close()
    assert proxy.operations == {"head": 3}


def test_chunked_body_is_forwarded(bucket):
    with Proxy(bucket.endpoint) as proxy:
        behind = bucket.at(proxy.endpoint)
        behind.write("a", DATA)
        assert behind.read("a") == DATA
        host = proxy.endpoint.removeprefix("http://")
        connection = http.client.HTTPConnection(*host.split(":"))
        connection.request("PUT", "/none/a", iter([b"abc", b"de"]), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        assert connection.getresponse().status == 403  # it is not signed
        connection.close()
    assert proxy.exchanges[-1].sent == len(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")


def test_latency_and_bandwidth_delay_replies(store):
    with Proxy(store.endpoint, latency=0.1) as proxy:
        begun = time.monotonic()
        get(proxy)
        assert time.monotonic() - begun >= 0.1
    with Proxy(store.endpoint, bandwidth=len(DATA) / 0.2) as proxy:
        begun = time.monotonic()
        get(proxy)
        assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize(("fault", "status"), [("forbidden", 403), ("failed", 500), ("busy", 503)])
def test_refused_request_does_not_reach_the_store(store, fault, status):
    before = store.requests
    with Proxy(store.endpoint, faults=Faults(**{fault: 1.0})) as proxy:
        with pytest.raises(urllib.error.HTTPError) as caught:
            get(proxy)
        assert caught.value.code == status
        assert (caught.value.headers["Retry-After"] is None) == (fault != "busy")
        caught.value.close()
    assert store.requests == before
    assert proxy.faulty == {fault: 1}


@pytest.mark.parametrize("fault", ["lost", "truncated"])
def test_cut_reply_belongs_to_a_request_that_reached_the_store(store, fault):
    before = store.requests
    faults, errors = Faults(**{fault: 1.0}), (ConnectionError, http.client.HTTPException)
    with Proxy(store.endpoint, faults=faults, seed=1) as proxy, pytest.raises(errors):
        get(proxy)
    assert store.requests == before + 1


def test_stalled_reply_is_late(store):
    with Proxy(store.endpoint, faults=Faults(stalled=1.0), stall=0.2) as proxy:
        begun = time.monotonic()
        assert get(proxy) == DATA
        assert time.monotonic() - begun >= 0.2


def test_faults_depend_on_the_seed_alone(store):
    def statuses(seed):
        with Proxy(store.endpoint, faults=Faults(failed=0.5), seed=seed) as proxy:
            for _ in range(20):
                try:
                    get(proxy)
                except urllib.error.HTTPError as error:
                    error.close()
        return [each.status for each in proxy.exchanges]

    assert statuses(1) == statuses(1) != statuses(2)
    assert set(statuses(1)) == {200, 500}


def test_address_without_http_is_refused():
    with pytest.raises(dl.OptionError, match="begins with http://, but it is 'localhost'"):
        Proxy("localhost")
    with pytest.raises(dl.OptionError, match=r"lost=-0\.1"):
        Faults(lost=-0.1)


def test_unreachable_store_is_a_bad_gateway():
    with Proxy("http://127.0.0.1:9") as proxy:
        with pytest.raises(urllib.error.HTTPError) as caught:
            get(proxy)
        assert caught.value.code == 502
        caught.value.close()
