"""COCO files are ingested, and exported again, without loss."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning, InvalidValueError, LakeError, NotFoundError
from deeplake_lite.ingest.coco.document import Document
from tests.ingest.damage import damaged

CATEGORIES = [
    {"id": 1, "name": "person", "supercategory": "human"},
    {"id": 90, "name": "toothbrush", "supercategory": "indoor"},
    {"id": 17, "name": "cat"},
]


def document(*annotations, images=({"id": 7, "file_name": "a.jpg", "width": 64, "height": 48},)):
    return {
        "images": list(images), "annotations": list(annotations), "categories": CATEGORIES
    }  # fmt: skip


def annotation(own_id=1, **keys):
    keys = {"category_id": 90, "bbox": [4, 5, 20, 10], "area": 200.0, "iscrowd": 0, **keys}
    return {"id": own_id, "image_id": 7, **keys}


@pytest.fixture
def write(tmp_path):
    """Write a document as a file."""

    def write(content, name="instances.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.fixture
def ingest(write, new_url):
    """Ingest a document without its images."""
    return lambda content, **options: dl.from_coco(
        write(content), new_url(), images=False, progress=False, **options
    )


@pytest.fixture
def export(tmp_path):
    """Export a view as a document."""
    return lambda view: json.loads(view.to_coco(tmp_path / "out.json").read_text())


def in_order(content):
    """Return a document with images and annotations in the order of their ids."""

    def place(item):
        return str(item.get("id")), item.get("image_id", 0)

    return {k: sorted(v, key=place) if k in LISTS else v for k, v in content.items()}


LISTS = ("images", "annotations", "categories")


# ---- random documents


def some_number(rng):
    return rng.choice(
        [rng.randrange(600), round(rng.random() * 600, 2), rng.random() * 600, 1e-7, 0.1 + 0.2]
    )


def some_segmentation(rng):
    if rng.random() < 0.2:
        counts = rng.choice([[3, 5, 7], "PQR1:2"])
        return {"counts": counts, "size": [48, 64]}
    parts = rng.choice([0, 1, 1, 3])
    return [[some_number(rng) for _ in range(2 * rng.randrange(2, 6))] for _ in range(parts)]


def some_annotation(rng, own_id, image_id):
    x, y, w, h = (some_number(rng) for _ in range(4))
    keys = {
        "id": rng.choice([own_id, own_id, f"a{own_id}", 2**40 + own_id]),
        "image_id": image_id,
        "category_id": rng.choice(CATEGORIES)["id"],
        "bbox": [x, y, w, h],
        "area": rng.choice([w * h, round(w * h, 1), int(w * h)]),
        "iscrowd": rng.choice([0, 0, 1]),
        "segmentation": some_segmentation(rng),
        "keypoints": [x for _ in range(2) for x in (some_number(rng), 7, rng.randrange(3))],
        "num_keypoints": rng.choice([0, 2, 17]),
        "score": rng.random(),
        "attributes": rng.choice([None, {"occluded": True}, [1, "ä"], {"": 1}]),
    }
    dropped = rng.choice([[], [], ["area"], ["id"], ["segmentation", "iscrowd"], ["num_keypoints"]])
    return {key: value for key, value in keys.items() if key not in dropped}


def some_document(seed):
    rng = random.Random(seed)
    images = [
        {"id": n, "file_name": f"ä/{n}.jpg", "width": 640, "height": 480, "license": 3,
         "flickr_url": "http://x", "date_captured": None}
        for n in rng.sample(range(1_000), rng.randrange(1, 6))
    ]  # fmt: skip
    for image in images[::3]:
        del image["width"]
    count = rng.randrange(8)
    names = rng.choice([[], ["nose", "tail"]])
    person = {**CATEGORIES[0], "keypoints": names, "skeleton": [[1, 2]]} if names else CATEGORIES[0]
    return {
        "info": {"year": 2017, "description": "ä"},
        "licenses": [{"id": 3, "name": "CC-BY"}],
        "extra": [1, {"a": None}],
        "images": images,
        "annotations": [some_annotation(rng, n, rng.choice(images)["id"]) for n in range(count)],
        "categories": [person, *CATEGORIES[1:]],
    }


@pytest.mark.parametrize("part", range(8))
def test_exported_file_is_the_ingested_one_up_to_order(ingest, export, part):
    for seed in range(10 * part, 10 * part + 10):
        content = some_document(seed)
        exported = export(ingest(content))
        assert in_order(exported) == in_order(content), seed


def test_captions_are_ingested_and_exported(ingest, export):
    content = {
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
        "annotations": [
            {"id": 1, "image_id": 7, "caption": "a dog"}, {"id": 2, "image_id": 7, "caption": ""},
        ],
        "categories": [],
    }  # fmt: skip
    ds = ingest(content)
    assert ds["captions"][:] == [["a dog", ""], []]
    assert in_order(export(ds)) == in_order(content)


def segments(write):
    """Write a panoptic file with its PNG file, and return its path and content."""
    own = [{"id": 8_345_037, "category_id": 90, "area": 7, "bbox": [1, 2, 3, 4], "iscrowd": 0}]
    content = document(
        {"image_id": 7, "file_name": "a.png", "segments_info": [*own, {**own[0], "id": 2, "x": 1}]}
    )
    content["images"].append({"id": 8, "file_name": "b.jpg"})
    path = write(content, "panoptic_val.json")
    path.with_suffix("").mkdir()
    PillowImage.new("RGB", (64, 48), (77, 85, 127)).save(path.with_suffix("") / "a.png")
    return path, content


def test_panoptic_segments_are_annotations_and_their_file_is_kept(write, tmp_path, new_url):
    path, content = segments(write)
    ds = dl.from_coco(path, new_url(), images=False, progress=False)
    assert [b.shape for b in ds["boxes"][:]] == [(2, 4), (0, 4)]
    assert list(map(int, ds["annotation_ids"][0])) == [8_345_037, 2]
    assert ds["panoptic"][0][0, 0].tolist() == [77, 85, 127]  # 77 + 256 * 85 + 65536 * 127
    assert ds["panoptic"][1] is None
    out = ds.to_coco(tmp_path / "out.json")
    assert in_order(json.loads(out.read_text())) == in_order(content)
    assert not (tmp_path / "out").exists()


def test_panoptic_files_are_exported_with_the_images(write, tmp_path, new_url):
    path, content = segments(write)
    for name in ("a.jpg", "b.jpg"):
        PillowImage.new("RGB", (64, 48)).save(tmp_path / name)
    ds = dl.from_coco(path, new_url(), progress=False)
    out = ds.to_coco(tmp_path / "out.json", images=tmp_path / "images")
    assert in_order(json.loads(out.read_text())) == in_order(content)
    png = tmp_path / "panoptic_val" / "a.png"
    assert (tmp_path / "out" / "a.png").read_bytes() == png.read_bytes()
    assert {p.name for p in (tmp_path / "images").iterdir()} == {"a.jpg", "b.jpg"}


@pytest.mark.parametrize("value", [3, [3], None, {}, [[]]])
def test_segments_that_are_not_objects_are_refused(ingest, value):
    own = {"image_id": 7, "file_name": "a.png"}
    good = {**own, "segments_info": []}
    with pytest.raises(InvalidValueError, match="segments_info must be a list of objects"):
        ingest(document(good, {**own, "segments_info": value}))


# ---- columns


def test_rows_are_images_and_numbers_are_float32(ingest):
    keys = {"segmentation": [[0, 0, 4, 0, 0, 3], [5, 5, 9, 5, 5, 8]]}
    second = {"id": 8, "file_name": "b.jpg", "width": 10, "height": 20}
    ds = ingest(document(annotation(**keys), annotation(2, category_id=1, segmentation=[]),
                         images=[*document()["images"], second]))  # fmt: skip
    assert ds["path"][:] == ["a.jpg", "b.jpg"]
    assert ds["image_id"][:].tolist() == [7, 8]
    assert ds["height"][:].tolist() == [48, 20]
    assert ds["boxes"][0].dtype == np.float32
    assert [b.shape for b in ds["boxes"][:]] == [(2, 4), (0, 4)]
    assert [list(map(int, labels)) for labels in ds["labels"][:]] == [[1, 0], []]
    assert ds["labels"].names == ("person", "toothbrush", "cat")
    assert [[part.shape for part in parts] for parts in ds["segmentation"][0]] == [[(3, 2)] * 2, []]
    assert [cell and [*cell] for cell in ds["coco"][:]] == [["digests"], None]
    assert len(ds.query("SELECT * WHERE CONTAINS(labels, 'person')")) == 1


def test_keypoints_have_names_and_connections(ingest):
    content = document(annotation(category_id=1, keypoints=[1, 2, 2, 3, 4, 1], num_keypoints=2))
    names = {"keypoints": ["nose", "tail"], "skeleton": [[1, 2]]}
    content["categories"] = [{**CATEGORIES[0], **names}]
    htype = ingest(content).schema["keypoints"].htype
    assert htype == dl.Keypoints(["nose", "tail"], [(0, 1)])


def test_split_is_a_column_and_part_of_the_path(write, new_url, export):
    first, second = document(annotation()), document(annotation(bbox=[1, 1, 2, 2]))
    second["categories"] = [{"id": 3, "name": "dog"}, CATEGORIES[1]]
    files = {"train": write(first, "train.json"), "val": write(second, "val.json")}
    ds = dl.from_coco(files, new_url(), images=False, progress=False)
    assert ds["path"][:] == ["train/a.jpg", "val/a.jpg"]
    assert ds["split"].names == ("train", "val")
    assert ds["labels"].names == ("person", "toothbrush", "cat", "dog")
    for split, content in (("train", first), ("val", second)):
        assert in_order(export(ds.query(f"SELECT * WHERE split = '{split}'"))) == in_order(content)


@pytest.mark.parametrize("where", ["", " WHERE split = 'val'"])
def test_categories_without_the_split_do_not_share_ids(write, new_url, tmp_path, where):
    first, second = document(annotation()), document(annotation())
    second["categories"] = [{"id": 1, "name": "dog"}, CATEGORIES[1]]
    files = {"train": write(first, "train.json"), "val": write(second, "val.json")}
    ds = dl.from_coco(files, new_url(), images=False, progress=False)
    view = ds.query(f"SELECT boxes, labels, path, coco{where}")
    with pytest.warns(dl.ExportWarning, match="because the view has no column 'split'"):
        content = json.loads(view.to_coco(tmp_path / "out.json").read_text())
    ids = {c["name"]: c["id"] for c in content["categories"]}
    assert sorted(ids.values()) == [1, 2, 3, 4]
    assert {a["category_id"] for a in content["annotations"]} == {ids["toothbrush"]}
    assert "info" not in content


def test_repeated_category_names_stay_apart(ingest, export):
    content = document(annotation())
    content["categories"] = [{"id": 1, "name": "bat"}, {"id": 90, "name": "bat"}]
    ds = ingest(content)
    assert ds["labels"].names == ("bat", "bat (90)")
    assert in_order(export(ds)) == in_order(content)


# ---- edits


def test_edited_cells_are_exported_and_originals_of_other_cells(ingest, export):
    exact = [4.123456789, 5, 20, 10]
    ds = ingest(document(annotation(bbox=exact, score=0.5), annotation(2, bbox=exact)))
    ds["labels"][0] = ["cat", "person"]
    assert [a["category_id"] for a in export(ds)["annotations"]] == [17, 1]
    assert [a["bbox"] for a in export(ds)["annotations"]] == [exact, exact]
    boxes = ds["boxes"][0]
    boxes[0] = [1, 2, 3, 4]
    ds["boxes"][0] = boxes
    first, second = export(ds)["annotations"]
    assert (first["bbox"], first["score"]) == ([1, 2, 3, 4], 0.5)
    assert second["bbox"] == exact


def test_added_boxes_get_new_ids_and_areas(ingest, export):
    other = {"id": 9, "file_name": "b.jpg"}
    content = document(annotation(5), {**annotation(12), "image_id": 9},
                       images=[*document()["images"], other])  # fmt: skip
    ds = ingest(content)
    ds["boxes"][0] = [[4, 5, 20, 10], [0, 0, 3, 2]]
    ds["labels"][0] = ["toothbrush", "cat"]
    added = [a for a in export(ds)["annotations"] if a["image_id"] == 7]
    assert [a["id"] for a in added] == [13, 14]
    assert [a["area"] for a in added] == [200, 6]
    assert [a["iscrowd"] for a in added] == [0, 0]


def test_originals_follow_their_annotation_when_others_are_removed_or_reordered(ingest, export):
    rle = {"counts": [3, 5, 7], "size": [48, 64]}
    own = [annotation(n, score=n / 10, segmentation=[[0, 0, 4, 0, 0, 3]]) for n in (4, 5, 6)]
    own[1]["segmentation"] = rle
    ds = ingest(document(*own))
    for order in ([1, 2], [1, 0]):
        for name in ("boxes", "labels", "segmentation", "annotation_ids", "areas", "crowd"):
            value = ds[name][0]
            ds[name][0] = value[order] if name == "boxes" else [value[n] for n in order]
        own = [own[n] for n in order]
        assert export(ds)["annotations"] == own


def test_several_splits_and_repeated_rows_are_refused(write, new_url, tmp_path):
    files = {"train": write(document(annotation()), "a.json"), "val": write(document(), "b.json")}
    ds = dl.from_coco(files, new_url(), images=False, progress=False)
    with pytest.raises(dl.SchemaError, match="single split, but this view has 'train', 'val'"):
        ds.to_coco(tmp_path / "out.json")
    with pytest.raises(InvalidValueError, match="must have a unique id"):
        ds[[0, 0]].to_coco(tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_null_ids_are_refused(make_lake, tmp_path):
    schema = {"image_id": dl.Scalar("int64", nullable=True), "boxes": dl.Boxes()}
    ds = make_lake(schema, image_id=[None], boxes=[np.zeros((0, 4))])
    with pytest.raises(InvalidValueError, match="must have an image_id and a path"):
        ds.to_coco(tmp_path / "out.json")


def test_grey_images_have_a_size_and_existing_files_are_kept(make_lake, tmp_path):
    schema = {"image": dl.Image("png"), "boxes": dl.Boxes("xyxy", "fraction")}
    ds = make_lake(schema, image=[np.zeros((48, 64), "u1")], boxes=[[[0, 0, 1, 1]]])
    out = tmp_path / "images"
    content = json.loads(ds.to_coco(tmp_path / "out.json", images=out).read_text())
    assert (content["images"][0]["width"], content["images"][0]["height"]) == (64, 48)
    assert content["annotations"][0]["bbox"] == [0, 0, 64, 48]
    with pytest.raises(dl.ExistsError, match="to_coco writes to a new or empty folder"):
        ds.to_coco(tmp_path / "out.json", images=out)


def test_row_whose_columns_disagree_is_named(ingest, tmp_path):
    ds = ingest(document(annotation()))
    ds["boxes"][0] = np.zeros((2, 4))
    with pytest.raises(InvalidValueError, match="row 0: must have as many values in"):
        ds.to_coco(tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


# ---- other lakes


def test_boxes_of_any_format_are_exported(new_url, export):
    schema = {
        "image": dl.Image("png"), "b": dl.Boxes("cxcywh", "fraction"),
        "species": dl.Sequence(dl.ClassLabel(["cat", "dog"])), "score": "float32",
    }  # fmt: skip
    ds = dl.create(new_url(), schema)
    ds.append({"image": [np.zeros((40, 80, 3), "uint8")], "b": [[[0.5, 0.5, 0.25, 0.5]]],
               "species": [["dog"]], "score": [1]})  # fmt: skip
    with pytest.warns(ExportWarning, match=r"leaves out 'score', because COCO cannot hold it"):
        content = export(ds)
    assert content["images"] == [{"id": 1, "file_name": "000000000000.png", "width": 80,
                                  "height": 40}]  # fmt: skip
    assert content["annotations"] == [
        {"id": 1, "image_id": 1, "category_id": 2, "bbox": [30, 10, 20, 20], "area": 400,
         "iscrowd": 0}
    ]  # fmt: skip
    assert content["categories"] == [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def test_view_without_annotations_is_refused(make_lake, tmp_path):
    with pytest.raises(dl.SchemaError, match="needs a column of boxes, outlines"):
        make_lake({"x": "int32"}, x=[1]).to_coco(tmp_path / "out.json")


# ---- images


@pytest.fixture
def with_images(write, tmp_path):
    """Write a document, and its image into a folder."""

    def make(name, folder):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        PillowImage.new("RGB", (64, 48)).save(tmp_path / folder / "a.jpg", "jpeg")
        return write(document(annotation()), name)

    return make


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("annotations/instances_train2017.json", "train2017"),
        ("annotations/instances_val.json", "images/val"),
        ("annotations/instances.json", "images"),
        ("_annotations.coco.json", "."),
        ("train/labels.json", "train/images"),
    ],
)
def test_images_are_found_in_the_usual_folders(with_images, tmp_path, new_url, name, folder):
    ds = dl.from_coco(with_images(name, folder), new_url(), progress=False)
    assert [ds["image"].nbytes] == [(tmp_path / folder / "a.jpg").stat().st_size]
    out = tmp_path / "exported"
    ds.to_coco(tmp_path / "out.json", images=out)
    assert (out / "a.jpg").read_bytes() == (tmp_path / folder / "a.jpg").read_bytes()


def test_missing_images_are_reported_with_the_way_out(write, new_url, tmp_path):
    path = write(document(annotation()))
    with pytest.raises(NotFoundError, match=r"such as 'a.jpg', are not next to .*images=False"):
        dl.from_coco(path, new_url())
    with pytest.raises(NotFoundError, match=r"such as 'a\.jpg', are not in "):
        dl.from_coco(path, new_url(), images=tmp_path)
    PillowImage.new("RGB", (64, 48)).save(tmp_path / "b.jpg")
    content = document(images=[{"id": 1, "file_name": "b.jpg"}, {"id": 2, "file_name": "c.jpg"}])
    path = write(content)
    with pytest.raises(InvalidValueError, match=r"c\.jpg"):
        dl.from_coco(path, new_url(), progress=False)
    ds = dl.from_coco(path, new_url(), progress=False, on_error="skip")
    assert ds["path"][:] == ["b.jpg"]
    assert [skipped.path for skipped in ds.ingested.skipped] == ["c.jpg"]


@pytest.mark.parametrize(
    "name", ["../a.jpg", "/tmp/a.jpg", "x/../../a.jpg", "..\\a.jpg", "a\0.jpg"]
)
def test_images_are_never_written_outside_the_folder(make_lake, tmp_path, name):
    schema = {"image": dl.Image("png"), "path": "text", "boxes": dl.Boxes()}
    ds = make_lake(schema, image=[np.zeros((4, 4), "uint8")], path=[name], boxes=[np.zeros((0, 4))])
    (tmp_path / "in").mkdir()
    with pytest.raises(InvalidValueError, match="must be inside the folder of images"):
        ds.to_coco(tmp_path / "in" / "out.json", images=tmp_path / "in" / "images")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


# ---- reruns


def test_second_run_updates_changed_annotations_only(write, new_url):
    url = new_url()
    second = {"id": 8, "file_name": "b.jpg"}
    content = document(annotation(), images=[*document()["images"], second])
    dl.from_coco(write(content), url, images=False, progress=False)
    again = dl.from_coco(write(content), url, images=False, progress=False)
    assert (again.ingested.added, again.ingested.changed, again.ingested.unchanged) == (0, 0, 2)
    assert len(again.log()) == 2
    content["annotations"][0]["bbox"] = [0, 0, 1, 1]
    changed = dl.from_coco(write(content), url, images=False, progress=False)
    assert (changed.ingested.changed, changed.ingested.unchanged) == (1, 1)


# ---- bad files


BAD = {
    "bbox": ([1, 2, 3], ["a", 0, 0, 0], None, "x", [0, 0, -1, 5], [[0], 0, 0, 0], {}, [1e400] * 4),
    "category_id": (5, None, "person", [1]),
    "segmentation": ([["a", 1]], [[1, 2, 3, 4, 5, [6]]], [3]),
    "keypoints": ([1, 2], ["a", "b", "c"], "x"),
    "caption": (5, None, ["a"]),
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in BAD.items() for v in values])
def test_bad_annotation_is_an_error_or_its_image_is_skipped(ingest, key, value):
    images = [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}]
    good = {**annotation(2), "image_id": 8, "caption": "c"}
    text = json.dumps(document(annotation(**{"caption": "d", key: value}), good, images=images))
    text = text.replace("Infinity", "1e400")
    if "1e400" in text:
        with pytest.raises(InvalidValueError, match="out of range"):
            ingest(text)
        return
    with pytest.raises(InvalidValueError, match=r"a\.jpg"):
        ingest(text)
    ds = ingest(text, on_error="skip")
    assert ds["path"][:] == ["b.jpg"]
    assert [skipped.path for skipped in ds.ingested.skipped] == ["a.jpg"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"), ("[]", "a JSON object whose values"), ("{", "must be a JSON object"),
        ("{}", "must have the key 'images'"), ('{"images": 3}', "a JSON object whose values"),
        ('{"images": [3]}', "must be a JSON object"), ('{"images": [{}]}', "must have a unique id"),
        ('{"images": [{"id": 1}, {"id": 1}]}', "must have a unique id"),
        ('{"images": [], "annotations": [3]}', "annotation 0 is not a valid annotation"),
        ('{"images": [], "annotations": [{}]}', "annotation 0 is not a valid annotation"),
        ('{"images": [' + "[" * 100_000, "must be a JSON object"),
    ],
)  # fmt: skip
def test_files_that_are_not_coco_are_refused(ingest, text, message):
    with pytest.raises(InvalidValueError, match=message):
        ingest(text)


def test_annotations_of_unknown_images_are_listed(ingest):
    ds = ingest(document(annotation(), {**annotation(2), "image_id": 99}))
    assert [str(skipped) for skipped in ds.ingested.skipped] == [
        "instances.json, annotation 1: its image 99 is not in the file"
    ]


def test_damaged_files_raise_only_our_errors(ingest):
    rng = random.Random(0)
    whole = json.dumps(some_document(3)).encode()
    for _ in range(60):
        with contextlib.suppress(LakeError):
            ingest(damaged(whole, rng), on_error="skip")


def test_annotations_of_a_file_without_categories_are_bad(ingest):
    content = {**document(annotation()), "categories": []}
    with pytest.raises(InvalidValueError, match=r"category_id .*90"):
        ingest(content)
    assert len(ingest(content, on_error="skip").ingested.skipped) == 1


def test_unknown_split_of_images_is_refused(write, new_url):
    with pytest.raises(NotFoundError, match="split 'test'"):
        dl.from_coco({"train": write(document())}, new_url(), images={"test": "x"})


def test_annotations_are_decoded_only_for_their_block(write):
    content = Document.read(Path(write(document(annotation(), annotation(2)))))
    assert [bytes(raw)[:1] for raw in content.annotations] == [b"{", b"{"]
    assert [a["id"] for a in content.annotations_of(0)] == [1, 2]


# ---- peers


def test_pycocotools_scores_an_export_of_the_truth_with_one(ingest, tmp_path, capsys):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    box = {"segmentation": [[4, 5, 24, 5, 24, 15, 4, 15]]}
    ds = ingest(document(annotation(**box), annotation(2, category_id=1, bbox=[30, 20, 9, 9])))
    truth = COCO(str(ds.to_coco(tmp_path / "out.json")))
    found = [{**a, "score": 0.9} for a in truth.dataset["annotations"]]
    scores = COCOeval(truth, truth.loadRes(found), "bbox")
    scores.evaluate()
    scores.accumulate()
    scores.summarize()
    capsys.readouterr()
    assert scores.stats[0] == pytest.approx(1)


# ---- edits that other values follow from


def test_area_follows_an_edited_box_and_others_are_kept(ingest, export):
    ds = ingest(document(annotation(1), annotation(2, area=150.25), annotation(3, area=7)))
    boxes = ds["boxes"][0]
    boxes[0] = [0, 0, 60, 40]
    ds["boxes"][0] = boxes
    areas = [a["area"] for a in export(ds)["annotations"]]
    assert areas == [2400.0, 200.0, 200.0]


def test_area_of_an_edited_outline_is_computed_again(ingest, export):
    square = [[0, 0, 10, 0, 10, 10, 0, 10]]
    ds = ingest(
        document(annotation(1, segmentation=square, area=101), annotation(2, segmentation=square))
    )
    outlines = ds["segmentation"][0]
    outlines[1] = [np.float32([[0, 0], [20, 0], [20, 10], [0, 10]])]
    ds["segmentation"][0] = outlines
    assert [a["area"] for a in export(ds)["annotations"]] == [101, 200]
    outlines[0] = [np.float32([[0, 0], [40, 0], [40, 10], [0, 10]])]
    ds["segmentation"][0] = outlines
    assert [a["area"] for a in export(ds)["annotations"]] == [400.0, 200]


def test_edited_areas_are_kept(ingest, export):
    ds = ingest(document(annotation(1)))
    ds["boxes"][0] = [[0, 0, 60, 40]]
    ds["areas"][0] = [77.0]
    assert [a["area"] for a in export(ds)["annotations"]] == [77]


def test_area_of_a_run_length_encoding_is_kept(ingest, export):
    rle = {"counts": [3, 5, 7], "size": [48, 64]}
    ds = ingest(document(annotation(1, segmentation=rle, iscrowd=1, area=5), annotation(2)))
    boxes = ds["boxes"][0]
    boxes[1] = [0, 0, 60, 40]
    ds["boxes"][0] = boxes
    assert [a["area"] for a in export(ds)["annotations"]] == [5, 2400.0]


def removed(ds, columns):
    """Remove the first annotation of the first row from some columns."""
    ds.update([0], {name: [list(ds[name][0])[1:]] for name in columns})


def test_originals_without_ids_are_reported_when_annotations_are_removed(ingest, export):
    own = [{k: v for k, v in annotation(score=n / 4).items() if k != "id"} for n in range(3)]
    content = {**document(*own), "annotations": own}
    ds = ingest(content)
    assert [a["score"] for a in export(ds)["annotations"]] == [0, 0.25, 0.5]
    removed(ds, ["boxes", "labels", "areas", "crowd"])
    with pytest.warns(ExportWarning, match="values that no column holds.* of 1 image"):
        written = export(ds)["annotations"]
    assert len(written) == 2
    assert not any("score" in a for a in written)


def test_originals_are_reported_when_annotations_are_removed_without_their_ids(ingest, export):
    ds = ingest(document(*(annotation(n, score=n) for n in (1, 2, 3))))
    removed(ds, ["boxes", "labels"])
    with pytest.warns(ExportWarning, match="without updating the column 'annotation_ids'"):
        assert len(export(ds)["annotations"]) == 2
    removed(ds, ["annotation_ids", "areas", "crowd"])
    assert [(a["id"], a["score"]) for a in export(ds)["annotations"]] == [(2, 2), (3, 3)]


def test_keypoints_of_categories_of_different_length_are_exported_as_they_were(ingest, export):
    own = [
        annotation(1, category_id=1, keypoints=[1, 2, 2, 3, 4, 1, 0, 0, 0], num_keypoints=2),
        annotation(2, category_id=90, keypoints=[5, 6, 2], num_keypoints=1),
        annotation(3, category_id=1, keypoints=[5, 6, 2], num_keypoints=1),
    ]
    content = document(*own)
    content["categories"] = [
        {"id": 1, "name": "person", "keypoints": ["a", "b", "c"]},
        {"id": 90, "name": "toothbrush", "keypoints": ["tip"]},
    ]
    ds = ingest(content)
    assert in_order(export(ds)) == in_order(content)
    points = ds["keypoints"][0]
    points[1, 0] = [9, 9, 2]
    ds["keypoints"][0] = points
    assert export(ds)["annotations"][1]["keypoints"] == [9, 9, 2]


def test_ids_beyond_64_bits_are_exported_as_they_were(ingest, export):
    content = document(
        {**annotation(2**80), "image_id": 2**70, "category_id": 2**75},
        images=[{"id": 2**70, "file_name": "a.jpg", "width": 9, "height": 9}],
    )
    content["categories"] = [{"id": 2**75, "name": "cat"}]
    ds = ingest(content)
    assert in_order(export(ds)) == in_order(content)
    ds["image_id"][0] = "other"
    assert export(ds)["images"][0]["id"] == "other"


@pytest.mark.parametrize("name", ["../secret.jpg", "{outside}/secret.jpg", "a/../../secret.jpg"])
def test_images_outside_of_the_folder_are_not_read(write, tmp_path, new_url, name):
    folder = tmp_path / "images"
    folder.mkdir()
    PillowImage.new("RGB", (8, 8)).save(tmp_path / "secret.jpg")
    PillowImage.new("RGB", (8, 8)).save(folder / "a.jpg")
    second = {"id": 8, "file_name": name.format(outside=tmp_path)}
    path = write(document(images=[*document()["images"], second]))
    with pytest.raises(InvalidValueError, match="must be inside the folder of images"):
        dl.from_coco(path, new_url(), images=folder)
    ds = dl.from_coco(path, new_url(), images=folder, on_error="skip")
    assert ds["path"][:] == ["a.jpg"]
    assert len(ds.ingested.skipped) == 1
