"""Ingesting data of any format that can be recognised."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.opening import exists
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.detection.formats import FORMATS, Format
from deeplake_lite.ingest.detection.image_labels import coco_files, is_image, labels_in
from deeplake_lite.ingest.detection.objects import call_for, format_of_object
from deeplake_lite.ingest.detection.place import Place
from deeplake_lite.ingest.folders.layout import SUFFIXES
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.result import IngestedDataset
from deeplake_lite.ingest.source import Skipped

if TYPE_CHECKING:
    from deeplake_lite.ingest.options import Options

MAX_GUESSES = 4


@takes_options
def ingest(data: Any, url: str, **options: Unpack[Options]) -> IngestedDataset:
    r"""Recognise the format of data, and ingest it with the function for that format.

    Parameters
    ----------
    data : str, Path, sequence, mapping or object
        A file, a folder or a list of files; COCO files by split; a dict of arrays; or a DataFrame
        or a dataset of another library.
    url : str
        URL of the lake, which is created if it does not exist.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, as returned by the function for the format. A line on stderr names
        that function, unless ``progress=False``. To use its other options, such as the column that
        identifies rows, call the function itself.

    Raises
    ------
    NotFoundError
        If there is no such file or folder.
    InvalidValueError
        If no format is recognised, in which case the message suggests functions, or if a row is
        invalid.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import deeplake_lite as dl
    >>> path = Path(tempfile.mkdtemp(), "petals.csv")
    >>> _ = path.write_text("name,petals\nrose,5\n")
    >>> dl.ingest(path, "memory://ingest-doc", progress=False)[0]
    {'name': 'rose', 'petals': np.int64(5)}
    """
    source, recognised = recognise(data)
    if options.get("progress", True):
        sys.stderr.write(f"Reading {_title(data)} as {recognised.name}: dl.{recognised.function}\n")
    unread = _unread(data, source, recognised)
    for skipped in unread:
        sys.stderr.write(f"Not read: {skipped}\n")
    ds = recognised.load()(source, url, **options)
    if not unread:
        return ds
    return IngestedDataset(ds, replace(ds.ingested, skipped=(*ds.ingested.skipped, *unread)))


def _unread(data: Any, source: Any, recognised: Format) -> list[Skipped]:
    """Return the COCO annotation files of a folder that will not be ingested."""
    if recognised.function != "from_coco" or not isinstance(data, str | os.PathLike):
        return []
    place = Place(Path(os.fspath(data)).expanduser())
    read = {*map(Path, source.values() if isinstance(source, Mapping) else [source])}
    if not place.is_folder:
        return []
    reason = "a dataset has one annotation file per split; ingest this one with dl.from_coco"
    rest = [place.path / name for name in coco_files(place)]
    return [Skipped(str(path), reason) for path in rest if path not in read]


def recognise(data: Any) -> tuple[Any, Format]:
    """Return the format of the data, and the first argument for the function that ingests it.

    The first argument comes first in the result. Raises NotFoundError, InvalidValueError or
    OptionError if there is no such data or its format is not recognised.
    """
    if isinstance(data, str | os.PathLike):
        return _match_location(checks.location("data", data))
    items = data.values() if isinstance(data, Mapping) else data
    if isinstance(items, Sequence) or isinstance(data, Mapping):
        paths = [item for item in items if isinstance(item, str | os.PathLike)]
        if paths and len(paths) == len(items):
            return data, _format_of_files(paths)
    if (known := format_of_object(data)) is not None:
        return data, known
    raise OptionError(
        "data must be a path, a dict of arrays, or a DataFrame or dataset of a supported library, "
        f"but it is {brief(data, 80)}. "
        f"{call_for(data) or 'Pass its columns as a dict: dl.from_arrays'}."
    )


def _format_of_files(paths: Sequence[str | os.PathLike[str]]) -> Format:
    """Return the format of all files. Raises InvalidValueError if they have several formats."""
    formats = {
        (recognised := _match_location(os.fspath(path))[1]).function: recognised for path in paths
    }
    if len(formats) > 1:
        raise InvalidValueError(
            "Files must have the same format, but these are "
            f"{' and '.join(f.name for f in formats.values())}. Ingest them one by one."
        )
    return next(iter(formats.values()))


def _match_location(location: str) -> tuple[Any, Format]:
    path = Path(location).expanduser()
    if scheme_of(location) is None and not path.exists() and any(c in location for c in "*?[{"):
        first = Place(path)  # a pattern: only the suffix of its files is known
    elif scheme_of(location) is not None:
        first = Place(Path(location.partition("?")[0]))
    elif not path.exists():
        raise NotFoundError(
            f"There is no file or folder {location!r} (working directory: {Path.cwd()}). Check the "
            "path."
        )
    else:
        first = Place(path)
    for known in FORMATS:
        source = known.match(first)
        if source is not None:
            _refuse_other_labels(first, known)
            return (location if source == first.path else source), known
    if path.is_dir() and exists(str(path)):
        raise InvalidValueError(
            f"{location!r} is already a lake. Open it with dl.open({location!r}). To copy its rows "
            "into another lake, append a view of it there."
        )
    raise InvalidValueError(
        f"The format of {location!r} is not recognised: {_describe(first)}. {_advice(first)}"
    )


def _refuse_other_labels(place: Place, recognised: Format) -> None:
    """Raise InvalidValueError if a folder also has labels in another format."""
    if not (recognised.is_annotation and place.is_folder):
        return
    others = [f for f in FORMATS if f.is_annotation and f is not recognised]
    matches = [recognised, *(f for f in others if f.match(place) is not None)]
    if len(matches) > 1:
        calls = " or ".join(f"dl.{f.function}" for f in matches)
        raise InvalidValueError(
            f"A folder to ingest must have labels in one format, but {str(place.path)!r} has "
            f"labels in {len(matches)}: {', '.join(f.name for f in matches)}. Choose one of them "
            f"by its function: {calls}."
        )


def _describe(place: Place) -> str:
    """Describe the content of a file or folder in a few words."""
    if not place.is_folder:
        return f"it begins with {brief(place.head[:16], 60)}" if place.head else "it is empty"
    if not place.files:
        return "the folder is empty"
    most = place.suffixes.most_common(MAX_GUESSES)
    kinds = [pluralize(n, f"{suffix or 'other'} file") for suffix, n in most]
    text = f"it has {', '.join(kinds)}"
    labels = labels_in(place) if any(map(is_image, place.files)) else None
    if labels is None:
        return text
    return f"{text}, and {labels!r} seems to hold labels of the images, which would be lost"


def _advice(place: Place) -> str:
    """Return a sentence that suggests functions to call, according to the suffixes of the files."""
    suffixes = place.suffixes if place.is_folder else Counter([place.path.suffix.lower()])
    counts = {f: sum(suffixes[s] for s in f.suffixes if s in suffixes) for f in FORMATS}
    nearest = sorted((f for f in FORMATS if counts[f]), key=lambda f: -counts[f])[:MAX_GUESSES]
    if not nearest:
        return "Convert it to Parquet or CSV, or pass its columns as a dict: dl.from_arrays."
    names = [f"dl.{f.function} for {f.name}" for f in nearest]
    if suffixes[".csv"] and any(s in SUFFIXES for s in suffixes):
        names.insert(0, "dl.from_folder with labels=… for images and a CSV with their file names")
    return f"Call the function for its format, such as {', '.join(names)}."


def _title(data: Any) -> str:
    """Return a short name of the data for messages."""
    if isinstance(data, str | os.PathLike):
        return repr(os.fspath(data))
    kind = type(data)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
