"""Invalid URLs and options of object stores are refused."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

USES = {
    "open": dl.open,
    "exists": dl.exists,
    "create": lambda url, **options: dl.create(url, {"x": "int32"}, **options),
    "from_arrays": lambda url, **options: dl.from_arrays({"x": [1]}, url, **options),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
@pytest.mark.parametrize("options", [{"bogus": 1}, {1: 2}, {"bucket": "b"}, {"prefix": "x"}])
def test_unknown_store_options_are_refused(use, scheme, options):
    with pytest.raises(
        dl.OptionError, match=r"storage_options must be arguments .* The arguments are .*from_env"
    ):
        USES[use](f"{scheme}://bucket/x", storage_options=options)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://bucket/x", {"endpoint_url": 5}),
        ("s3://bucket/x", {"allow_http": "yes"}),
        ("s3://bucket/x", {"region": ["here"]}),
        ("gs://bucket/x", {"bearer_token": 5}),
        ("gs://bucket/x", {"config": {1: 2}}),
        ("az://account/container/x", {"access_key": 5}),
    ],
)
def test_options_of_the_wrong_type_are_refused(use, url, options):
    with pytest.raises(
        dl.OptionError, match=r"storage_options must be valid arguments of .*_storage"
    ):
        USES[use](url, storage_options=options)


@pytest.mark.parametrize("url", ["s3://", "s3:///x", "gs://", "az:///x"])
@pytest.mark.parametrize("use", USES)
def test_url_of_a_store_names_a_bucket(use, url):
    with pytest.raises(dl.LakeNotFoundError, match="must name a bucket"):
        USES[use](url)
