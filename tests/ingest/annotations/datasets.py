"""Small datasets of each format, as the tools write them, and comparisons of lakes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from io import BytesIO

import numpy as np
from PIL import Image as PillowImage

WIDTH, HEIGHT = 64, 48

SIZE = {"original_width": WIDTH, "original_height": HEIGHT, "image_rotation": 0}


def png(number=0, mode="RGB"):
    """Return a PNG file, different for each number."""
    file = BytesIO()
    PillowImage.new(mode, (WIDTH, HEIGHT), number).save(file, "PNG")
    return file.getvalue()


def write(path, data):
    """Write a file and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def same(a, b, columns=None):
    """Assert that two lakes have the same cells."""
    columns = columns or [*a.columns]
    assert len(a) == len(b)
    for name in columns:
        assert a.schema[name].htype == b.schema[name].htype, name
        first, second = a[name][:], b[name][:]
        if name in ("voc", "cvat", "labelstudio", "fiftyone", "data"):
            assert first == second, name
        else:
            assert repr(first) == repr(second), name
            for x, y in zip(first, second, strict=True):
                if isinstance(x, np.ndarray):
                    np.testing.assert_array_equal(x, y)


def canonical(element):
    """Return the content of an XML element, whatever the order of its children."""
    children = sorted(map(canonical, element), key=repr)
    return element.tag, sorted(element.attrib.items()), (element.text or "").strip(), children


def canonical_xml(data):
    """Return the content of an XML document."""
    return canonical(ET.fromstring(data))


# ---- PASCAL VOC

BOX = ("xmin", "ymin", "xmax", "ymax")


def voc_object(name, box, extra=""):
    """Return an object as VOC writes it."""
    sides = "".join(f"<{k}>{v}</{k}>" for k, v in zip(BOX, box, strict=True))
    return (
        f"<object><name>{name}</name><pose>Left</pose><truncated>1</truncated>"
        f"<difficult>0</difficult><bndbox>{sides}</bndbox>{extra}</object>"
    )


PART = (
    "<part><name>head</name><bndbox><xmin>3</xmin><ymin>3</ymin><xmax>4.5</xmax><ymax>4</ymax>"
    "</bndbox></part><part><name>foot</name></part>"
)


def voc_page(name, *objects):
    """Return an annotation as VOC writes it."""
    return (
        f'<annotation verified="yes"><folder>VOC2012</folder><filename>{name}</filename><source>'
        "<database>The VOC2007 Database</database><image>flickr</image></source>"
        "<owner><flickrid>a &amp; b</flickrid><name>?</name></owner>"
        f"<size><width>{WIDTH}</width><height>{HEIGHT}</height><depth>3</depth></size>"
        f"<segmented>0</segmented>{''.join(objects)}</annotation>"
    )


def write_voc(root):
    """Write a dataset of three images, the last of which has no annotation."""
    objects = (voc_object("cat", (1, 1, 64, 48), PART), voc_object("dog", (2.5, 3, 4, 5)))
    for name in ("a1", "b2", "c3"):
        write(root / f"JPEGImages/{name}.png", png(ord(name[0])))
    write(root / "Annotations/a1.xml", voc_page("a1.png", *objects))
    write(root / "Annotations/b2.xml", voc_page("b2"))
    for name in ("SegmentationClass", "SegmentationObject"):
        write(root / f"{name}/a1.png", mask())
    sets = {
        "Main/train": "a1\n", "Main/val": "b2\n", "Main/trainval": "a1\nb2\n",
        "Main/test": "c3\n", "Main/cat_train": "a1  1\n", "Main/cat_val": "b2 -1\n",
        "Main/dog_test": "c3  1\n", "Layout/train": "a1 1\na1 2\n", "Segmentation/train": "a1\n",
    }  # fmt: skip
    for name, text in sets.items():
        write(root / f"ImageSets/{name}.txt", text)
    return root


def mask():
    """Return a palette PNG with the classes 0, 8 and 255."""
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    pixels[10:20, 5:9], pixels[9, 5:9] = 8, 255
    image = PillowImage.fromarray(pixels, "L")
    image.putpalette([n for n in range(256) for _ in range(3)])
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


# ---- CVAT

