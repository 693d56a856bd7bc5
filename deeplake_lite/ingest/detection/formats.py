"""The formats that `ingest` recognises, starting with the most distinctive formats.

Each format is an entry of `FORMATS` with a name, the name of the function that ingests the format,
and a test for a file or folder. If a file or folder has the format, the test returns the function's
first argument, and otherwise None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deeplake_lite.ingest.detection.image_labels import (
    IMAGES,
    NOTE,
    coco_by_split,
    has_yolo_labels,
    is_coco,
    is_image,
    labels_in,
)
from deeplake_lite.ingest.detection.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.ingest.result import IngestedDataset

_HIDDEN = re.compile(r"(^|/)[._]")
"""Pattern of hidden files, such as ``_SUCCESS``, which are ignored in folders of tables."""

TAR = r".*\.(tar|tar\.gz|tgz|tar\.bz2|tar\.xz|tar\.zst)"
TFRECORD = (
    r"(.*/)?[^/]*(\.tfrecords?|\.tfrecord[-.][^/]*|-of-\d+\.tfrecord|\.tfrec|\.records?)(\.gz)?"
)
HDF5 = r".*\.(h5|hdf5|he5|hdf)"
ARRAYRECORD = r".*\.array_?record([-.].*)?"
IDX = r"(.*/)?[^/]*idx\d[-_.](ubyte|byte|short|int|float|double)(\.gz)?"
COCO_SPLIT = re.compile(
    r"(?:annotations/)?(?:instances|person_keypoints|captions|panoptic)_(\w+)\.json"
)


@dataclass(frozen=True)
class Format:
    """A format that `ingest` recognises."""

    name: str
    """Name of the format in messages, with an article if necessary: "COCO", "a CSV file"."""

    function: str
    """Name of the function that ingests the format."""

    home: str
    """Module of the function, relative to `deeplake_lite.ingest`."""

    match: Callable[[Place], object]
    """Function that returns the argument for `function` if a place has the format, or else None."""

    suffixes: frozenset[str] = frozenset()
    """Suffixes of files in this format, for suggestions if no format is recognised."""

    is_annotation: bool = False
    """Whether the format stores labels next to images. A folder may have labels in two formats."""

    def load(self) -> Callable[..., IngestedDataset]:
        """Import the function that ingests the format."""
        home = import_module(f"deeplake_lite.ingest.{self.home}")
        function: Callable[..., IngestedDataset] = getattr(home, self.function)
        return function


def _match_if(test: Callable[[Place], bool]) -> Callable[[Place], object]:
    """Build a `match` function that returns a path if the file or folder passes a test."""
    return lambda place: place.path if test(place) else None


def _match_names(pattern: str) -> Callable[[Place], object]:
    """Build a `match` function for files whose names match a pattern, and for folders of them.

    A folder may also have files that describe the dataset.
    """

    def match(place: Place) -> object:
        if not place.is_folder:
            return place.path if re.fullmatch(pattern, place.name, re.IGNORECASE) else None
        files = place.find(f"(?i:{pattern})")
        rest = {*place.files} - {*files}
        return place.path if files and all(map(_is_note, rest)) else None

    return match


def _is_note(name: str) -> bool:
    """Return whether a file may describe a dataset instead of being part of it."""
    return bool(NOTE.fullmatch(name))


def _coco(place: Place) -> object:
    if not place.is_folder:
        return place.path if is_coco(place) else None
    kinds: dict[str, dict[str, Any]] = {}
    for name in place.find(r"(annotations/)?\w+_\w+\.json"):
        if (m := COCO_SPLIT.fullmatch(name)) and is_coco(place.at(name)):
            kinds.setdefault(name[: m.start(1)], {})[m[1]] = place.path / name
    if kinds:  # instances come before captions and keypoints
        return next(iter(sorted(kinds.items(), key=lambda item: "instances" not in item[0])))[1]
    exported = place.find(r"[^/]+/_annotations\.coco\.json")  # as Roboflow writes them
    splits = {name.partition("/")[0]: place.path / name for name in exported}
    if splits and all(is_coco(Place(path)) for path in splits.values()):
        return splits
    return coco_by_split(place)


def _yolo(place: Place) -> object:
    if not place.is_folder:
        is_config = place.path.suffix in (".yaml", ".yml") and bool(
            re.search(rb"^(names|nc)\s*:", place.head, re.MULTILINE)
            and re.search(rb"^(train|val|test)\s*:", place.head, re.MULTILINE)
        )
        return place.path if is_config else None
    configs = [name for name in place.find(r"[^/]+\.ya?ml") if _yolo(place.at(name)) is not None]
    if len(configs) == 1:
        return place.path
    if not _has_images(place):
        return None
    labels = place.find(r"(.*/)?labels/(.*/)?[^/]+\.txt")
    return place.path if labels or has_yolo_labels(place) else None


def _voc(place: Place) -> object:
    if not place.is_folder:
        return None
    if place.has("Annotations"):
        files = place.find(r"Annotations/(.*/)?[^/]+\.xml")
        if not files:  # an export without rows
            is_empty = place.has("JPEGImages", "labelmap.txt")
            return place.path if is_empty and not _has_images(place) else None
    else:
        files = place.find(r"(.*/)?[^/]+\.xml")
    return place.path if files and place.at(files[0]).root_tag == "annotation" else None


def _cvat(place: Place) -> object:
    if place.is_folder:
        files = place.find(r"(.*/)?annotations\.xml")
        return place.path if files and place.at(files[0]).root_tag == "annotations" else None
    if place.head.startswith(b"PK") and b"annotations.xml" in _tail(place):
        return place.path
    return place.path if place.root_tag == "annotations" else None


def _tail(place: Place) -> bytes:
    """Return the last bytes of a file. In a ZIP file, they list the names of its members."""
    with place.path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 65_536))
        return file.read()


def _labelstudio(place: Place) -> object:
    if place.is_folder:
        files = place.find(r"[^/]+\.json")
        is_one = len(files) == 1 and _labelstudio(place.at(files[0])) is not None
        if is_one and len(place.files) > 1 and place.at(files[0]).is_empty_json_list:
            return None  # the other files would be lost
        return place.path / files[0] if is_one else None
    if place.path.suffix.lower() == ".json" and place.is_empty_json_list:
        return place.path  # an export without rows
    keys = place.json_keys if place.is_json_list else frozenset()
    is_full = "data" in keys and bool(keys & {"annotations", "predictions"})
    return place.path if is_full or keys >= {"annotation_id", "annotator"} else None  # JSON-MIN


def _fiftyone(place: Place) -> object:
    if place.is_folder:
        return place.path if place.has("samples.json", "metadata.json") else None
    return place.path if place.name == "samples.json" and "samples" in place.json_keys else None


def _huggingface(place: Place) -> object:
    if not place.is_folder:
        return None
    if place.has("dataset_dict.json") or place.has("dataset_info.json", "state.json"):
        return place.path
    visible = [name for name in place.files if not _HIDDEN.search(name)]
    files = [name for name in place.find(r"(?i:.*\.(parquet|parq|pq))") if name in visible]
    rest = {*visible} - {*files}
    is_card = place.has("README.md") and place.at("README.md").head.startswith(b"---")
    return place.path if files and (is_card or all(map(_is_note, rest))) else None


def _index_with(key: str) -> Callable[[Place], object]:
    """Build a `match` function for index.json files with a given key, and for their folders.

    The index.json may also be in a subfolder.
    """

    def match(place: Place) -> object:
        if not place.is_folder:
            is_index = place.name == "index.json" and key in place.json_keys
            return place.path if is_index else None
        indexes = place.find(r"([^/]+/)?index\.json")
        return place.path if indexes and key in place.at(indexes[0]).json_keys else None

    return match


def _has_images(place: Place) -> bool:
    return any(suffix in IMAGES for suffix in place.suffixes)


def _images(place: Place) -> object:
    if not place.is_folder or not _has_images(place):
        return None
    rest = [name for name in place.files if not is_image(name)]
    return place.path if all(map(_is_note, rest)) and labels_in(place) is None else None


def _zarr(place: Place) -> bool:
    if place.is_folder:
        return place.has("zarr.json") or place.has(".zgroup") or place.has(".zarray")
    if not place.head.startswith(b"PK"):
        return False
    names = _tail(place)
    return any(name in names for name in (b"zarr.json", b".zgroup", b".zarray"))


def _hdf5(place: Place) -> object:
    if not place.is_folder:
        return place.path if place.head.startswith(b"\x89HDF\r\n\x1a\n") else None
    match = _match_names(HDF5)(place)
    is_one = match is not None and _hdf5(place.at(place.find(f"(?i:{HDF5})")[0])) is not None
    return match if is_one else None


def _is_deeplake(place: Place) -> bool:
    return place.has("_deeplake_log") or place.has("dataset_meta.json")


def _suffix(*suffixes: str) -> Callable[[Place], object]:
    return _match_if(lambda place: not place.is_folder and place.path.suffix.lower() in suffixes)


FORMATS = (
    Format("Lance", "from_lance", "lance.source",
           _match_if(lambda p: p.has("_versions", "_transactions") and ".manifest" in p.suffixes)),
    Format("a Deep Lake dataset", "from_deeplake", "deeplake.source", _match_if(_is_deeplake)),
    Format("FiftyOne", "from_fiftyone", "annotations.fiftyone", _fiftyone, frozenset({".json"}),
           is_annotation=True),
    Format("MosaicML streaming (MDS)", "from_mds", "shards.mds", _index_with("shards"),
           frozenset({".mds", ".zstd"})),
    Format("LitData", "from_litdata", "shards.litdata", _index_with("chunks"), frozenset({".bin"})),
    Format("Hugging Face", "from_huggingface", "huggingface.source", _huggingface,
           frozenset({".parquet", ".arrow"})),
    Format("COCO", "from_coco", "coco.source", _coco, frozenset({".json"}), is_annotation=True),
    Format("YOLO", "from_yolo", "yolo.source", _yolo, frozenset({".yaml", ".yml", ".txt"}),
           is_annotation=True),
    Format("PASCAL VOC", "from_voc", "annotations.voc", _voc, frozenset({".xml"}),
           is_annotation=True),
    Format("CVAT", "from_cvat", "annotations.cvat", _cvat, frozenset({".xml", ".zip"}),
           is_annotation=True),
    Format("Label Studio", "from_labelstudio", "annotations.labelstudio", _labelstudio,
           frozenset({".json"}), is_annotation=True),
    Format("Zarr", "from_zarr", "arrays.zarr", _match_if(_zarr)),
    Format("HDF5", "from_hdf5", "arrays.hdf5", _hdf5,
           frozenset({".h5", ".hdf5", ".he5", ".hdf"})),
    Format("IDX", "from_idx", "arrays.idx", _match_names(IDX)),
    Format("WebDataset", "from_webdataset", "shards.webdataset", _match_names(TAR),
           frozenset({".tar", ".tgz"})),
    Format("ArrayRecord", "from_arrayrecord", "shards.arrayrecord", _match_names(ARRAYRECORD),
           frozenset({".array_record", ".arrayrecord"})),
    Format("TFRecord", "from_tfrecord", "shards.tfrecord", _match_names(TFRECORD),
           frozenset({".tfrecord", ".tfrecords"})),
    Format("NumPy", "from_numpy", "arrays.numpy", _suffix(".npz", ".npy"),
           frozenset({".npz", ".npy"})),
    Format("PyTorch tensors", "from_torch", "arrays.torch", _suffix(".pt", ".pth"),
           frozenset({".pt", ".pth"})),
    Format("Parquet", "from_parquet", "tables.parquet",
           _match_if(lambda p: not p.is_folder and p.head.startswith(b"PAR1")),
           frozenset({".parquet"})),
    Format("a CSV file", "from_csv", "tables.csv", _suffix(".csv", ".tsv"),
           frozenset({".csv", ".tsv"})),
    Format("a folder of images", "from_folder", "folders.folder", _images, IMAGES),
)  # fmt: skip
"""All formats of files and folders. The first format that matches is used."""
