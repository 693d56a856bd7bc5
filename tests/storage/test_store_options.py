"""Storage options: credentials from many places, which stay secret; time-outs and retries."""

import copy
import logging
import pickle
import time

import pytest
from icechunk import S3StaticCredentials

import deeplake_lite as dl
from deeplake_lite.dataset.saved import pickles
from deeplake_lite.dataset.saved.pickles import Address
from deeplake_lite.storage.repo import spreading_credentials
from deeplake_lite.storage.repo.store_options import Patience, engine_options
from deeplake_lite.testing.proxy import Faults, Proxy

SECRET = "secretsecret"
SCHEMA = {"x": "int32"}
PLACE = ("endpoint_url", "allow_http", "force_path_style")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch, tmp_path):
    """Hide the credentials of this machine's user."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "REGION"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def place(bucket):
    """Return the options of the store without its credentials."""
    return {name: bucket.options[name] for name in PLACE} | {"region": "us-east-1"}


def write_and_read(bucket, options):
    ds = dl.create(bucket.url(), SCHEMA, storage_options=options)
    ds.append({"x": [1, 2]})
    ds.commit("rows")
    assert dl.open(bucket.url(), storage_options=options)["x"][:].tolist() == [1, 2]


# ---- where credentials come from


def test_credentials_come_from_the_environment(bucket, place, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    write_and_read(bucket, place)


def test_credentials_come_from_a_profile(bucket, place, tmp_path):
    keys = f"[flowers]\naws_access_key_id = key\naws_secret_access_key = {SECRET}\n"
    (tmp_path / "credentials").write_text(keys)
    (tmp_path / "config").write_text("[profile flowers]\nregion = us-east-1\n")
    del place["region"]
    options = {**place, "profile": "flowers"}
    write_and_read(bucket, options)
    view = pickle.loads(pickle.dumps(dl.open(bucket.url(), storage_options=options)[[1]]))
    assert view["x"][:].tolist() == [2]
    assert engine_options("s3", options)["region"] == "us-east-1"


def test_profile_that_does_not_exist_or_has_no_keys_is_refused(bucket, place, tmp_path):
    (tmp_path / "config").write_text("[profile empty]\nregion = us-east-1\n")
    with pytest.raises(dl.OptionError, match=r"credentials or .*config, but there is no 'rose'"):
        dl.open(bucket.url(), storage_options={**place, "profile": "rose"})
    with pytest.raises(dl.OptionError, match="both profile and access_key_id"):
        dl.open(bucket.url(), storage_options={**bucket.options, "profile": "empty"})
    with pytest.raises(dl.OptionError, match=r"Amazon's configuration files, but .* gs://"):
        dl.open("gs://bucket/x", storage_options={"profile": "empty"})
    (tmp_path / "credentials").write_text(f"[broken\n{SECRET}")
    with pytest.raises(dl.OptionError, match="must be readable") as caught:
        dl.open(bucket.url(), storage_options={**place, "profile": "empty"})
    assert SECRET not in str(caught.value)


CALLS = []


def refresh():
    CALLS.append(1)
    return S3StaticCredentials("key", SECRET)


def test_credentials_come_from_a_function(bucket, place):
    CALLS.clear()
    options = {**place, "get_credentials": refresh}
    write_and_read(bucket, options)
    assert CALLS
    ds = dl.open(bucket.url(), storage_options=options)
    assert pickle.loads(pickle.dumps(ds))["x"][:].tolist() == [1, 2]


def test_anonymous_requests_are_not_signed(bucket, place):
    with pytest.raises(dl.StorageError, match="AccessDenied"):
        dl.create(bucket.url(), SCHEMA, storage_options={**place, "anonymous": True})


def test_plain_http_is_used_only_on_request(bucket, monkeypatch):
    options = {**bucket.options, "allow_http": False}
    with pytest.raises(dl.OptionError, match=r"must begin with https://.*pass allow_http=True"):
        dl.create(bucket.url(), SCHEMA, storage_options=options)
    monkeypatch.setenv("AWS_ENDPOINT_URL", options.pop("endpoint_url"))
    with pytest.raises(dl.OptionError, match="must begin with https://"):
        dl.exists(bucket.url(), storage_options=options)


# ---- credentials stay secret


@pytest.fixture
def ds(bucket):
    ds = dl.create(bucket.url(), SCHEMA, storage_options=bucket.options)
    ds.append({"x": [1, 2]})
    ds.commit("rows")
    return ds


def test_credentials_are_in_no_repr_or_message(bucket, ds):
    lake = ds.handle.lake
    shown = [ds, ds[[0]], lake, ds.handle, lake.repository, Address.of(ds), ds.log(), ds.status()]
    with spreading_credentials():
        shown.append(Address.of(ds))
    assert not any(SECRET in repr(each) + str(each) for each in shown)
    for wrong in ({"region": 5}, {"bogus": 1}, {"endpoint_url": "http://127.0.0.1:9"}):
        options = {**bucket.options, "retries": 0, **wrong}
        with pytest.raises(dl.LakeError) as caught:
            dl.open(ds.url, storage_options=options)
        assert SECRET not in str(caught.value)


def test_credentials_are_in_no_log(bucket, caplog, capfd):
    with caplog.at_level(logging.DEBUG):
        write_and_read(bucket, bucket.options)
        wrong = {**bucket.options, "secret_access_key": "another-secret"}
        with pytest.raises(dl.StorageError):
            dl.open(bucket.url(), storage_options=wrong)
    output = caplog.text + "".join(capfd.readouterr())
    assert SECRET not in output
    assert "another-secret" not in output


def test_credentials_are_in_no_lineage(bucket):
    options = bucket.options
    ds = dl.from_arrays({"x": [1, 2]}, bucket.url("arrays"), storage_options=options)
    part = ds[[1]].materialize(bucket.url("part"), storage_options=options)
    for each in (ds, part):
        assert SECRET not in f"{each.log()} {each.metadata} {[c.metadata for c in each.log()]}"
    for key in bucket.objects():
        assert SECRET.encode() not in bucket.read(key)


def test_credentials_are_in_no_pickle(ds, monkeypatch):
    for each in (ds, ds[[1]], ds.query("SELECT x FROM ds WHERE x > 1")):
        data = pickle.dumps(each)
        assert SECRET.encode() not in data
        assert b"us-east-1" in data
    assert pickle.loads(pickle.dumps(ds))["x"][:].tolist() == [1, 2]  # in the same process
    assert copy.deepcopy(ds[[1]])["x"][:].tolist() == [2]
    data = pickle.dumps(ds)
    pickles._kept.clear()  # as in another process
    with pytest.raises(dl.StorageError, match=r"storage_options are not pickled\. Set .* profile="):
        pickle.loads(data)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert pickle.loads(data)["x"][:].tolist() == [1, 2]


def test_worker_processes_of_the_loader_get_credentials(ds):
    batches = list(ds.batches(1, workers="processes", num_workers=1))
    assert [batch["x"].tolist() for batch in batches] == [[1], [2]]


@pytest.mark.parametrize("url", ["s3://key:secret@bucket/x", "az://key@account/c/x"])
def test_url_with_credentials_is_refused(url):
    with pytest.raises(dl.OptionError, match="must not contain credentials") as caught:
        dl.open(url)
    assert "secret@" not in str(caught.value)


# ---- time-outs and retries


def test_time_out_and_retries_bound_the_wait_for_a_stalled_store(bucket, ds):
    with Proxy(bucket.endpoint, faults=Faults(stalled=1.0), stall=20) as proxy:
        options = bucket.at(proxy.endpoint).options
        begun = time.monotonic()
        with pytest.raises(dl.StorageError, match="timeout"):
            dl.open(ds.url, storage_options={**options, "timeout": 0.3, "retries": 1})
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize("fault", ["lost", "failed", "busy"])
def test_retries_are_counted(bucket, ds, fault):
    with Proxy(bucket.endpoint, faults=Faults(**{fault: 1.0})) as proxy:
        options = bucket.at(proxy.endpoint).options
        for retries in (0, 2):
            proxy.exchanges.clear()
            with pytest.raises(dl.StorageError):
                dl.open(ds.url, storage_options={**options, "retries": retries})
            targets = [each.target for each in proxy.exchanges]
            # Opening a lake may ask for the same object twice.
            assert retries < max(map(targets.count, targets)) <= 2 * (retries + 1)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": "1s"}, {"connect_timeout": -1}, {"retries": -1}]
)
def test_invalid_time_outs_and_retries_are_refused(options):
    [name] = options
    with pytest.raises(dl.OptionError, match=f"{name} must be"):
        dl.open("s3://bucket/x", storage_options=options)


def test_time_outs_reach_other_stores():
    options = {"timeout": 2, "anonymous": True, "config": {"proxy_url": "http://a"}}
    config = engine_options("gs", options)["config"]
    assert config == {"timeout": "2000ms", "connect_timeout": "10000ms", "proxy_url": "http://a"}
    assert Patience.of({"retries": 3}) == Patience(retries=3)
