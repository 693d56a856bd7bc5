"""Objects are deleted over the S3 protocol."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from deeplake_lite.storage.repo import s3_deletion
from deeplake_lite.storage.repo.s3_deletion import Keys, delete_objects, find_keys

NAMES = ["repo", "snapshots/1CEC"]


@pytest.mark.parametrize("prefix", ["lake", "my lake/ä+b"])
def test_objects_are_deleted(bucket, prefix):
    for name in (*NAMES, "kept"):
        bucket.write(f"{prefix}/{name}", b"data")
    assert delete_objects(bucket.url(prefix), [*NAMES, "never there"], bucket.options) == []
    assert bucket.objects() == {f"{prefix}/kept"}


def test_objects_that_cannot_be_deleted_are_returned(bucket, monkeypatch):
    bucket.write("lake/repo", b"data")
    wrong = {**bucket.options, "secret_access_key": "another"}
    assert delete_objects(bucket.url("lake"), ["repo"], wrong) == ["repo"]
    unreachable = {**bucket.options, "endpoint_url": "http://127.0.0.1:9"}
    assert delete_objects(bucket.url("lake"), ["repo"], unreachable) == ["repo"]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    without = {k: v for k, v in bucket.options.items() if "key" not in k}
    assert delete_objects(bucket.url("lake"), ["repo"], without) == ["repo"]
    assert bucket.objects() == {"lake/repo"}


def test_keys_come_from_options_a_function_or_the_environment(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "env")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    assert find_keys({}) == Keys("env", "secret")
    assert find_keys({"access_key_id": "a", "secret_access_key": "b"}) == Keys("a", "b")
    given = SimpleNamespace(access_key_id="c", secret_access_key="d", session_token="t")
    assert find_keys({"get_credentials": lambda: given}) == Keys("c", "d", "t")
    assert "secret" not in repr(find_keys({}))


def test_request_is_signed_as_amazon_documents(monkeypatch):
    sent = []
    monkeypatch.setattr(s3_deletion, "_send", lambda request: not sent.append(request))
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    keys = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "s", "session_token": "t"}
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    options = {**keys, "region": "eu-central-1"}
    assert delete_objects("s3://flowers/a", ["repo"], options, now=when) == []
    [request] = sent
    assert request.full_url == "https://flowers.s3.eu-central-1.amazonaws.com/a/repo"
    assert request.get_header("X-amz-date") == "20260102T030405Z"
    assert request.get_header("Authorization").startswith(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-central-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature="
    )
