"""Finding the images, splits and class names of a YOLO dataset in its data.yaml or its folders.

As in Ultralytics' package, a label file has the path of its image, except that the last folder
``images`` is replaced with ``labels``, and that the suffix is ``.txt``.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.ingest.folders.layout import SPLITS, SUFFIXES, scan
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.yolo.labels import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.ingest.yolo.labels import Task

YAML = (".yaml", ".yml")

MAX_YAML_BYTES = 2_000_000
"""Maximum size in bytes of a data.yaml."""

MAX_DEPTH = 100
"""Maximum nesting depth of a data.yaml. It is limited because the YAML parser is recursive."""

MAX_VALUES = 1_000_000
"""Maximum number of values in a data.yaml, after its aliases are expanded."""

NAMES = ("obj.names", "_darknet.labels", "classes.txt")
"""Names of files with one class name per line, as written by Darknet, Roboflow and labelImg."""

MAX_NAMES = 10_000_000
"""Maximum size in bytes of a file of class names."""

_DARKNET_SPLIT = re.compile(r"obj_(\w+)_data")
"""Pattern of the names of folders that CVAT writes for splits when it exports Darknet."""

_SCALARS = (str, int, float, bool, date)
"""Python types of the YAML values that can be the name of a class."""


@dataclass(frozen=True)
class Layout:
    """The images of a YOLO dataset by split, and the content of its data.yaml."""

    root: Path
    """Folder to which the keys of rows are relative."""

    images: Mapping[str, tuple[Path, ...]]
    """Maps names of splits to paths of images. If there are no splits, the only key is ""."""

    config: Mapping[str, Any]
    """Content of the data.yaml, or an empty dict if there is no such file."""

    repeated: Sequence[Skipped] = ()
    """Images that were left out of a split, because an earlier split has them."""

    @classmethod
    def of(cls, path: Path) -> Layout:
        """Find the images of a dataset, given its data.yaml or its folder.

        Raises NotFoundError or InvalidValueError if there are no images, or if the data.yaml is
        invalid.
        """
        if not path.exists():
            raise NotFoundError(
                f"There is no file or folder {str(path)!r} (working directory: {Path.cwd()}). "
                "Check the path."
            )
        if path.is_file():
            return cls._of_yaml(path)
        files = [f for f in sorted(path.iterdir()) if f.suffix in YAML and f.is_file()]
        described = [f for f in files if not {"names", "nc"}.isdisjoint(_read_yaml(f))]
        if len(described) > 1:
            raise InvalidValueError(
                f"{str(path)!r} must have one data.yaml, but it has "
                f"{', '.join(f.name for f in described)}. Pass one of these files."
            )
        return cls._of_yaml(described[0]) if described else cls._of_folder(path)

    @classmethod
    def _of_yaml(cls, path: Path) -> Layout:
        config, here = _read_yaml(path), path.absolute().parent
        base = here / str(config.get("path") or "")
        if not base.is_dir():
            base = here / str(config.get("path") or "").replace("\\", "/")
        if ".." in base.parts:  # paths of images begin with the folder, so that keys are short
            base = base.resolve()
        places: dict[str, list[Path]] = {}
        for split in ("train", "val", "test"):
            locations = config.get(split)
            if locations:
                locations = locations if isinstance(locations, list) else [locations]
                places[split] = [_locate(str(each), base, here, path) for each in locations]
        images = {
            split: tuple(image for place in split_places for image in _images_at(place))
            for split, split_places in places.items()
        }
        if not images:
            raise InvalidValueError(
                f"{path.name} must name the images of 'train', 'val' or 'test', but it has the "
                f"keys {brief(sorted(map(str, config)), 80)}. Pass the data.yaml of the dataset."
            )
        is_empty = all(_has_no_labels(place) for split in places.values() for place in split)
        if not any(images.values()) and not is_empty:
            raise NotFoundError(
                f"There are no images in the folders listed in {str(path)!r}. Correct the file, or "
                "move the images."
            )
        root = base if os.path.isdir(base) else here
        return cls(root, *_without_repeated(images, config))

    @classmethod
    def _of_folder(cls, path: Path) -> Layout:
        root = path.absolute()
        by_split: dict[str, list[Path]] = {}
        for file in scan(root).images:
            by_split.setdefault(_split_of(file.path), []).append(root / file.path)
        if not by_split:
            raise NotFoundError(f"There are no images below {str(path)!r}. Check the path.")
        order = sorted(by_split, key=lambda split: (SPLITS.get(split.lower(), -1), split))
        images = {split: tuple(by_split[split]) for split in order}
        names = _names_in(_folders(root, images))
        if not names:
            _check_no_yaml_below(root, images)
        return cls(root, images, {"names": names} if names else {})

    def key(self, image: Path) -> str:
        """Return the key of an image's row: its path, relative to the root if it is inside."""
        try:
            return image.relative_to(self.root).as_posix()
        except ValueError:
            is_inside = image.is_relative_to(self._resolved)
            return (image.relative_to(self._resolved) if is_inside else image).as_posix()

    @cached_property
    def _resolved(self) -> Path:
        """The root without symbolic links, for image paths that had ``..`` and were resolved."""
        return self.root.resolve()

    def orphaned_labels(self) -> list[Skipped]:
        """Return the label files that belong to no image, with this reason."""
        folders = dict.fromkeys(image.parent for paths in self.images.values() for image in paths)
        alone = list[Path]()
        for folder in folders:
            labels = label_path(folder / "x").parent
            if not labels.is_dir():
                continue
            stems = {file.stem for file in folder.iterdir() if file.suffix.lower() in SUFFIXES}
            texts = [f for f in sorted(labels.glob("*.txt")) if f.name not in NAMES]
            is_own = labels != folder  # a separate folder, which only has labels
            alone += [f for f in texts if f.stem not in stems and (is_own or _is_label(f))]
        return [Skipped(self.key(file), "there is no image with this name") for file in alone]

    @property
    def names(self) -> list[str] | None:
        """Names of the classes, in the order of class numbers, or None if they are unknown.

        Raises InvalidValueError if the data.yaml has invalid names.
        """
        names, count = self._names, self.config.get("nc")
        if names is not None and isinstance(count, int) and count != len(names):
            raise InvalidValueError(
                f"nc must be the number of class names, {len(names)}, but it is {count}. Correct "
                "the data.yaml."
            )
        if names is not None:
            return names
        return [str(n) for n in range(count)] if isinstance(count, int) else None

    @property
    def _names(self) -> list[str] | None:
        names = self.config.get("names")
        if isinstance(names, list):
            return [_name(name) for name in names]
        if not names and not isinstance(names, str):
            return None
        numbers = [*names] if isinstance(names, dict) else []
        if not numbers or not all(isinstance(n, int) and 0 <= n < 100_000 for n in numbers):
            raise InvalidValueError(
                "names must be a list, or must map class numbers to names, such as {0: 'person'}, "
                f"but it is {brief(names, 80)}. Correct the data.yaml."
            )
        return [_name(names.get(n, n)) for n in range(max(numbers) + 1)]

    @property
    def points(self) -> tuple[int, int] | None:
        """Number of keypoints and number of values per keypoint, or None if there are no poses.

        Raises InvalidValueError if the data.yaml has invalid numbers.
        """
        shape = self.config.get("kpt_shape")
        if shape is None:
            return None
        try:
            count, dims = (int(n) for n in shape)
        except (TypeError, ValueError):
            count, dims = 0, 0
        if count < 1 or dims not in (2, 3):
            raise InvalidValueError(
                "kpt_shape must be [number of keypoints, 2 or 3], but it is "
                f"{brief(shape, 40)}. Correct the data.yaml."
            )
        return count, dims

    @property
    def point_names(self) -> list[str]:
        """Names of the keypoints. The list is empty if they are unknown or differ by class."""
        names = self.config.get("kpt_names")
        lists = [*names.values()] if isinstance(names, dict) else [names]
        first, count = lists[0] if lists else None, (self.points or (0, 0))[0]
        if not isinstance(first, list) or len(first) != count or lists.count(first) != len(lists):
            return []
        texts = [_name(name) for name in first]
        return texts if len({*texts}) == count and all(texts) else []

    @property
    def task(self) -> Task | None:
        """The task of the labels, which `View.to_yolo` writes, or None if it is unknown."""
        task = self.config.get("task")
        return task if task in ("detect", "segment", "pose", "obb") else None

    @property
    def rest(self) -> dict[str, object]:
        """Entries of the data.yaml that the import does not use, as JSON values."""
        used = ("path", "train", "val", "test", "names", "nc", "kpt_shape", "kpt_names", "task")
        return {str(key): _to_json(v) for key, v in self.config.items() if key not in used}


