"""Export of a view as COCO: an annotation file, and the image files.

Each row is an image. Annotations that `from_coco` ingested are written as they were in the file,
unless their cells have been edited.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import coco_annotations as coco
from deeplake_lite.dataset.export.annotations.coco_images import (
    check_unique,
    panoptic_annotation,
    path_inside,
    to_pixels,
)
from deeplake_lite.dataset.export.annotations.columns import (
    class_names,
    columns_with_nulls,
    is_boxes,
    is_captions,
    is_keypoints,
    is_labels,
    is_segmentation,
    split_names,
    splits_of,
)
from deeplake_lite.dataset.export.atomic_files import as_storage_errors, atomic_write
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.dataset.export.portable import (
    describe_lost_metadata,
    is_file,
    read_blocks,
    values_of,
)
from deeplake_lite.errors import ExportWarning, InvalidValueError, SchemaError
from deeplake_lite.htypes.boxes import convert_boxes
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Values
    from deeplake_lite.schema import Field

BLOCK_ROWS = 1_024

MAIN = ("bbox", "segmentation", "keypoints", "caption")
"""Keys with one value per annotation. The column of the first key that has a column determines how
many annotations an image has."""

_FITS: Mapping[str, Callable[[Field], bool]] = {
    "bbox": is_boxes,
    "category_id": is_labels,
    "segmentation": is_segmentation,
    "keypoints": is_keypoints,
    "caption": is_captions,
}
"""Maps a key of annotations to a function that tests whether a column can hold the key's values."""

PANOPTIC = "panoptic"
"""Name of the column of panoptic segments, which are PNG files."""

IMAGE_COLUMNS = ("path", "split", "image_id", "width", "height", "coco")
"""Names of the columns in which `from_coco` stores the properties of images."""


def write_coco(view: View, path: str | Path, images: str | Path | None) -> Path:
    """Write the rows of a view; see `View.to_coco`."""
    target = Path(checks.location("path", path)).expanduser()
    folder = None if images is None else Path(checks.location("images", images)).expanduser()
    export = _Export.of(view, folder, target.with_suffix(""))
    export.warn()
    with contextlib.ExitStack() as stack:
        for image_folder in export.folders():
            stack.enter_context(as_storage_errors(image_folder))
            stack.enter_context(new_folder(image_folder, "to_coco"))
        draft = stack.enter_context(atomic_write(target))
        with draft.open("wb") as file:
            file.writelines(export.pieces())
    return target


