"""The document of a FiftyOne dataset: the JSON object that declares the fields of its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION = "1.0.0"
"""Version of FiftyOne whose format the document has. Later versions of FiftyOne convert it."""

_LABELS = {
    "Detection": (("label", "String"), ("bounding_box", "List:Float"), ("mask", "Array"),
                  ("mask_path", "String"), ("confidence", "Float"), ("index", "Int")),
    "Polyline": (("label", "String"), ("points", "PolylinePoints"), ("confidence", "Float"),
                 ("index", "Int"), ("closed", "Boolean"), ("filled", "Boolean")),
    "Keypoint": (("label", "String"), ("points", "Keypoints"), ("confidence", "List:Float"),
                 ("index", "Int")),
    "Classification": (("label", "String"), ("confidence", "Float"), ("logits", "Vector")),
    "Segmentation": (("mask", "Array"), ("mask_path", "String")),
    "Regression": (("value", "Float"), ("confidence", "Float")),
}  # fmt: skip
"""Maps each class of labels to the names and kinds of its fields, besides its id and tags."""

_PLURALS = {"Detections": "Detection", "Polylines": "Polyline", "Keypoints": "Keypoint",
            "Classifications": "Classification"}  # fmt: skip

_METADATA = (("size_bytes", "Int"), ("mime_type", "String"), ("width", "Int"), ("height", "Int"),
             ("num_channels", "Int"))  # fmt: skip


def _field(name: str, kind: str, *, db_field: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the declaration of a field. The kind ``List:Float`` declares a list of floats."""
    outer, _, inner = kind.partition(":")
    return {
        "name": name,
        "ftype": f"fiftyone.core.fields.{outer}Field",
        "embedded_doc_type": None,
        "subfield": f"fiftyone.core.fields.{inner}Field" if inner else None,
        "fields": [],
        "db_field": db_field or name,
        "description": None,
        "info": None,
        "read_only": False,
        **more,
    }


def _label_fields(kind: str) -> list[dict[str, Any]]:
    fields = [_field("id", "ObjectId", db_field="_id"), _field("tags", "List:String")]
    if kind in ("Detection", "Polyline", "Keypoint"):
        attribute = "fiftyone.core.labels.Attribute"
        fields.append(_field("attributes", "Dict:EmbeddedDocument", embedded_doc_type=attribute))
    return [*fields, *(_field(name, of) for name, of in _LABELS[kind])]


def field_of(name: str, kind: str) -> dict[str, Any]:
    """Return the declaration of a sample field, which holds labels or plain values.

    >>> field_of("weather", "String")["ftype"]
    'fiftyone.core.fields.StringField'
    """
    home = "fiftyone.core.labels"
    if kind in _PLURALS:
        single = _PLURALS[kind]
        inner = _field(kind.lower(), "List:EmbeddedDocument", embedded_doc_type=f"{home}.{single}",
                       fields=_label_fields(single))  # fmt: skip
        return _field(name, "EmbeddedDocument", embedded_doc_type=f"{home}.{kind}", fields=[inner])
    if kind in _LABELS:
        return _field(name, "EmbeddedDocument", embedded_doc_type=f"{home}.{kind}",
                      fields=_label_fields(kind))  # fmt: skip
    return _field(name, kind)


def document(
    fields: Mapping[str, str],
    classes: Mapping[str, Sequence[str]],
    targets: Mapping[str, Mapping[str, str]],
    skeletons: Mapping[str, Mapping[str, Any]],
    imported: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the document that describes a dataset.

    Parameters
    ----------
    fields : mapping
        Maps each sample field to its kind.
    classes, targets, skeletons : mapping
        Dicts that map the names of fields to their class names, to the names of their mask values,
        and to their keypoints and connections.
    imported : mapping
        Document of the dataset that the rows were imported from. Empty if there was none.
    """
    metadata = _field("metadata", "EmbeddedDocument",
                      embedded_doc_type="fiftyone.core.metadata.ImageMetadata",
                      fields=[_field(name, kind) for name, kind in _METADATA])  # fmt: skip
    standard = [
        _field("id", "ObjectId", db_field="_id"), _field("filepath", "String"),
        _field("tags", "List:String"), metadata, _field("created_at", "DateTime", read_only=True),
        _field("last_modified_at", "DateTime", read_only=True),
    ]  # fmt: skip
    declared = _by_name(imported.get("sample_fields"))
    used = [declared.get(name, field_of(name, kind)) for name, kind in fields.items()]
    base: dict[str, Any] = {
        "name": "deeplake_lite", "slug": "deeplake-lite", "version": VERSION, "media_type": "image",
        "persistent": False, "tags": [], "info": {}, "app_config": {}, "classes": {},
        "default_classes": [], "mask_targets": {}, "default_mask_targets": {}, "skeletons": {},
        "group_media_types": {}, "frame_fields": [],
    }  # fmt: skip
    unused = [f for f in declared.values() if f["name"] not in fields and f not in standard]
    standard_names = {f["name"] for f in standard}
    merged = {**base, **imported}
    return {
        **merged,
        "classes": {**_dict(merged["classes"]), **classes},
        "mask_targets": {**_dict(merged["mask_targets"]), **targets},
        "skeletons": {**_dict(merged["skeletons"]), **skeletons},
        "sample_fields": [
            *standard, *used, *(f for f in unused if f["name"] not in standard_names)
        ],
        "saved_views": [], "workspaces": [], "annotation_runs": {}, "brain_methods": {},
        "evaluations": {}, "runs": {},
    }  # fmt: skip


def _by_name(fields: Any) -> dict[str, dict[str, Any]]:
    """Return a dict that maps the names of fields to their declarations."""
    items: Iterable[Any] = fields if isinstance(fields, list) else ()
    return {f["name"]: f for f in items if isinstance(f, dict) and isinstance(f.get("name"), str)}


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
