"""Lakes on the Hugging Face hub, here on an imitation of it, are read from ``hf://`` URLs."""

import pickle

import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.saved import pickles
from deeplake_lite.storage.repo.hub import Place, web_options
from deeplake_lite.testing.http_server import HttpServer, Reply, Response
from deeplake_lite.testing.static_server import Hub, StaticServer

TOKEN = "hf_ThisIsSecret"
URL = "hf://datasets/me/flowers/lakes/a"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("HF_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def files(tmp_path):
    """Return a server for the large files of a repository with a published lake."""
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32", "data": "bytes"})
    ds.append({"x": [1, 2], "data": [b"a" * 100_000, b"b"]})
    ds.commit("two")
    ds.tag("v1")
    (tmp_path / "repository" / "lakes").mkdir(parents=True)
    ds.publish(str(tmp_path / "repository" / "lakes" / "a"))
    with StaticServer(tmp_path / "repository") as server:
        yield server


@pytest.fixture
def hub(files, tmp_path):
    """Return a hub with a public dataset."""
    with Hub(tmp_path / "repository", files, "me/flowers", revisions=("main", "a/b")) as hub:
        yield hub


@pytest.fixture
def private(files, tmp_path):
    """Return a hub with a private dataset."""
    with Hub(tmp_path / "repository", files, "me/flowers", token=TOKEN) as hub:
        yield hub


def options(hub, **more):
    return {"endpoint_url": hub.endpoint, "allow_http": True, "retries": 1, **more}


def test_lake_is_read_anonymously(hub, files):
    assert dl.exists(URL, storage_options=options(hub))
    ds = dl.open(URL, storage_options=options(hub))
    assert ds.read_only
    assert ds.url == URL
    assert ds["x"][:].tolist() == [1, 2]
    assert ds["data"][0] == b"a" * 100_000
    assert dl.open(URL, version="v1", storage_options=options(hub)).version == ds.version
    assert ds.verify()
    assert files.received  # after redirects
    assert not any("authorization" in request.headers for request in hub.received)


@pytest.mark.parametrize(
    "url", [f"{URL}/", "hf://datasets/me/flowers@a%2Fb/lakes/a", "HF" + URL[2:]]
)
def test_address_is_read_as_the_hub_writes_it(hub, url):
    assert len(dl.open(url, storage_options=options(hub))) == 2


@pytest.mark.usefixtures("files")
def test_lake_may_be_the_whole_repository(tmp_path):
    folder = tmp_path / "repository" / "lakes" / "a"
    with StaticServer(folder) as files, Hub(folder, files, "me/flowers") as hub:
        assert dl.exists("hf://datasets/me/flowers", storage_options=options(hub))


def test_lake_is_not_changed(hub):
    ds = dl.open(URL, storage_options=options(hub))
    with pytest.raises(dl.ReadOnlyError, match="because it is on a web server"):
        ds.append({"x": [3], "data": [b""]})
    with pytest.raises(dl.ReadOnlyError, match="upload the folder"):
        dl.create("hf://datasets/me/new", {"x": "int32"}, storage_options=options(hub))


def test_endpoint_comes_from_the_environment(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.endpoint}/")
    assert len(dl.open(URL, storage_options={"allow_http": True})) == 2


@pytest.mark.parametrize("place", ["storage_options", "HF_TOKEN", "headers"])
def test_token_opens_a_private_dataset_and_is_sent_to_the_hub_only(
    private, files, monkeypatch, place
):
    given = {
        "storage_options": {"token": TOKEN},
        "HF_TOKEN": {},
        "headers": {"headers": {"Authorization": f"Bearer {TOKEN}"}},
    }[place]
    if place == "HF_TOKEN":
        monkeypatch.setenv("HF_TOKEN", f"{TOKEN}\n")
    ds = dl.open(URL, storage_options=options(private, **given))
    assert ds["data"][0] == b"a" * 100_000
    assert {r.headers["authorization"] for r in private.received} == {f"Bearer {TOKEN}"}
    assert files.received
    assert not any(TOKEN in str(request) for request in files.received)


def test_token_is_in_no_repr_message_or_pickle(private, monkeypatch, capfd):
    ds = dl.open(URL, storage_options=options(private, token=TOKEN))
    data = pickle.dumps(ds)
    shown = [repr(ds), str(ds.handle.repository._repository.storage()), ds._repr_html_()]
    for bad in ("hf://datasets/me/flowers/none", "hf://datasets/you/flowers/lakes/a"):
        with pytest.raises(dl.LakeNotFoundError) as caught:
            dl.open(bad, storage_options=options(private, token=TOKEN))
        shown += [str(caught.value), str(caught.value.__cause__), repr(caught.value.__cause__)]
    with pytest.raises(dl.OptionError, match="token must be a token") as refused:
        dl.open(URL, storage_options=options(private, token=f"{TOKEN} "))
    shown += [str(refused.value), *capfd.readouterr()]
    assert TOKEN.encode() not in data
    assert not [text for text in shown if TOKEN in text]
    assert len(pickle.loads(data)) == 2  # in the same process
    pickles._kept.clear()  # as in another process
    with pytest.raises(dl.LakeNotFoundError, match="set the variable HF_TOKEN"):
        pickle.loads(data)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert pickle.loads(data)["x"][:].tolist() == [1, 2]


def test_anonymous_requests_have_no_token(private, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert not dl.exists(URL, storage_options=options(private, anonymous=True))
    assert not any("authorization" in request.headers for request in private.received)


@pytest.mark.parametrize(
    "url",
    [
        "hf://datasets/you/flowers/lakes/a",
        "hf://datasets/me/flowers@none/lakes/a",
        "hf://datasets/me/flowers/lakes/b",
        "hf://me/flowers/lakes/a",
    ],
)
def test_missing_lake_is_reported(hub, url):
    assert not dl.exists(url, storage_options=options(hub))
    with pytest.raises(
        dl.LakeNotFoundError, match=r"There is no lake at .* is private, pass token"
    ):
        dl.open(url, storage_options=options(hub))


@pytest.mark.parametrize(
    "url",
    [
        "hf://",
        "hf://datasets",
        "hf://datasets/me",
        "hf://flowers",
        "hf://buckets/me/flowers/a",
        "hf://datasets/me/flowers/../other",
        "hf://datasets/../flowers/a",
        "hf://datasets/me/flowers/a?x=1",
        "hf://user:secret@datasets/me/flowers",
    ],
)
def test_address_of_another_form_is_refused(url):
    for use in (dl.open, dl.exists):
        with pytest.raises(
            dl.LakeNotFoundError, match="must have the form hf://datasets/USER/REPO"
        ):
            use(url)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"token": ""}, "token must be a token"),
        ({"token": 5}, "token must be a token"),
        ({"token": "a\r\nb: c"}, "token must be a token"),
        ({"token": "a", "anonymous": True}, "both token and anonymous"),
        ({"token": "a", "headers": {"authorization": "x"}}, "both token and a header"),
        ({"anonymous": 1}, "anonymous must be True or False"),
        ({"endpoint_url": "http://hub.example.org"}, "must begin with https://"),
        ({"endpoint_url": "https://me:secret@hub.example.org"}, "it contains credentials"),
        ({"endpoint_url": "ftp://hub.example.org", "allow_http": True}, "must begin with https://"),
        ({"endpoint_url": 5}, "endpoint_url must be a string"),
        ({"profile": "me"}, "profile must name a profile"),
        ({"region": "eu"}, "'region' is not one of them"),
        ({"headers": 5}, "valid arguments of http_storage"),
    ],
)
def test_invalid_options_are_refused(given, message):
    for use in (dl.open, dl.exists):
        with pytest.raises(dl.OptionError, match=message) as caught:
            use(URL, storage_options=given)
        assert "secret" not in str(caught.value)