def _check_no_yaml_below(root: Path, images: Mapping[str, Sequence[Path]]) -> None:
    """Raise InvalidValueError if a subfolder with images has a data.yaml.

    Without this check, the class names in that file would be lost.
    """
    above = {folder for paths in images.values() for image in paths for folder in image.parents}
    folders = sorted(folder for folder in above if root in folder.parents)
    files = [f for folder in folders for f in sorted(folder.iterdir()) if f.suffix in YAML]
    described = [f for f in files if f.is_file() and {"names", "train"} <= _read_yaml(f).keys()]
    if described:
        raise InvalidValueError(
            f"The data.yaml of images must be in {str(root)!r} itself, but there "
            f"{'is' if len(described) == 1 else 'are'} "
            f"{brief([f.relative_to(root).as_posix() for f in described], 200)} below it. Ingest "
            f"{str(described[0])!r} instead."
        )


def _folders(root: Path, images: Mapping[str, Sequence[Path]]) -> list[Path]:
    """Return the folders that may have a file of class names.

    These are the root and the folders of images and of labels.
    """
    image_folders = dict.fromkeys(image.parent for paths in images.values() for image in paths)
    labels = dict.fromkeys(label_path(folder / "x").parent for folder in image_folders)
    return [*dict.fromkeys([root, root / "labels", *image_folders, *labels])]