CVAT = f"""<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
<meta><task><id>7</id><name>pets</name><labels>
<label><name>cat</name><color>#ff0000</color><type>any</type><attributes><attribute>
<name>age</name><mutable>False</mutable></attribute></attributes></label>
<label><name>body</name><type>skeleton</type></label>
<label><name>nose</name><type>points</type><parent>body</parent></label>
<label><name>tail</name><type>points</type><parent>body</parent></label>
<label><name>night</name><type>tag</type></label></labels></task><dumped>today</dumped></meta>
<image id="3" name="a.png" subset="train" task_id="7" width="{WIDTH}" height="{HEIGHT}">
<box label="cat" source="manual" occluded="1" xtl="4.00" ytl="5.50" xbr="24.123456789" ybr="15.00"
 z_order="0"><attribute name="age">3</attribute></box>
<box label="cat" source="auto" occluded="0" xtl="4.00" ytl="5.00" xbr="24.00" ybr="15.00"
 rotation="30.0" z_order="2" group_id="4"></box>
<polygon label="cat" source="manual" occluded="0" points="1.00,2.00;3.00,4.00;5.00,1.00"
 z_order="0"></polygon>
<polyline label="cat" source="manual" occluded="0" points="1.00,2.00;3.00,4.00" z_order="0">
</polyline>
<points label="cat" source="manual" occluded="0" points="1.00,2.00;3.00,4.00;5.00,1.00"
 z_order="0"></points>
<ellipse label="cat" source="manual" occluded="0" cx="10.00" cy="10.00" rx="3.00" ry="5.00"
 z_order="0"></ellipse>
<mask label="cat" source="semi-auto" occluded="0" rle="1, 2, 1" left="3" top="4" width="2"
 height="2" z_order="0"></mask>
<cuboid label="cat" source="manual" occluded="0" xtl1="1" ytl1="2" xbl1="1" ybl1="9" xtr1="5"
 ytr1="2" xbr1="5" ybr1="9" xtl2="3" ytl2="1" xbl2="3" ybl2="8" xtr2="7" ytr2="1" xbr2="7" ybr2="8"
 z_order="0"></cuboid>
<skeleton label="body" source="manual" z_order="0">
<points label="tail" source="manual" occluded="1" outside="0" points="5.00,6.00"></points>
<points label="nose" source="manual" occluded="0" outside="1" points="7.00,8.00"></points>
</skeleton>
<tag label="night" source="manual"><attribute name="q">1</attribute></tag>
</image>
<image id="4" name="b.png" subset="val" width="{WIDTH}" height="{HEIGHT}"></image>
</annotations>"""
"""A file with each shape."""


def write_cvat(root, text=CVAT):
    """Write a file of annotations with its images."""
    for number, name in enumerate(("a", "b")):
        write(root / f"images/{name}.png", png(number))
    return write(root / "annotations.xml", text)


# ---- Label Studio

RUNS = [
    0, 0, 48, 0, 57, 27, 255, 3, 15, 0, 199, 255, 250, 252, 3, 31, 255, 235, 240, 12, 127, 255, 175,
    192, 49, 255, 254, 191, 0, 199, 255, 250, 252, 3, 31, 255, 242, 122, 240, 0,
]  # fmt: skip
"""A mask of rows 3 to 8 and columns 4 to 19, as Label Studio's own converter encodes it."""


def region(kind, value, **more):
    """Return a result about a region."""
    return {"type": kind, "from_name": "label", "to_name": "image", **SIZE, "value": value, **more}


def results():
    """Return a result of each type."""
    box = {"x": 50, "y": 50, "width": 20, "height": 10, "rotation": 0}
    own = {"id": "r7", "from_name": "other"}
    return [
        region("rectanglelabels", {"x": 4.98, "y": 12.8, "width": 32.5, "height": 44.9,
               "rotation": 0, "rectanglelabels": ["cat", "dog"]}, id="r1", origin="manual"),
        region("rectanglelabels", {**box, "rotation": 45, "rectanglelabels": ["dog"]}, id="r2"),
        region("polygonlabels", {"points": [[1.5, 2.5], [50, 2], [20, 70]],
               "polygonlabels": ["cat"]}, id="r3"),
        region("keypointlabels", {"x": 12, "y": 13, "width": 0.4, "keypointlabels": ["nose"]},
               id="r4"),
        region("brushlabels", {"format": "rle", "rle": RUNS, "brushlabels": ["cat"]}, id="r5"),
        region("ellipselabels", {"x": 50, "y": 50, "radiusX": 10, "radiusY": 5, "rotation": 0,
               "ellipselabels": ["cat"]}, id="r6"),
        region("rectangle", box, **own),
        region("labels", {**box, "labels": ["dog"]}, **own),
        region("textarea", {**box, "text": ["a note"]}, **own),
        {"id": "q1", "type": "choices", "from_name": "mood", "to_name": "image",
         "value": {"choices": ["good"]}, "origin": "manual"},
        {"id": "q2", "type": "taxonomy", "from_name": "tax", "to_name": "image",
         "value": {"taxonomy": [["a", "b"], ["c"]]}},
        {"type": "rating", "from_name": "stars", "to_name": "image", "value": {"rating": 4}},
        {"type": "textarea", "from_name": "caption", "to_name": "image",
         "value": {"text": ["one", "two"]}},
        {"type": "relation", "from_id": "r1", "to_id": "r2", "direction": "right"},
    ]  # fmt: skip