def test_kinds_of_repositories_have_addresses_of_their_own():
    urls = ("hf://datasets/a/b/c", "hf://models/a/b/c", "hf://a/b/c", "hf://spaces/a/b/c")
    assert [Place.of(url).address("https://hub") for url in urls] == [
        "https://hub/datasets/a/b/resolve/main/c",
        "https://hub/a/b/resolve/main/c",
        "https://hub/a/b/resolve/main/c",
        "https://hub/spaces/a/b/resolve/main/c",
    ]
    spaced = Place.of("hf://datasets/a/b@refs/convert/parquet/my lake/#".rstrip("#"))
    assert spaced.address("https://hub").endswith("/resolve/refs%2Fconvert%2Fparquet/my%20lake")


def test_headers_are_kept_beside_the_token():
    headers = web_options({"token": "a", "headers": {"x-me": "1"}})["headers"]
    assert headers == {"x-me": "1", "authorization": "Bearer a"}


class Refusing(HttpServer):
    """A server that gives the same reply to every request, and counts the requests."""

    def __init__(self, status, headers):
        super().__init__()
        self.status, self.headers, self.requests = status, headers, 0

    async def reply(self, request):
        self.requests += 1
        return Reply(Response(self.status, self.headers, b"<html>no</html>").encode(request.method))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, r"replied 403 Forbidden to http://[^ ]*: it denies access\. .*accept its terms"),
        (
            429,
            r"replied 429 Too Many Requests .*limits the rate of requests.* more requests with a",
        ),
    ],
)
def test_refusal_is_explained(status, message):
    with Refusing(status, {"Retry-After": "1"}) as server:
        for use in (dl.open, dl.exists):
            with pytest.raises(dl.StorageError, match=message) as caught:
                use(URL, storage_options=options(server))
            assert "html" not in str(caught.value)
        assert server.requests <= 20


def test_web_server_that_asks_for_credentials_is_no_missing_lake():
    with Refusing(401, {}) as server:
        url, given = f"{server.endpoint}/a", {"allow_http": True}
        for use in (dl.open, dl.exists):
            with pytest.raises(dl.StorageError, match=r"replied 401 Unauthorized .* asks for cred"):
                use(url, storage_options=given)