def _names_in(folders: Sequence[Path]) -> list[str]:
    """Return the class names in files of these folders, such as classes.txt.

    The list is empty if there are no such files. Raises InvalidValueError if the files differ.
    """
    files = [path for folder in folders for name in NAMES if (path := folder / name).is_file()]
    names_by_file = {path: _read_names(path) for path in files}
    for path in files[1:]:
        if names_by_file[path] != names_by_file[files[0]]:
            raise InvalidValueError(
                f"Files of class names must agree, but {str(files[0])!r} and {str(path)!r} differ. "
                "Ingest each folder separately, or write a data.yaml."
            )
    return names_by_file[files[0]] if files else []


def _read_names(path: Path) -> list[str]:
    """Return the lines of a file of class names.

    Raises InvalidValueError if the file is too large or not UTF-8.
    """
    if path.stat().st_size > MAX_NAMES:
        raise InvalidValueError(
            f"A file of class names may be at most {MAX_NAMES:,} bytes, but {str(path)!r} has "
            f"{path.stat().st_size:,}. Check the file."
        )
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidValueError(
            f"A file of class names must be UTF-8, but {str(path)!r} is not: {error}. Save the "
            "file as UTF-8."
        ) from None
    return [line.strip() for line in lines if line.strip()]


def _to_json(value: object) -> object:
    """Convert a YAML value to JSON. Values that JSON cannot represent become strings.

    >>> _to_json({"scale": float("nan"), "sizes": {3}, "download": None})
    {'scale': 'nan', 'sizes': [3], 'download': None}
    """
    match value:
        case dict():
            return {str(key): _to_json(item) for key, item in value.items()}
        case list() | tuple() | set():
            return [_to_json(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case bool() | int() | float() | str() | None:
            return value
        case date():
            return value.isoformat()
        case bytes():
            return value.decode("utf-8", "replace")
    return str(value)


def _without_repeated(
    images: Mapping[str, tuple[Path, ...]], config: Mapping[str, Any]
) -> tuple[dict[str, tuple[Path, ...]], Mapping[str, Any], list[Skipped]]:
    """Return the images of each split, without those that an earlier split has.

    If a split has exactly the same images as an earlier split, the split is left out, such as
    ``val`` in a data.yaml with only training images.

    Returns
    -------
    (images by split, `config`, images that were left out)
    """
    seen, images_by_split, repeated = (
        dict[Path, str](),
        dict[str, tuple[Path, ...]](),
        list[Skipped](),
    )
    for split, paths in images.items():
        if paths in images_by_split.values():
            continue
        again = [path for path in paths if path in seen]
        repeated += [Skipped(path.name, f"it is also in split {seen[path]!r}") for path in again]
        images_by_split[split] = tuple(path for path in paths if path not in seen)
        seen |= dict.fromkeys(images_by_split[split], split)
    return images_by_split, config, repeated


def label_path(image: Path) -> Path:
    """Return the path of an image's label file.

    In the path, the last folder ``images`` is replaced with ``labels``. So is the folder
    ``JPEGImages`` of VOC, as in Darknet.

    >>> label_path(Path("/data/images/train/a.jpg")).as_posix()
    '/data/labels/train/a.txt'
    """
    parts = image.parts
    folders_of_images = ("images", "JPEGImages")
    last = max((i for i, part in enumerate(parts[:-1]) if part in folders_of_images), default=None)
    folders = [*parts[:-1]]
    if last is not None:
        folders[last] = "labels"
    return Path(*folders, f"{image.stem}.txt")


def _is_label(path: Path) -> bool:
    """Return whether a text file can be parsed as labels, and has at least one object."""
    try:
        return bool(parse(path.read_text("utf-8-sig")).values)
    except (OSError, ValueError):
        return False


def _split_of(path: str) -> str:
    """Return the name of the split in a path, such as "train" in ``images/train/a.jpg``, or ""."""
    for part in path.split("/")[:-1]:
        if part.lower() in SPLITS:
            return part
        if (match := _DARKNET_SPLIT.fullmatch(part)) is not None:
            return match[1]
    return ""


def _read_yaml(path: Path) -> dict[str, Any]:
    """Return the content of a data.yaml as a dict.

    Raises InvalidValueError if the file is too large or is no valid YAML.
    """
    if path.stat().st_size > MAX_YAML_BYTES:
        raise InvalidValueError(
            f"A data.yaml may be at most {MAX_YAML_BYTES:,} bytes, but {str(path)!r} has "
            f"{path.stat().st_size:,}. Pass the data.yaml of the dataset."
        )
    try:
        text = path.read_text("utf-8")
        _check_size(text)
        content = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidValueError(
            f"{str(path)!r} must be YAML, but it cannot be read: {reason}. Correct the file."
        ) from None
    if not isinstance(content, dict):
        raise InvalidValueError(
            f"A data.yaml must have keys such as train and names, but {str(path)!r} has "
            f"{brief(content, 60)}. Pass the data.yaml of the dataset."
        )
    return content


def _check_size(text: str) -> None:
    """Raise ValueError if YAML is nested too deeply, or its aliases expand to too many values."""
    sizes, stack = dict[str, int](), [("", 0)]  # sizes by anchor, anchors and sizes of parents
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        anchor, size = getattr(event, "anchor", None) or "", 1
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((anchor, 1))
            if len(stack) > MAX_DEPTH:
                raise ValueError(f"it has more than {MAX_DEPTH} levels")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = stack.pop()
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(anchor, MAX_VALUES)  # an unknown anchor contains itself
        sizes[anchor] = size
        stack[-1] = (stack[-1][0], stack[-1][1] + size)
        if stack[-1][1] > MAX_VALUES:
            raise ValueError(f"its aliases expand to more than {MAX_VALUES:,} values")


def _name(value: object) -> str:
    """Return the name of a class or keypoint as a string.

    Raises InvalidValueError if the value is a list, a dict or null.
    """
    if not isinstance(value, _SCALARS):
        raise InvalidValueError(
            f"The name of a class must be a string, but it is {brief(value, 60)}. Correct the "
            "data.yaml."
        )
    return str(value)


def _locate(location: str, base: Path, here: Path, config: Path) -> Path:
    """Return the path of a folder of images or a list of images that a data.yaml names.

    Raises NotFoundError if there is neither.
    """
    # Roboflow's exports write "../train/images" although the folder is next to the data.yaml.
    posix = location.replace("\\", "/")  # of a file that was written on Windows
    bare = posix.removeprefix("../")
    for path in (
        *(folder / name for name in (location, posix) for folder in (base, here)),
        *(folder / bare for folder in (here, base)),
    ):
        if os.path.isfile(path):
            return path
        if os.path.isdir(path):
            return path.resolve() if ".." in path.parts else path
    where = " or ".join(dict.fromkeys((repr(str(base)), repr(str(here)))))
    raise NotFoundError(
        f"All paths in {config.name} must exist, but there is no {location!r} in {where}. Correct "
        "the file, or move the images."
    )


def _images_at(place: Path) -> list[Path]:
    """Return the paths of the images in a folder, or of the images that a text file lists."""
    if place.is_file():
        return [*_read_list(place)]
    return [place / f.path for f in scan(place).images]


def _has_no_labels(place: Path) -> bool:
    """Return whether a folder of images has an empty folder of labels, as in an empty dataset."""
    labels = label_path(place / "x").parent
    return labels != place and labels.is_dir() and not any(labels.rglob("*.txt"))


def _read_list(path: Path) -> Iterator[Path]:
    """Yield the paths of the images that a text file lists. They start from the file's folder."""
    for line in path.read_text("utf-8", errors="surrogateescape").splitlines():
        name = line.strip()
        if name and Path(name).suffix.lower() in SUFFIXES:
            image = path.parent / name.removeprefix("./")
            if "\\" in name and not image.is_file():  # written on Windows
                image = path.parent / name.replace("\\", "/").removeprefix("./")
            yield image
