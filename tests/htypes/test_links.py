"""Paths, URLs and links to files, and the roots that a reader allows."""

from __future__ import annotations

import os
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Image, Link, Sequence, Text, resolve_link
from deeplake_lite.htypes.files import read
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses


@pytest.fixture
def roots(tmp_path):
    """Two folders, one of them allowed; a secret, and paths that lead to it."""
    for name in ("photos", "photos2"):
        (tmp_path / name).mkdir()
    (tmp_path / "photos" / "a b.txt").write_text("hello")
    (tmp_path / "photos2" / "secret.txt").write_text("secret")
    (tmp_path / "photos" / "link.txt").symlink_to(tmp_path / "photos2" / "secret.txt")
    (tmp_path / "photos" / "folder").symlink_to(tmp_path / "photos2")
    (tmp_path / "alias").symlink_to(tmp_path / "photos")
    os.mkfifo(tmp_path / "photos" / "pipe")
    return tmp_path


def test_links_under_a_root_are_read(roots):
    allow = (str(roots / "photos"),)
    for url in (
        f"{roots}/photos/a b.txt",
        f"file://{roots}/photos/a%20b.txt",
        f"FILE://localhost{roots}/photos/a b.txt",
        f"{roots}/photos/../photos/a b.txt",
        f"{roots}/alias/a b.txt",
        "a b.txt",
        "./x/../a b.txt",
    ):
        assert resolve_link(url, allow) == b"hello", url
    assert resolve_link("a b.txt", (str(roots), f"file://{roots}/alias")) == b"hello"
    assert resolve_link("photos/a b.txt", (str(roots / "photos2"), str(roots))) == b"hello"


@pytest.mark.parametrize(
    "url",
    [
        "{}/photos2/secret.txt",
        "{}/photos/../photos2/secret.txt",
        "{}/photos/link.txt",
        "{}/photos/folder/secret.txt",
        "file://{}/photos2/secret.txt",
        "file://{}/photos/%2e%2e/photos2/secret.txt",
        "../photos2/secret.txt",
        "link.txt",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1/secret.txt",
        "local://{}/photos/a b.txt",
        "simplecache::file://{}/photos2/secret.txt",
        "a\0b",
    ],
)
def test_links_that_lead_outside_are_refused(roots, url):
    with pytest.raises(
        InvalidValueError, match=r"is outside the allowed roots.*dl.open\(url, allow="
    ):
        resolve_link(url.format(roots), (str(roots / "photos"),))


def test_without_roots_no_link_is_followed(roots):
    with pytest.raises(InvalidValueError, match=r"outside the allowed roots \(none\)"):
        resolve_link(f"{roots}/photos/a b.txt", ())


@pytest.mark.parametrize("name", ["missing.txt", "pipe", "."])
def test_links_to_special_files_are_refused_without_blocking(roots, name):
    with pytest.raises(
        InvalidValueError, match=r"there is no file for the link .* under the allowed roots"
    ):
        resolve_link(f"{roots}/photos/{name}", (str(roots / "photos"),))


def test_file_url_has_no_host(roots):
    with pytest.raises(InvalidValueError, match="must not have a host"):
        resolve_link(f"file://server{roots}/photos/a b.txt", (str(roots),))


class Redirect(BaseHTTPRequestHandler):
    target = ""

    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", self.target + self.path)
        self.end_headers()

    def log_message(self, *_):
        pass


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(handler):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_web_links_are_read_under_their_prefix_only(roots, serve):
    base = serve(partial(Quiet, directory=str(roots)))
    allow = (f"{base}/photos",)
    assert resolve_link(f"{base}/photos/a%20b.txt", allow) == b"hello"
    assert (
        resolve_link(
            f"{base.upper().replace('HTTP', 'http')}/photos/a%20b.txt", (f"{base}/photos/",)
        )
        == b"hello"
    )
    for url in (
        f"{base}/photos2/secret.txt",
        f"{base}/photos/../photos2/secret.txt",
        f"{base}/photos/%2e%2e/photos2/secret.txt",
        f"{base}/photos/..%2fphotos2/secret.txt",
        f"{base}/photos\\..\\photos2/secret.txt",
        f"{base}/photos/a b.txt",
        f"{base}@127.0.0.1/photos/a.txt",
        f"{base}.evil.org/photos/a.txt",
        f"http://evil@{base[7:]}/photos/a.txt",
        f"https{base[4:]}/photos/a%20b.txt",
    ):
        with pytest.raises(InvalidValueError, match="outside the allowed roots"):
            resolve_link(url, allow)
    with pytest.raises(InvalidValueError, match=r"cannot be read: .*404"):
        resolve_link(f"{base}/photos/missing.txt", allow)