@dataclass
class _Export:
    """An export of a view as a COCO file: its options and the columns that it uses."""

    view: View

    folder: Path | None
    """Folder for image files, or None to write no image files."""

    segments: Path
    """Folder for PNG files of panoptic segments, if image files are written."""

    columns: Mapping[str, Field]
    """Maps keys of annotations, such as ``bbox``, to the columns that hold their values."""

    image: Field | None
    """The column of images, or None if there is not exactly one."""

    @classmethod
    def of(cls, view: View, folder: Path | None, segments: Path) -> _Export:
        """Choose the columns to export. Raises SchemaError if necessary columns are missing."""
        _check_one_split(view)
        columns = {key: f for key in coco.COLUMNS if (f := _column(view, key)) is not None}
        if not any(key in columns for key in MAIN):
            raise SchemaError(
                "to_coco needs a column of boxes, outlines (a sequence of polygons), keypoints or "
                f"captions, but this view has only {', '.join(map(repr, view.columns))}. Add one "
                "of these columns."
            )
        images = [f for f in view.schema if f.htype.is_image and f.name != PANOPTIC]
        named = [f for f in images if f.name == "image"] or images
        image = named[0] if len(named) == 1 else None
        if folder is not None and (image is None or not is_file(image.htype)):
            raise SchemaError(
                "images= needs exactly one column of image files, but this view has "
                f"{', '.join(repr(f.name) for f in images) or 'none'}. Keep one image column in "
                "the view, encoded as JPEG or PNG."
            )
        return cls(view, folder, segments, columns, image)

    def folders(self) -> list[Path]:
        """Return the folders for image files, or an empty list if no image files are written."""
        if self.folder is None:
            return []
        return [self.folder, *([self.segments] if self._pngs is not None else [])]

    def warn(self) -> None:
        """Warn about everything that the COCO file leaves out."""
        used = {f.name for f in self.columns.values()} | {*IMAGE_COLUMNS}
        if self._is_panoptic:
            used.add(PANOPTIC)
        unused = [f.name for f in self.view.schema if f.name not in used and f != self.image]
        sentences = list[str]()
        if lost := [*map(repr, unused), *describe_lost_metadata(self.view, "coco")]:
            them = "it" if len(lost) == 1 else "them"
            sentences.append(f"{', '.join(lost)}, because COCO cannot hold {them}")
        if len(self._known_files) > 1 and split_names(self.view) is None:
            sentences.append(
                "the categories' ids and the metadata of the COCO files of "
                f"{', '.join(map(repr, self._known_files))}, because the view has no column "
                "'split' that says from which file a row comes"
            )
        if n := self._count_mismatches():
            sentences.append(
                f"values that no column holds, such as scores, of {pluralize(n, 'image')} whose "
                "annotations were added or removed without updating the column 'annotation_ids'"
            )
        texts = [f"leaves out {'; and '.join(sentences)}"] if sentences else []
        if nulls := columns_with_nulls(self.view, self.columns.values()):
            texts.append(f"writes the nulls of {nulls} as images without annotations")
        if texts:
            warnings.warn(f"to_coco {'; it '.join(texts)}.", ExportWarning, stacklevel=5)

    def _count_mismatches(self) -> int:
        """Return the number of rows whose extra values no longer match the row's annotations.

        Extra values are values of the COCO file that have no column of their own, such as scores.
        """
        if "coco" not in self.view.columns:
            return 0
        main = self.columns[next(key for key in MAIN if key in self.columns)]
        ids = self.columns.get("id")
        fields = [f for f in (main, ids, self.view.schema["coco"]) if f is not None]
        count = 0
        for block in read_blocks(self.view, fields, "to_coco", BLOCK_ROWS):
            values = {f.name: f.htype.decode_cells(block[f.name]) for f in fields}
            for i, cell in enumerate(values[main.name]):
                n = 0 if cell is None else len(cell)
                n_ids = len(values[ids.name][i] or ()) if ids is not None else n
                fits = n_ids == n and _coco_cell(values, i).get(coco.COUNT, n) == n
                count += bool(not fits and _extra_values(values, i, "annotations"))
        return count

    # ---- metadata and categories

    @cached_property
    def _files(self) -> list[dict[str, Any]]:
        """Metadata of the COCO files that the rows come from, or an empty list if it is unknown."""
        files = self._known_files
        if split_names(self.view) is None:
            return [*files.values()] if len(files) == 1 else []
        return [files[name] for name in splits_of(self.view) if name in files]

    @cached_property
    def _known_files(self) -> dict[str, dict[str, Any]]:
        """Maps each split to the metadata of the COCO file from which it was ingested."""
        metadata = self.view.rows.table.metadata.get("coco")
        files = metadata.items() if isinstance(metadata, dict) else ()
        return {name: file for name, file in files if isinstance(file, dict)}

    @cached_property
    def _keys(self) -> frozenset[str]:
        """Keys that the exported annotations may have."""
        keys = {key for file in self._files for key in file.get("keys", ())}
        return frozenset(keys or {*self.columns, "id", "area", "iscrowd", "num_keypoints"})

    @property
    def _is_panoptic(self) -> bool:
        return coco.SEGMENTS in self._keys

    @cached_property
    def _categories(self) -> dict[str, dict[str, Any]]:
        """Maps the name of each class to its category.

        The category is the one that the COCO files define, or else a new one.
        """
        defined: dict[str, dict[str, Any]] = {}
        for file in self._files:
            categories = file.get("categories", [])
            names = coco.class_names(categories)
            defined |= {n: c for n, c in zip(names, categories, strict=True) if n not in defined}
        taken = [c["id"] for c in defined.values() if isinstance(c["id"], int)]
        free = count(max(taken, default=0) + 1)
        new = [name for name in self._classes if name not in defined]
        if defined and new:  # classes of other files are left out, unless rows use them
            new = [name for name in new if name in self._used_classes]
        return defined | {name: {"id": next(free), "name": name} for name in new}

    @property
    def _classes(self) -> tuple[str, ...]:
        return class_names(self.columns.get("category_id"))

    @cached_property
    def _used_classes(self) -> set[str]:
        """The names of the classes that occur in the rows."""
        f, numbers = self.columns["category_id"], set[int]()
        for block in read_blocks(self.view, [f], "to_coco"):
            for labels in f.htype.decode_cells(block[f.name]):
                numbers.update(map(int, labels or ()))
        return {self._classes[number] for number in numbers}

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the COCO file in pieces.

        The images come last in the file, because they are read together with the annotations, which
        are written first.
        """
        header = dict(self._files[0]) if self._files else {}
        header.pop("keys", None)
        encode = msgspec.json.encode
        yield b"{"
        for key, value in {**header, "categories": [*self._categories.values()]}.items():
            yield encode(key) + b":" + encode(value) + b",\n"
        yield b'"annotations":['
        images, separator, seen = list[bytes](), b"\n", set[object]()
        for image, entries in self._rows():
            check_unique(image, seen)
            images.append(encode(image))
            for annotation in entries:
                yield separator + encode(annotation)
                separator = b",\n"
        yield b'],\n"images":[\n' + b",\n".join(images) + b"]}\n"

    # ---- rows

    def _rows(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Yield the image entry and the list of annotation entries of each row."""
        extra = [self.view.schema[n] for n in IMAGE_COLUMNS if n in self.view.columns]
        fields = [*self.columns.values(), *extra]
        files = self.image if self.folder is not None else None
        pngs = self._pngs if self.folder is not None else None
        read = [*fields, *(f for f in (files, pngs) if f is not None)]
        row = 0
        for block in read_blocks(self.view, read, "to_coco", BLOCK_ROWS):
            values = {f.name: f.htype.decode_cells(block[f.name]) for f in fields}
            sizes = self._sizes(values, row, len(block[fields[0].name]))
            images = [self._image(values, i, row + i, size) for i, size in enumerate(sizes)]
            if files is not None:
                assert self.folder is not None
                self._write_images(images, values_of(files.htype, block[files.name]), self.folder)
            annotations = self._annotations(values, row, images)
            if self._is_panoptic:
                annotations = [
                    panoptic_annotation(segments, image, _extra_values(values, i, PANOPTIC))
                    for i, (segments, image) in enumerate(zip(annotations, images, strict=True))
                ]
            if pngs is not None:
                names = [segments[0] if segments else None for segments in annotations]
                self._write_images(names, values_of(pngs.htype, block[pngs.name]), self.segments)
            yield from zip(images, annotations, strict=True)
            row += len(images)

    @property
    def _pngs(self) -> Field | None:
        """The column of panoptic PNG files, or None if there is none."""
        fields = [f for f in self.view.schema if f.name == PANOPTIC and is_file(f.htype)]
        return fields[0] if fields and self._is_panoptic else None

    def _sizes(
        self, values: Mapping[str, Values], row: int, rows: int
    ) -> list[tuple[int | None, int | None]]:
        """Return the width and height of each image of a block, or None for unknown sizes."""
        if "width" in values and "height" in values:
            pairs = zip(values["width"], values["height"], strict=True)
            return [(_integer(width), _integer(height)) for width, height in pairs]
        if self.image is None:
            return [(None, None)] * rows
        shapes = self.view[row : row + rows][self.image.name].shapes.tolist()
        return [(None, None) if min(s[:2]) < 0 else (s[1], s[0]) for s in shapes]

    def _image(
        self, values: Mapping[str, Values], i: int, row: int, size: tuple[int | None, int | None]
    ) -> dict[str, Any]:
        """Return the image entry of row `i` of a block, whose position in the view is `row`."""
        image_id = values["image_id"][i] if "image_id" in values else row + 1
        if (
            image_id is None
            or np.ma.is_masked(image_id)
            or ("path" in values and values["path"][i] is None)
        ):
            raise InvalidValueError(
                "must have an image_id and a path, but one of them is null. Correct "
                "the row, or leave the column with the null out of the view.",
                row=row,
            )
        name = str(values["path"][i]) if "path" in values else f"{row:012d}{self._suffix}"
        if self._split is not None and (split := self._split(values["split"][i])) is not None:
            name = name.removeprefix(f"{split}/")
        image = coco.image_of(image_id if isinstance(image_id, str) else int(image_id), name, *size)
        return coco.restore(image, _extra_values(values, i, "image"))

    @cached_property
    def _split(self) -> Callable[[Any], str | None] | None:
        return split_names(self.view)

    @property
    def _suffix(self) -> str:
        """Suffix of image files that are named after their row, as there is no column ``path``."""
        codec = getattr(self.image.htype, "codec", "") if self.image else ""
        return ".png" if codec == "png" else ".jpg"

    def _write_images(
        self, images: Sequence[Mapping[str, Any] | None], files: Sequence[Any], folder: Path
    ) -> None:
        """Write the image files of a block.

        Raises InvalidValueError if a file name leads out of the folder, and StorageError if a file
        cannot be written.
        """
        for image, data in zip(images, files, strict=True):
            if data is not None and image is not None:
                path = folder / path_inside(str(image["file_name"]))
                with as_storage_errors(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)

    # ---- annotations

    def _annotations(
        self, values: Mapping[str, Values], row: int, images: Sequence[Mapping[str, Any]]
    ) -> list[list[dict[str, Any]]]:
        """Return the annotation entries of each row of a block, which starts at position `row`."""
        cells = {
            key: [() if cell is None else cell for cell in values[f.name]]
            for key, f in self.columns.items()
        }
        if "bbox" in cells:
            cells["bbox"] = self._boxes(cells["bbox"], images)
        main = next(key for key in MAIN if key in cells)
        counts = [len(cell) for cell in cells[main]]
        edited = self._fill_in(cells, counts, main, row)
        ids = [self._categories.get(name, {}).get("id") for name in self._classes]
        rebuilt = coco.rebuild(cells, counts, ids)
        for i, (entries, image) in enumerate(zip(rebuilt, images, strict=True)):
            is_counted = _coco_cell(values, i).get(coco.COUNT, len(entries)) == len(entries)
            is_matched = i not in edited and is_counted
            originals = _extra_values(values, i, "annotations") if is_matched else {}
            has_ids = "id" in self.columns
            keys = coco.original_keys([int(n) if has_ids else coco.NO_ID for n in cells["id"][i]])
            for n, annotation in enumerate(entries):
                rebuilt_entry = {k: v for k, v in annotation.items() if k in self._keys}
                self._cut_keypoints(rebuilt_entry)
                entries[n] = {
                    **coco.restore(rebuilt_entry, originals.get(keys[n], {})),
                    "image_id": image["id"],
                }
            self._correct_areas(values, i, entries)
        return rebuilt

    @cached_property
    def _points(self) -> dict[object, int]:
        """Maps the ids of categories to the length of ``keypoints`` in their annotations."""
        lists = {c["id"]: c.get("keypoints") for c in self._categories.values()}
        return {
            category: 3 * len(names)
            for category, names in lists.items()
            if isinstance(names, list) and names
        }

    def _cut_keypoints(self, annotation: dict[str, Any]) -> None:
        """Remove the zeros that pad an annotation's keypoints to the length in other categories."""
        count = self._points.get(annotation.get("category_id"))
        points = annotation.get("keypoints")
        if count is not None and points is not None and not any(points[count:]):
            annotation["keypoints"] = points[:count]

    def _correct_areas(
        self, values: Mapping[str, Values], i: int, annotations: Sequence[dict[str, Any]]
    ) -> None:
        """Recompute a row's areas if its boxes or outlines have been edited, but not its areas."""
        recorded = _coco_cell(values, i).get(coco.DIGESTS)
        if not isinstance(recorded, list) or "area" not in self.columns:
            return
        cells = [
            values[self.columns[key].name][i] if key in self.columns else None
            for key in ("bbox", "segmentation", "area")
        ]
        shapes, areas = coco.digests(cells[0], cells[1], cells[2] or ())
        if recorded[1:] == [areas] and recorded[:1] != [shapes]:
            for annotation in annotations:
                coco.correct_area(annotation)

    def _boxes(self, cells: Sequence[Any], images: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Convert boxes to x, y, width, height, in pixels.

        Raises InvalidValueError if an image's size is needed, but unknown.
        """
        coordinates = self.columns["bbox"].htype.coordinates
        assert coordinates is not None
        in_pixels = [
            to_pixels(boxes, image) if coordinates.units == "fraction" else boxes
            for boxes, image in zip(cells, images, strict=True)
        ]
        if coordinates.format == "xywh":
            return in_pixels
        exact = [coco.exact(np.asarray(boxes)).reshape(-1, 4) for boxes in in_pixels]
        return [convert_boxes(boxes, coordinates.format, "xywh") for boxes in exact]

    def _fill_in(
        self, cells: dict[str, list[Any]], counts: Sequence[int], main: str, row: int
    ) -> set[int]:
        """Fill in missing values in `cells`, and return the edited rows, as indices into the block.

        Edited rows are those whose annotations have been added or removed since they were ingested.

        Raises
        ------
        InvalidValueError
            If a row has more or fewer values in one of the columns than it has annotations.
        """
        edited = set[int]()
        for key in {*cells, "id", "area", "iscrowd"}:
            column = cells.setdefault(key, [() for _ in counts])
            for i, n in enumerate(counts):
                if len(column[i]) == n:
                    continue
                if key not in ("id", "area", "iscrowd"):
                    raise InvalidValueError(
                        f"must have as many values in {coco.COLUMNS[key]!r} as in "
                        f"{self.columns[main].name!r}, one per annotation, but it has "
                        f"{len(column[i])} and {n}. Correct the row, or leave one of the two "
                        "columns out of the view.",
                        row=row + i,
                    )
                if key in self.columns:
                    edited.add(i)
                column[i] = self._default(key, cells, i, n)
        return edited

    def _default(self, key: str, cells: Mapping[str, list[Any]], i: int, n: int) -> list[Any]:
        """Return default values of a key for the `n` annotations in row `i` of a block."""
        match key:
            case "id":
                return [next(self._ids) for _ in range(n)]
            case "area" if "bbox" in cells:
                return [float(w * h) for _, _, w, h in np.asarray(cells["bbox"][i], np.float64)]
            case "area" if "segmentation" in cells:
                return [sum(map(coco.area_within, parts)) for parts in cells["segmentation"][i]]
        return [0] * n

    @cached_property
    def _ids(self) -> Iterator[int]:
        """Iterator over new ids, for annotations that have no id."""
        if "id" not in self.columns:
            return count(1)
        f = self.columns["id"]
        largest = 0
        for block in read_blocks(self.view, [f], "to_coco"):
            rows = f.htype.decode_cells(block[f.name])
            largest = max([largest, *(int(max(ids)) for ids in rows if ids)])
        return count(largest + 1)


def _check_one_split(view: View) -> None:
    """Raise SchemaError if a view has several splits, because their images may have equal ids."""
    present = splits_of(view)
    if len(present) > 1:
        raise SchemaError(
            "A COCO file must have the images of a single split, but this view has "
            f"{', '.join(map(repr, present))}. Export each split separately: "
            'ds.query("SELECT * WHERE '
            f"split = '{present[0]}'\").to_coco(…)."
        )


def _column(view: View, key: str) -> Field | None:
    """Return the column that holds the values of an annotation key, or None if there is none.

    This is the column with the name that `from_coco` uses or, for some keys, the only column whose
    type fits.
    """
    if (name := coco.COLUMNS[key]) in view.columns:
        return view.schema[name] if _fits(view.schema[name], key) else None
    if key in ("id", "area", "iscrowd", "caption"):
        return None
    fitting = [f for f in view.schema if _fits(f, key)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(f: Field, key: str) -> bool:
    """Return whether a column can hold the values of a key."""
    if key in _FITS:
        return _FITS[key](f)
    return f.htype.item is not None and f.htype.item.scalar is not None


def _coco_cell(values: Mapping[str, Values], i: int) -> dict[str, Any]:
    """Return the cell of the column ``coco`` in row `i` of a block, or an empty dict."""
    cell = values["coco"][i] if "coco" in values else None
    return cell if isinstance(cell, dict) else {}


def _extra_values(values: Mapping[str, Values], i: int, part: str) -> dict[str, Any]:
    """Return the values under the key `part` in the cell that row `i` has in the column ``coco``.

    These are values of the COCO file that have no column of their own.
    """
    originals = _coco_cell(values, i).get(part)
    return originals if isinstance(originals, dict) else {}


def _integer(value: Any) -> int | None:
    return None if value is None or np.ma.is_masked(value) else int(value)