def labelstudio():
    """Return tasks: with two annotators and a prediction, without annotations, with choices."""
    first = {"id": 9, "completed_by": 3, "result": [], "updated_at": "2020"}
    second = {"id": 10, "completed_by": {"id": 1}, "result": results(), "updated_at": "2021",
              "was_cancelled": False, "ground_truth": False}  # fmt: skip
    bad = {
        "type": "choices",
        "from_name": "mood",
        "to_name": "image",
        "value": {"choices": ["bad"]},
    }
    model = {"model_version": "m", "score": 0.5, "result": []}
    return [
        {"id": 1, "project": 4, "data": {"image": "/data/local-files/?d=a.png", "meta": {"k": 1}},
         "annotations": [first, second], "predictions": [model]},
        {"id": 2, "data": {"image": "/data/upload/1/0a1b2c3d-b.png"}, "annotations": []},
        {"id": 3, "data": {"image": "s3://bucket/c.png"}, "annotations": [{"result": [bad]}]},
    ]  # fmt: skip


def write_labelstudio(root, tasks):
    """Write tasks with their images."""
    for number, name in enumerate(("a.png", "0a1b2c3d-b.png", "c.png")):
        write(root / "images" / name, png(number))
    return write(root / "tasks.json", json.dumps(tasks))


# ---- FiftyOne

BINARY = (
    "eJyb7BfqGxDJyFDGUK2eklqcXKRupaBek2SorqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOgom"
    "mjoKtQpkAy5GJAAAuwIbsw=="
)
"""A mask of 3 x 4 ones, as FiftyOne writes it."""


def _oid(number):
    return {"$oid": f"{number:024x}"}


def fiftyone_sample():
    """Return a sample as FiftyOne 1.22 writes it, with a field of each class."""
    nan = {"$numberDouble": "NaN"}
    first = {"_id": _oid(1), "_cls": "Detection", "tags": ["t"], "label": "cat",
             "attributes": {"a": {"_cls": "CategoricalAttribute", "value": "b"}},
             "bounding_box": [0.0625, 0.125, 0.0625, 0.0625], "confidence": 0.9, "iscrowd": True,
             "mask": {"$binary": {"base64": BINARY, "subType": "00"}}}  # fmt: skip
    second = {"_id": _oid(2), "_cls": "Detection", "attributes": {}, "tags": [], "label": "dog",
              "bounding_box": [0.1, 0.2, 0.3, 0.4], "occluded": True}  # fmt: skip
    area = {"_id": _oid(3), "_cls": "Polyline", "attributes": {}, "tags": [], "label": "pond",
            "points": [[[0.1, 0.2], [0.3, 0.4], [0.5, 0.1]], [[0, 0], [1, 0], [0, 1]]],
            "closed": True, "filled": True}  # fmt: skip
    line = {**area, "_id": _oid(4), "closed": False, "filled": False}
    points = {"_id": _oid(5), "_cls": "Keypoint", "attributes": {}, "tags": [], "label": "body",
              "points": [[0.1, 0.2], [nan, nan]], "confidence": [0.5, 0.4]}  # fmt: skip
    one = {"_id": _oid(6), "_cls": "Classification", "tags": [], "label": "x", "confidence": 0.5}
    several = {"_cls": "Classifications", "classifications": [
        {"_id": _oid(7), "_cls": "Classification", "tags": [], "label": "u"}]}  # fmt: skip
    seg = {"_id": _oid(8), "_cls": "Segmentation", "tags": [],
           "mask_path": "fields/seg.mask_path/a.png"}  # fmt: skip
    return {
        "_id": _oid(9), "filepath": "data/a.png", "tags": ["val", "night"], "_media_type": "image",
        "metadata": {"_cls": "ImageMetadata", "size_bytes": 3, "mime_type": "image/png",
                     "width": WIDTH, "height": HEIGHT, "num_channels": 3},
        "ground_truth": {"_cls": "Detections", "detections": [first, second]},
        "kp": {"_cls": "Keypoints", "keypoints": [points]},
        "lines": {"_cls": "Polylines", "polylines": [area, line]},
        "cls": one, "clss": several, "seg": seg, "weather": "sunny", "score": 0.5, "n": 3,
        "ok": True, "words": ["a"], "far": {"$numberDouble": "Infinity"},
        "reg": {"_id": _oid(10), "_cls": "Regression", "tags": [], "value": 1.5},
    }  # fmt: skip


def write_fiftyone(root, sample=None):
    """Write a dataset of two samples."""
    sample = sample or fiftyone_sample()
    other = {"_id": _oid(11), "filepath": "data/b.png", "tags": [], "metadata": None}
    for number, name in enumerate(("a", "b")):
        write(root / f"data/{name}.png", png(number))
    write(root / "fields/seg.mask_path/a.png", mask())
    names = {str(n): f"class {n}" for n in range(9)}
    document = {"version": "1.22.1", "media_type": "image", "mask_targets": {"seg": names},
                "info": {"user": 1}, "skeletons": {"kp": {"labels": ["nose", "tail"],
                "edges": [[0, 1]]}}}  # fmt: skip
    write(root / "metadata.json", json.dumps(document))
    write(root / "samples.json", json.dumps({"samples": [sample, other]}))
    return root