def test_web_links_that_redirect_outside_are_refused(roots, serve):
    inner = serve(partial(Quiet, directory=str(roots)))
    outer = serve(type("ToInner", (Redirect,), {"target": inner}))
    with pytest.raises(
        InvalidValueError, match=f"the link '{inner}/photos2/secret.txt' is outside"
    ):
        resolve_link(f"{outer}/photos2/secret.txt", (outer,))
    assert resolve_link(f"{outer}/photos2/secret.txt", (outer, f"{inner}/photos2")) == b"secret"
    assert read(f"{outer}/photos2/secret.txt") == b"secret"


def test_error_shows_the_link_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("folder").mkdir()
    for source, match in (
        (
            "missing.png",
            r"there is no file 'missing.png' \(working directory: .*\). Check the path",
        ),
        (Path("missing.png"), "there is no file 'missing.png'"),
        ("file:///nowhere/x.png", "there is no file 'file:///nowhere/x.png'. Check"),
        ("empty", r"'empty' is empty \(0 bytes\)"),
        ("folder", "'folder' cannot be read: Is a directory"),
        ("a\0b", "cannot be read"),
        ("x" * 5000, "cannot be read: File name too long"),
        ("http://127.0.0.1:9/x", "cannot be read: .*refused"),
        ("https://[::1", "cannot be read"),
    ):
        with pytest.raises(InvalidValueError, match=match):
            read(source)


def test_stores_are_read_through_fsspec():
    import fsspec

    with fsspec.open("memory://bucket/a.txt", "wb") as file:
        file.write(b"hello")
    assert read("memory://bucket/a.txt") == b"hello"
    assert resolve_link("memory://bucket/a.txt", ("memory://bucket",)) == b"hello"
    for url in (
        "memory://bucket2/a.txt",
        "memory://bucket/../b.txt",
        "simplecache::memory://bucket/a.txt",
    ):
        with pytest.raises(InvalidValueError, match="outside the allowed roots"):
            resolve_link(url, ("memory://bucket",))


def test_links_are_stored_as_written():
    check_config(Link(Image("jpeg")))
    check_config(Sequence(Link("text")))
    check_encode_decode(
        Link("text"), ["a.txt", Path("b/c.txt"), "s3://x/ü"], ["a.txt", "b/c.txt", "s3://x/ü"]
    )
    assert Link("text").preview("a.txt") == "a.txt"


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ("", "must be a path or URL, but it is ''"),
        ("a\0b", "must be a path or URL"),
        (b"a.txt", "must be a path or URL, but it is bytes .*without Link"),
        (5, "must be a path or URL, but it is int 5"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_invalid_link_is_refused(bad, match):
    check_refuses(Link(Text()), bad, match)


@pytest.mark.parametrize("of", ["boxes", "int32", Sequence("text"), Link("text")])
def test_links_point_to_files(of):
    with pytest.raises(SchemaError, match="A link must point to an image, mask, text"):
        Link(of)


def test_link_loads_its_target_as_the_declared_type(roots):
    (roots / "photos" / "a.json").write_text('{"a": 1}')
    allow = (str(roots / "photos"),)
    assert Link("text").load("a b.txt", allow) == "hello"
    assert Link("bytes").load("a b.txt", allow) == b"hello"
    assert Link("json").load("a.json", allow) == {"a": 1}
    with pytest.raises(InvalidValueError, match=r"the link 'a b.txt': "):
        Link("image").load("a b.txt", allow)
