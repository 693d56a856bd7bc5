"""A lake on Azure Blob Storage: on Azurite, which is installed from npm."""

import base64
import hashlib
import hmac
import shutil
import subprocess
from email.utils import formatdate
from urllib.request import Request, urlopen

import pytest

import deeplake_lite as dl
from tests import servers

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The key that every Azurite has."""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("azurite")
    npm = shutil.which("npm")
    assert npm, "Azurite needs npm: install Node.js."
    subprocess.run([npm, "install", "--no-audit", "--no-fund", "azurite@3"], cwd=folder, check=True)
    with servers.azurite(folder) as url:
        yield url


@pytest.fixture
def options(endpoint, monkeypatch):
    _create_container(endpoint, "lakes")
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", endpoint)
    return {"access_key": KEY, "config": {"azure_storage_use_emulator": "true"}}


def _create_container(endpoint, name):
    when, path = formatdate(usegmt=True), f"/{ACCOUNT}/{name}"
    headers = {"x-ms-date": when, "x-ms-version": "2023-11-03"}
    lines = "".join(f"{k}:{v}\n" for k, v in headers.items())
    text = f"PUT{chr(10) * 12}{lines}/{ACCOUNT}{path}\nrestype:container"
    digest = hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    headers["Content-Length"] = "0"
    request = Request(f"{endpoint}{path}?restype=container", method="PUT", headers=headers)
    with urlopen(request, timeout=30) as reply:
        assert reply.status == 201


def test_two_writers_commit_to_a_lake_on_azure(options):
    url = f"az://{ACCOUNT}/lakes/lake"
    ds = dl.create(url, {"x": "int32"}, storage_options=options)
    other = dl.open(url, storage_options=options)
    ds.append({"x": [1]})
    ds.commit("first")
    other.append({"x": [2]})
    other.commit("second")
    ds.refresh()
    assert ds["x"][:].tolist() == [1, 2]
    ds.tag("v1")
    assert dl.open(url, version="v1", storage_options=options).verify()
    assert ds.vacuum().chunks == 0
    with pytest.raises(dl.ExistsError):
        dl.create(url, {"x": "int32"}, storage_options=options)
    wrong = {**options, "access_key": base64.b64encode(b"wrong").decode(), "retries": 0}
    with pytest.raises(dl.StorageError):
        dl.open(url, storage_options=wrong)
