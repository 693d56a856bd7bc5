from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from deeplake_lite import codecs
from deeplake_lite.codecs import Codec, ImageCodec
from deeplake_lite.errors import InvalidValueError, NotFoundError, SchemaError
from deeplake_lite.testing.codecs import check_config


@pytest.mark.parametrize("name", codecs.names())
def test_every_codec_is_found_by_name(name):
    codec = codecs.get(name)
    assert isinstance(codec, Codec)
    assert codec.name == name
    assert isinstance(codec, ImageCodec) == (name in codecs.image_codecs())
    check_config(codec)


def test_public_names_exist():
    assert sorted(codecs.__all__, key=str.lower) == sorted(set(codecs.__all__), key=str.lower)
    assert all(hasattr(codecs, name) for name in codecs.__all__)


def test_unknown_names_and_options_are_refused():
    with pytest.raises(NotFoundError, match=r"There is no codec 'jpg'\. Did you mean 'jpeg'"):
        codecs.get("jpg")
    with pytest.raises(NotFoundError, match="There is no codec None"):
        codecs.from_config({})
    with pytest.raises(NotFoundError, match="There is no codec 'base'"):
        codecs.get("base")
    with pytest.raises(
        SchemaError, match=r"'jpeg' has no option 'qualty'\. Its options: quality, sub"
    ):
        codecs.get("jpeg", qualty=3)
    with pytest.raises(SchemaError, match=r"'raw' has no option 'level'\. Its options: none"):
        codecs.from_config({"name": "raw", "level": 3})


def test_options_override_a_configuration():
    assert codecs.get({"name": "jpeg", "quality": 3}, subsampling="444").get_config() == {
        "name": "jpeg",
        "quality": 3,
        "subsampling": "444",
    }
    assert codecs.get(codecs.get("webp", quality=5), lossless=True).get_config() == {
        "name": "webp",
        "quality": 5,
        "lossless": True,
    }


@pytest.mark.parametrize("name", codecs.image_codecs())
def test_file_formats_are_recognised_by_their_first_bytes(name):
    codec = codecs.get(name)
    data = codec.encode(np.zeros((4, 4, 3), "uint8"))
    for buffer in (data, bytearray(data), memoryview(data)):
        assert codecs.sniff(buffer) == codec


def test_format_names_agree_with_pillow():
    for name in codecs.image_codecs():
        data = codecs.get(name).encode(np.zeros((4, 4, 3), "uint8"))
        assert Image.open(BytesIO(data)).format == name.upper()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"GIF89a", "a GIF image"),
        (b"\0\0\0\x20ftypavif", "an AVIF image"),
        (b"\0\0\0\x20ftypheic", "a HEIC image"),
        (b"\0\0\0\x20ftypisom", "an MP4 video"),
        (b"%PDF-1.7", "a PDF document"),
        (b"PK\3\4", "a ZIP archive"),
        (b"\x93NUMPY\1\0", "a NumPy array"),
        (bytes(128) + b"DICM", "a DICOM file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        (b"<!DOCTYPE html>", "text '<!DOCTYPE html>'"),
        (b"\1\2\3", "an unknown format (01 02 03)"),
    ],
)
def test_unsupported_format_is_named_in_the_error(data, what):
    with pytest.raises(InvalidValueError) as caught:
        codecs.sniff(data)
    assert f"{len(data)} bytes look like {what}" in str(caught.value)
    assert "JPEG, PNG, WEBP, TIFF, BMP" in str(caught.value)


def test_empty_file_is_named_in_the_error():
    with pytest.raises(InvalidValueError, match=r"the file is empty \(0 bytes\)"):
        codecs.sniff(b"")


def test_importing_the_registry_imports_no_codec_library():
    code = (
        "import sys, deeplake_lite.codecs as codecs; before = set(sys.modules); "
        "assert not before & {'PIL', 'numcodecs', 'simplejpeg'}, before; codecs.get('raw'); "
        "assert not set(sys.modules) & {'PIL', 'numcodecs', 'simplejpeg'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
