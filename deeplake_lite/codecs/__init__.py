"""Functions that look up codecs by name, by configuration, or by the first bytes of a file.

The module of a codec is imported on first use, because importing Pillow and numcodecs would slow
down ``import deeplake_lite``. To add a codec, add a file to this folder and a line to `_IMAGES` or
`_NUMBERS`. Other packages add codecs through entry points (`deeplake_lite.plugins`).

>>> get("jpeg", quality=95)
Jpeg(quality=95, subsampling='420')
>>> sniff(b"BM" + bytes(60))
Bmp()
>>> get("jpg")
Traceback (most recent call last):
    ...
deeplake_lite.errors.NotFoundError: There is no codec 'jpg'. Did you mean 'jpeg'? Known: ...
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite import plugins
from deeplake_lite.codecs._files import check_begin, looks_like
from deeplake_lite.codecs.base import Codec, Header, ImageCodec
from deeplake_lite.errors import InvalidValueError, NotFoundError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Buffer, Mapping

__all__ = [
    "IMAGES",
    "NUMBERS",
    "Codec",
    "Header",
    "ImageCodec",
    "from_config",
    "get",
    "image_codecs",
    "is_image_codec",
    "names",
    "number_codecs",
    "sniff",
]

_IMAGES = {
    "jpeg": "Jpeg",
    "png": "Png",
    "webp": "Webp",
    "tiff": "Tiff",
    "bmp": "Bmp",
}
"""A dict from the name of a codec for image files to the name of its class. The class is in the
module that has the codec's name."""

_NUMBERS = {
    "raw": "Raw",
    "zstd": "Zstd",
    "lz4": "Lz4",
    "blosc": "Blosc",
}
"""A dict from the name of a codec for raw numbers to the name of its class. The class is in the
module that has the codec's name."""

IMAGES, NUMBERS = tuple(_IMAGES), tuple(_NUMBERS)
"""Names of the codecs in this package, without those that other packages add."""


def names() -> tuple[str, ...]:
    """Return the names of all codecs.

    >>> names()
    ('jpeg', 'png', 'webp', 'tiff', 'bmp', 'raw', 'zstd', 'lz4', 'blosc')
    """
    return (*_IMAGES, *_NUMBERS, *plugins.names(plugins.CODECS))


def image_codecs() -> tuple[str, ...]:
    """Return the names of the codecs for image files.

    >>> image_codecs()
    ('jpeg', 'png', 'webp', 'tiff', 'bmp')
    """
    added = plugins.names(plugins.CODECS)
    return (*_IMAGES, *(name for name in added if is_image_codec(name)))


def number_codecs() -> tuple[str, ...]:
    """Return the names of the codecs for raw numbers. These codecs store neither dtype nor shape.

    >>> number_codecs()
    ('raw', 'zstd', 'lz4', 'blosc')
    """
    added = plugins.names(plugins.CODECS)
    return (*_NUMBERS, *(name for name in added if not is_image_codec(name)))


def is_image_codec(name: str) -> bool:
    """Return whether the named codec writes image files. Raises NotFoundError for an unknown name.

    >>> is_image_codec("png"), is_image_codec("zstd")
    (True, False)
    """
    return name in _IMAGES or (name not in _NUMBERS and issubclass(_load_class(name), ImageCodec))


def get(codec: str | Mapping[str, object] | Codec, **options: Any) -> Codec:
    """Return the codec with the given name or configuration.

    Parameters
    ----------
    codec : str, mapping or Codec
        A name, a configuration as returned by `Codec.get_config`, or a codec.
    **options
        Fields of the codec, which override those of the configuration.

    Raises
    ------
    NotFoundError
        If there is no codec with the name.
    SchemaError
        If an option is not a field of the codec, or if the value of a field is invalid.

    Examples
    --------
    >>> get("png", indexed=True)
    Png(indexed=True, level=6)
    >>> get({"name": "zstd", "level": 9})
    Zstd(level=9)
    """
    if isinstance(codec, str):
        return _build(codec, options)
    return _build_config(codec.get_config() if isinstance(codec, Codec) else codec, options)


def from_config(config: Mapping[str, object]) -> Codec:
    """Return the codec with the given configuration.

    Raises
    ------
    NotFoundError
        If there is no codec with the name.
    SchemaError
        If a key is not a field of the codec, or if the value of a field is invalid.

    Examples
    --------
    >>> codec = get("webp", lossless=True)
    >>> from_config(codec.get_config()) == codec
    True
    """
    return _build_config(config, {})


def sniff(data: Buffer) -> ImageCodec:
    """Return the codec of an image file, detected from its first bytes.

    Raises
    ------
    InvalidValueError
        If no codec can read the file.

    Examples
    --------
    >>> sniff(bytes.fromhex("ffd8ffe0"))
    Jpeg(quality=90, subsampling='420')
    >>> sniff(b"%PDF-1.7")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: must be an image file (JPEG, PNG, WEBP, TIFF, BMP),
    but its 8 bytes look like a PDF document. Convert it, or use another column type.
    """
    # Looking up entry points is slow, so try the built-in codecs first.
    codec = _first_match(data, IMAGES) or _first_match(data, image_codecs())
    if codec is not None:
        return codec
    check_begin(data)
    formats = ", ".join(image_codecs()).upper()
    raise InvalidValueError(
        f"must be an image file ({formats}), but its {memoryview(data).nbytes:,} bytes look like "
        f"{looks_like(data)}. Convert it, or use another column type."
    )


def _first_match(data: Buffer, names: tuple[str, ...]) -> ImageCodec | None:
    """Return the first of the named codecs whose format `data` begins with, or None."""
    codecs = (_image_codec(_load_class(name)) for name in names)
    return next((codec for codec in codecs if codec.matches(data)), None)


@cache
def _image_codec(cls: type[Codec]) -> ImageCodec:
    """Return the codec of a class without options. Codecs are immutable, so one is enough."""
    return cast("ImageCodec", cls())


def _build_config(config: Mapping[str, object], options: Mapping[str, object]) -> Codec:
    """Return the codec that `config` describes, with the fields in `options` replaced."""
    merged = {**config, **options}
    return _build(merged.pop("name", None), merged)


def _build(name: object, options: Mapping[str, object]) -> Codec:
    """Return the codec with the given name and fields."""
    cls = _load_class(name)
    allowed = [field.name for field in fields(cls)]
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise SchemaError(
            f"Codec {name!r} has no option {unknown[0]!r}. Its options: "
            f"{', '.join(allowed) or 'none'}."
        )
    return cls(**options)


@cache
def _load_class(name: object) -> type[Codec]:
    """Import the class of the codec with the given name."""
    classes = _IMAGES | _NUMBERS
    if isinstance(name, str) and name in classes:
        cls: type[Codec] = getattr(import_module(f"{__name__}.{name}"), classes[name])
        return cls
    added = plugins.load(plugins.CODECS, name, Codec) if isinstance(name, str) else None
    if added is None:
        raise NotFoundError.named("codec", name, names())
    return added
