"""The fields of FiftyOne samples that become columns, except for fields of objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.annotations.fiftyone_labels import array_of
from deeplake_lite.dataset.export.annotations.objects import number_of
from deeplake_lite.htypes import ClassLabel, Htype, Mask, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN = frozenset({
    "_id", "id", "filepath", "tags", "metadata", "created_at", "last_modified_at", "_media_type",
    "_rand", "_dataset_id",
})  # fmt: skip
"""Fields that every sample has."""

PLAIN = {str: "String", bool: "Boolean", int: "Int", float: "Float"}
"""Maps the Python types of plain values to FiftyOne's kinds of fields."""


def kind_of(value: Any) -> str | None:
    """Return the kind of a value: its ``_cls`` or, for a plain value, a name such as "Float".

    The kind of null is None, and "" stands for values that have no column type.

    >>> kind_of({"_cls": "Classification", "label": "a"}), kind_of(1.5), kind_of([])
    ('Classification', 'Float', '')
    """
    if value is None:
        return None
    if isinstance(value, dict):
        if _double(value) is not None:
            return "Float"
        name = value.get("_cls")
        return name if isinstance(name, str) else ""
    if isinstance(value, int) and abs(value) >= 2**63:
        return ""
    return PLAIN.get(type(value), "")


@dataclass
class Field:
    """The kinds, classes and dtypes of the values that one field has in all samples."""

    kinds: set[str] = field(default_factory=set)
    classes: dict[str, None] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    """Dtypes of the masks in segmentations."""

    def add(self, value: Any) -> None:
        """Add the kind, classes and dtype of a value."""
        kind = kind_of(value)
        if kind is None:
            return
        self.kinds.add(kind)
        try:
            if kind in ("Classification", "Classifications"):
                labels = cell_of(value)
                names = [labels] if isinstance(labels, str) else labels or []
                self.classes.update(dict.fromkeys(names))
            elif kind == "Segmentation" and value.get("mask") is not None:
                self.dtypes.add(array_of(value["mask"]).dtype.name)
        except (ValueError, TypeError):  # reported when the row is read
            return

    @property
    def kind(self) -> str:
        """The kind of all values: "Float" for integers mixed with floats, "" for other mixtures."""
        if self.kinds == {"Int", "Float"}:
            return "Float"
        return next(iter(self.kinds)) if len(self.kinds) == 1 else ""

    def htype(self, targets: Mapping[str, Any]) -> Htype | None:
        """Return the type of the field's column, or None if the field gets no column.

        Parameters
        ----------
        targets : mapping
            Maps numbers in segmentation masks, as strings, to the names of classes.
        """
        match self.kind:
            case "Classification":
                return ClassLabel([*self.classes], nullable=True)
            case "Classifications":
                return ClassLabel([*self.classes], multiple=True, nullable=True)
            case "Regression" | "Float":
                return Scalar("float64", nullable=True)
            case "Int":
                return Scalar("int64", nullable=True)
            case "Boolean":
                return Scalar("bool", nullable=True)
            case "String":
                return Text(nullable=True)
            case "Segmentation":
                small = self.dtypes <= {"uint8", "bool"}
                return Mask(dtype="uint8" if small else "int32", names=names_of(targets),
                            nullable=True)  # fmt: skip
        return None


def names_of(targets: Mapping[str, Any]) -> list[str]:
    """Return the names of classes 0, 1, and so on, or an empty list if an entry is invalid.

    >>> names_of({"0": "background", "2": "cat"})
    ['background', '1', 'cat']
    """
    numbers = {int(k): v for k, v in targets.items() if k.isascii() and k.isdigit() and len(k) < 4}
    usable = {n: name for n, name in numbers.items() if n < 255 and isinstance(name, str) and name}
    if len(usable) != len(targets) or len(set(usable.values())) != len(usable) or not usable:
        return []
    names = [usable.get(n, str(n)) for n in range(max(usable) + 1)]
    return names if len(set(names)) == len(names) else []


def cell_of(value: Any) -> Any:
    """Convert a field's value, except for a segmentation, to a cell.

    Raises ValueError if it is invalid.
    """
    match kind_of(value):
        case "Classification":
            label = value.get("label")
            if label is not None and not isinstance(label, str):
                raise ValueError(
                    f"the label of a classification must be a string, but it is {label!r:.40}"
                )
            return label
        case "Classifications":
            classifications = value.get("classifications") or []
            if not isinstance(classifications, list) or not all(
                isinstance(c, dict) and isinstance(c.get("label"), str) for c in classifications
            ):
                raise ValueError(
                    "classifications must be a list of objects whose 'label' is a string, but "
                    f"they are {classifications!r:.40}"
                )
            return list(dict.fromkeys(c["label"] for c in classifications))
        case "Regression":
            return None if value.get("value") is None else number_of(value["value"])
        case "Float":
            return value if _double(value) is None else _double(value)
    return value


def _double(value: Any) -> float | None:
    """Parse NaN or infinity in MongoDB's notation. Return None for any other value."""
    text = value.get("$numberDouble") if isinstance(value, dict) and len(value) == 1 else None
    return float(text) if text in ("NaN", "Infinity", "-Infinity") else None
