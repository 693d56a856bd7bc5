"""Datasets of Deep Lake are ingested with their history."""

from __future__ import annotations

import io
import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import deeplake
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError
from deeplake_lite.ingest.deeplake.kinds import Kind
from deeplake_lite.ingest.deeplake.log import Log
from deeplake_lite.ingest.deeplake.peer import Peer

TYPES = deeplake.types
OLD = Path(__file__).parent / "deeplake3.tar.gz"


def image(value, kind="JPEG"):
    file = io.BytesIO()
    PillowImage.new("RGB", (8, 6), (value, 0, 0)).save(file, kind)
    return file.getvalue()


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "flowers")


@pytest.fixture
def flowers(folder):
    """Return a dataset with a history, a branch, a merge and a tag."""
    old = deeplake.create(folder)
    old.add_column("image", TYPES.Image("uint8", "jpg"))
    old.add_column("label", TYPES.ClassLabel("int32"))
    old.add_column("boxes", TYPES.BoundingBox("float32", "ltwh", "pixel"))
    old.add_column("text", TYPES.Text())
    old["label"].metadata["class_names"] = ["cat", "dog"]
    old.append(rows(0, 4))
    old.commit("four")
    old["text"][1] = "changed"
    old.commit("update")
    old.delete(0)
    old.commit("delete")
    old.tag("v1")
    old.branch("other")
    other = old.branches["other"].open()
    other["text"][0] = "of other"
    other.append(rows(9, 1))
    other.commit("on other")
    old["text"][2] = "of main"
    old.commit("on main")
    old.merge("other", message="merged")
    return old


def rows(start, count):
    return {
        "image": [image(start + i) for i in range(count)],
        "label": [i % 2 for i in range(count)],
        "boxes": [np.full((i, 4), 2, "f4") for i in range(count)],
        "text": [f"text {start + i}" for i in range(count)],
    }


def ingest(folder, url, **options):
    return dl.from_deeplake(folder, url, progress=False, **options)


def versions(folder, branch="main"):
    """Return the columns and texts of each version of a branch."""
    old = deeplake.open_read_only(folder)
    history = old.branches[branch].open().history
    opened = [history[i].open() for i in range(len(history))]
    return [snapshot(each) for each in opened]


def snapshot(old):
    names = [column.name for column in old.schema.columns]
    return {name: [plain(old[name][i]) for i in range(len(old))] for name in names}


def plain(value):
    value = value.to_dict() if hasattr(value, "to_dict") else value
    return value.tolist() if isinstance(value, np.ndarray) else value


def replayed(ds):
    """Return the columns of each commit that is a version, oldest first."""
    found = {}
    for commit in reversed(ds.log()):
        record = commit.metadata.get("deeplake")
        if record is not None and "rows" not in record:
            view = dl.open(ds.url, version=commit.id)
            found[record["version"]] = {
                name: [None if v is np.ma.masked else plain(v) for v in view[name][:]]
                for name in view.columns
            }
    return list(found.values())


# ---- the history


@pytest.mark.usefixtures("flowers")
def test_every_version_becomes_a_commit(folder, new_url):
    ds = ingest(folder, new_url())
    messages = [commit.message for commit in ds.log()]
    assert messages[::-1][1:6] == ["four", "update", "delete", "on main", "merged"]
    assert replayed(ds)[-1]["text"] == versions(folder)[-1]["text"]
    assert [v["text"] for v in replayed(ds)] == [v["text"] for v in versions(folder)[1:]]
    assert sorted(ds.branches) == ["main", "other"]
    assert dl.open(ds.url, branch="other")["text"][:] == versions(folder, "other")[-1]["text"]
    assert len(dl.open(ds.url, version="v1")) == 3


@pytest.mark.usefixtures("flowers")
def test_commits_record_the_version_and_its_time(folder, new_url):
    commit = next(c for c in ingest(folder, new_url()).log() if c.message == "update")
    record = commit.metadata["deeplake"]
    assert record["version"].endswith("/0000000002m00000000")
    assert record["branch"] == "main"
    assert record["time"].startswith("20")


@pytest.mark.usefixtures("flowers")
def test_a_merge_is_a_merge(folder, new_url):
    ds = ingest(folder, new_url())
    commit = next(c for c in ds.log() if c.message == "merged")
    assert commit.metadata["merge"] == dl.open(ds.url, branch="other").version
    assert ds.merge("other") == ds.version


@pytest.mark.usefixtures("flowers")
def test_unchanged_rows_keep_their_ids(folder, new_url):
    ds = ingest(folder, new_url())
    first, second = (
        dl.open(ds.url, version=next(c.id for c in ds.log() if c.message == message))
        for message in ("four", "delete")
    )
    assert second.row_ids.tolist() == first.row_ids.tolist()[1:]


def test_only_changed_rows_are_read(flowers, folder, new_url, monkeypatch):
    from deeplake_lite.ingest.deeplake import snapshot

    url = new_url()
    ingest(folder, url)
    flowers["text"][0] = "again"
    flowers.commit("one more")
    read, values = [], snapshot.read_values
    monkeypatch.setattr(
        snapshot,
        "read_values",
        lambda c, view, at: read.append((c.name, at)) or values(c, view, at),
    )
    ds = ingest(folder, url)
    assert read == [("text", [0])]
    assert ds["text"][0] == "again"
    assert ds.ingested.changed == 1


def test_a_rerun_replays_only_new_versions(flowers, folder, new_url):
    url = new_url()
    first = ingest(folder, url)
    again = ingest(folder, url)
    assert again.version == first.version == again.ingested.repeated
    flowers.append(rows(20, 2))
    flowers.commit("two more")
    flowers.tag("v2")
    ds = ingest(folder, url)
    assert (ds.ingested.added, ds.ingested.changed) == (2, 0)
    assert len(ds.log()) == len(first.log()) + 1
    assert ds.tags["v2"] == ds.version


def test_tags_stay_when_later_versions_are_ingested(flowers, folder, new_url):
    flowers.tag("head")
    url = new_url()
    first = ingest(folder, url)
    flowers.append(rows(20, 2))
    flowers.commit("two more")
    ds = ingest(folder, url)
    assert (ds.tags, ds.ingested.skipped) == (first.tags, ())
    flowers.tags["head"].delete()
    flowers.tag("head")
    moved = ingest(folder, url)
    (skipped,) = moved.ingested.skipped
    assert skipped.reason.startswith(
        "tags cannot move, and the lake's tag 'head' refers to another"
    )
    assert f"version={moved.version!r}" in skipped.reason
    assert moved.tags == first.tags


def test_edits_of_others_are_not_overwritten(flowers, folder, new_url):
    ds = ingest(folder, new_url())
    ds["text"][0] = "mine"
    ds.commit("my edit")
    flowers["text"][0] = "theirs"
    flowers.commit("their edit")
    with pytest.raises(InvalidValueError, match="must contain only versions of flowers"):
        ingest(folder, ds.url)
    assert dl.open(ds.url)["text"][0] == "mine"


def test_columns_are_added_renamed_exchanged_and_dropped(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int32", "b": "text"})
    old.append({"a": [1, 2], "b": ["x", "y"]})
    old.commit("two")
    old.add_column("c", "float32")
    old["c"][0] = 1.5
    old.commit("c")
    old.rename_column("a", "tmp")
    old.rename_column("c", "a")
    old.rename_column("tmp", "c")
    old.commit("exchanged")
    old.remove_column("b")
    old.commit("without b")
    ds = ingest(folder, new_url())
    assert replayed(ds) == versions(folder)[1:]
    assert replayed(ds)[-1] == {"a": [1.5, None], "c": [1, 2]}


def test_a_return_to_an_older_version_is_a_restore(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int32"})
    old.append({"a": [1, 2, 3]})
    old.commit("three")
    version = old.version
    old["a"][0] = 9
    old.commit("nine")
    old.delete(1)
    old.commit("deleted")
    old.revert_to(version, message="back")
    old["a"][2] = 7
    old.commit("seven")
    ds = ingest(folder, new_url())
    wanted = [[], [1, 2, 3], [9, 2, 3], [9, 3], [1, 2, 3], [1, 2, 7]]
    assert [v["a"] for v in replayed(ds)] == wanted


def test_a_compacted_dataset_is_replayed(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int32", "s": "text"})
    for k in range(4):
        old.append({"a": [k, 10 + k], "s": ["x", str(k)]})
        old.commit(f"part {k}")
    old.delete(3)
    old["a"][0:3] = [7, 8, 9]
    old.commit("edits")
    old.compact()
    old["a"][1] = -1
    old.commit("after")
    ds = ingest(folder, new_url())
    assert replayed(ds)[-1]["a"] == versions(folder)[-1]["a"]
    assert [len(v["a"]) for v in replayed(ds)] == [0, 2, 4, 6, 8, 7, 7, 7]


def test_branches_without_versions_are_created_once_and_continued(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int64"})
    old.append({"a": [1, 2]})
    old.commit("two")
    old.branch("idle")
    old.append({"a": [3]})
    old.commit("three")
    url = new_url()
    for _ in range(2):
        ds = ingest(folder, url)
        assert set(ds.branches) == {"main", "idle"}
        assert dl.open(url, branch="idle")["a"][:].tolist() == [1, 2]
    other = old.branches["idle"].open()
    other.append({"a": [9]})
    other.commit("nine")
    assert set(ingest(folder, url).branches) == {"main", "idle"}
    assert dl.open(url, branch="idle")["a"][:].tolist() == [1, 2, 9]


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["append", "update", "delete", "commit", "twice"]), st.integers(0, 99)
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=8)
@given(on_main=EDITS, on_branch=EDITS, later=EDITS)
@example([("append", 0)], [("commit", 0)], [("append", 0)])  # a merge without changes
def test_any_history_is_replayed(tmp_path_factory, on_main, on_branch, later):
    folder = str(tmp_path_factory.mktemp("history") / "d")
    old = deeplake.create(folder, schema={"a": "int64", "t": "text"})
    old.append({"a": [1, 2, 3], "t": ["a", "b", "c"]})
    old.commit("begun")
    old.branch("b")
    other = old.branches["b"].open()
    edit(old, on_main)
    edit(other, on_branch)
    old.merge("b")
    edit(old, later)
    url = f"memory://{tmp_path_factory.mktemp('lake').name}"
    ds = ingest(folder, url)
    for branch in ("main", "b"):
        made = replayed(dl.open(url, branch=branch))
        assert made[-1] == versions(folder, branch)[-1]
    wanted = versions(folder)[1:]
    assert replayed(ds) == wanted


def edit(old, steps):
    """Edit and commit a dataset at random."""
    for step, number in steps:
        if step == "commit":
            old.commit(str(number))
        elif step == "delete" and len(old):
            old.delete(number % len(old))
        elif step == "update" and len(old):
            old["a"][number % len(old)] = 1000 + number
        elif step in ("append", "twice"):
            for part in range(1 if step == "append" else 2):
                count = 1 + number % 3
                old.append({"a": [number + part] * count, "t": [f"{number}"] * count})
    old.commit("last")


def test_a_killed_run_is_resumed(folder, tmp_path):
    old = deeplake.create(folder, schema={"a": "int64"})
    for k in range(12):
        old.append({"a": list(range(k * 40, k * 40 + 40))})
        old["a"][0] = -k
        old.commit(str(k))
    url, code = (
        str(tmp_path / "lake"),
        (
            "import sys, deeplake_lite as dl\n"
            "dl.from_deeplake(sys.argv[1], sys.argv[2], progress=False, commit_every=16)"
        ),
    )
    for wait in (2.0, 3.0):
        run = subprocess.Popen([sys.executable, "-c", code, folder, url])
        try:
            run.wait(wait)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.wait()
    ds = ingest(folder, url, commit_every=16)
    assert [v["a"] for v in replayed(ds)] == [v["a"] for v in versions(folder)[1:]]
    keys = [c.metadata["deeplake"]["version"] for c in ds.log()
            if "deeplake" in c.metadata and "rows" not in c.metadata["deeplake"]
            and not c.message.startswith("metadata")]  # fmt: skip
    assert len(keys) == len(set(keys)) == 13


def test_large_versions_are_committed_in_parts(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int64"})
    old.append({"a": list(range(10))})
    old.commit("ten")
    ds = ingest(folder, new_url(), commit_every=4)
    assert [c.message for c in ds.log()][1:4] == ["ten"] * 3
    assert ds["a"][:].tolist() == list(range(10))


# ---- the last version


@pytest.mark.usefixtures("flowers")
def test_the_last_version_is_ingested_without_history(folder, new_url):
    url = new_url()
    ds = ingest(folder, url, history=False)
    assert ds["text"][:] == versions(folder)[-1]["text"]
    assert ingest(folder, url, history=False).ingested.repeated == ds.version
    keyed = ingest(folder, new_url(), history=False, on="text", commit_every=2)
    assert len(keyed) == len(ds)


@pytest.mark.usefixtures("flowers")
def test_history_rejects_options_that_it_cannot_honour(folder, new_url):
    with pytest.raises(OptionError, match="on= requires history=False"):
        ingest(folder, new_url(), on="text")
    with pytest.raises(OptionError, match="on_error='skip' requires history=False"):
        ingest(folder, new_url(), on_error="skip")
    with pytest.raises(OptionError, match="executor= requires history=False"):
        ingest(folder, new_url(), executor=2)


def test_a_missing_dataset_is_named(tmp_path, new_url):
    with pytest.raises(NotFoundError, match="There is no Deep Lake dataset at"):
        ingest(tmp_path / "none", new_url())
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="There is no Deep Lake dataset at"):
        ingest(tmp_path / "empty", new_url())


@pytest.mark.usefixtures("flowers")
def test_image_files_keep_their_bytes(folder, new_url):
    ds = ingest(folder, new_url(), history=False)
    assert [bytes(b) for b in ds.to_pandas()["image"]] == [image(i) for i in (1, 2, 3, 9)]


# ---- types

COLUMNS = {
    "int8": ("int8", [1, -2], dl.Scalar("int8"), None),
    "uint64": ("uint64", [1, 2**64 - 1], dl.Scalar("uint64"), None),
    "bool": ("bool", [True, False], dl.Scalar("bool"), None),
    "int128": (TYPES.Int128(), [1, 2**100], dl.Text(), ["1", str(2**100)]),
    "nullable number": (
        TYPES.Nullable("float32"),
        [1.5, None],
        dl.Scalar("float32", nullable=True),
        None,
    ),
    "text": (TYPES.Text(), ["a", ""], dl.Text(), None),
    "nullable text": (TYPES.Nullable(TYPES.Text()), ["", None], dl.Text(nullable=True), None),
    "bytes": ("bytes", [b"a\0", b""], dl.Bytes(), None),
    "dict": (TYPES.Dict(), [{"a": [1, "x"]}, {}], dl.Json(nullable=True), None),
    "struct": (
        TYPES.Struct({"a": "int32", "b": "text"}),
        [{"a": 1, "b": "x"}] * 2,
        dl.Json(nullable=True),
        None,
    ),
    "png": (
        TYPES.Image("uint8", "png"),
        [image(1, "PNG"), image(2, "PNG")],
        dl.Image("png", nullable=True),
        None,
    ),
    "embedding": (TYPES.Embedding(2), [[1, 2], [3, 4]], dl.Embedding(2), None),
    "array": (
        TYPES.Array("int16", 2),
        [np.ones((1, 2), "i2"), np.zeros((0, 3), "i2")],
        dl.Array("int16", (None, None)),
        None,
    ),
    "fixed": (
        TYPES.Array("float64", [2, 2]),
        np.eye(2)[None].repeat(2, 0),
        dl.Array("float64", (2, 2)),
        None,
    ),
    "any": (
        TYPES.Array("int8"),
        [np.ones(2, "i1"), np.ones((1, 2), "i1")],
        dl.Array("int8", None),
        None,
    ),
    "corners": (
        TYPES.BoundingBox("float32", "ltrb", "pixel"),
        [np.ones((1, 4), "f4"), np.zeros((0, 4), "f4")],
        dl.Boxes("xyxy"),
        None,
    ),
    "centres": (
        TYPES.BoundingBox("float32", "ccwh", "fractional"),
        [np.full((1, 4), 0.5, "f4")] * 2,
        dl.Boxes("cxcywh", "fraction"),
        None,
    ),
    "unknown boxes": (
        TYPES.BoundingBox("float32"),
        [np.ones((1, 4), "f4")] * 2,
        dl.Array("float32", (None, None)),
        None,
    ),
    "points": (
        TYPES.Point(2),
        [np.ones((3, 2), "f4")] * 2,
        dl.Array("float32", (None, None)),
        None,
    ),
    "classes": (
        TYPES.SegmentMask("uint8", sample_compression="lz4"),
        [np.ones((3, 4), "u1")] * 2,
        dl.Mask(nullable=True),
        None,
    ),
    "class file": (
        TYPES.SegmentMask("uint8", sample_compression="png"),
        [np.ones((3, 4), "u1")] * 2,
        dl.Mask(nullable=True),
        None,
    ),
    "objects": (
        TYPES.BinaryMask(sample_compression="lz4"),
        [np.ones((3, 4, 2), bool)] * 2,
        dl.Mask("instance", nullable=True),
        [np.ones((2, 3, 4), bool)] * 2,
    ),
    "polygons": (
        TYPES.Polygon(),
        [[np.ones((3, 2), "f4"), np.ones((5, 2), "f4")], [np.ones((3, 2), "f4")]],
        dl.Polygons(),
        None,
    ),
    "label": (TYPES.ClassLabel("int32"), [1, 0], dl.ClassLabel(), None),
    "sequence": (TYPES.Sequence("int32"), [[1, 2], []], dl.Array("int32", (None,)), None),
    "labels": (
        TYPES.Sequence(TYPES.ClassLabel("int32")),
        [[1, 0], []],
        dl.ClassLabel(multiple=True),
        None,
    ),
    "audio": (TYPES.Audio("uint8", "mp3"), [b"ID3abc", b"ID3d"], dl.Bytes(nullable=True), None),
    "link": (
        TYPES.Link(TYPES.Image("uint8", "jpg")),
        ["file:///a.jpg", "file:///b.jpg"],
        dl.Link(dl.Image()),
        None,
    ),
    "serial": (TYPES.Serial("int64"), None, dl.Scalar("int64"), None),
}


@pytest.mark.parametrize("history", [True, False], ids=["history", "last version"])
@pytest.mark.parametrize("name", COLUMNS)
def test_types_and_values_are_kept(name, history, folder, new_url):
    kind, values, htype, wanted = COLUMNS[name]
    old = deeplake.create(folder)
    old.add_column("c", kind)
    if values is not None:
        old.append({"c": values})
    old.commit("two")
    ds = ingest(folder, new_url(), history=history)
    assert ds.schema["c"].htype == htype
    made = dl.create(new_url(), {"c": htype})
    if values is not None:
        made.append({"c": values if wanted is None else wanted})
    digests = [
        lake.handle.table.digests(lake.schema["c"].id, np.arange(len(lake))).tolist()
        for lake in (ds, made)
    ]
    assert digests[0] == digests[1]


def test_class_names_may_change_from_version_to_version(folder, new_url):
    old = deeplake.create(folder, schema={"label": TYPES.ClassLabel("int32")})
    old["label"].metadata["class_names"] = ["cat"]
    old.append({"label": [0]})
    old.commit("cat")
    old["label"].metadata["class_names"] = ["cat", "dog"]
    old.append({"label": [1]})
    old.commit("dog")
    ds = ingest(folder, new_url())
    first = dl.open(ds.url, version=next(c.id for c in ds.log() if c.message == "cat"))
    assert (first["label"].names, ds["label"].names) == (("cat",), ("cat", "dog"))


def test_sequences_of_images_keep_their_bytes(folder, new_url):
    old = deeplake.create(folder, schema={"c": TYPES.Sequence(TYPES.Image("uint8", "jpg"))})
    old.append({"c": [[image(1), image(2)], [], [image(3)]]})
    old.commit("three")
    ds = ingest(folder, new_url())
    assert ds.to_arrow()["c"].to_pylist() == [[image(1), image(2)], [], [image(3)]]


def test_columns_that_deep_lake_cannot_return_are_listed(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int32", "v": TYPES.Video("mp4")})
    old.commit("empty")
    for history in (True, False):
        ds = ingest(folder, new_url(), history=history)
        assert ds.columns == ("a",)
        assert "bytes of a video" in str(ds.ingested.skipped[0])


def test_metadata_is_kept(folder, new_url):
    old = deeplake.create(folder, schema={"a": "int32"})
    old["a"].metadata["unit"] = "cm"
    old.metadata["source"] = {"year": 2026}
    old.description = "flowers of the garden"
    old.commit("empty")
    for history in (True, False):
        ds = ingest(folder, new_url(), history=history)
        assert ds.metadata["source"] == {"year": 2026}
        assert ds.metadata["deeplake"]["description"] == "flowers of the garden"
    assert dict(ingest(folder, new_url())["a"].metadata) == {"unit": "cm"}


@pytest.mark.parametrize(
    "text", ["", "nullable[" * 50 + "int32" + "]" * 50, "kind=x", "a: int32\n"]
)
def test_strings_of_types_are_parsed(text):
    assert Kind.parse(text).shape == ()


# ---- version 3


@pytest.fixture
def older(tmp_path):
    """Unpack a dataset that Deep Lake 3.9.52 wrote."""
    shutil.unpack_archive(OLD, tmp_path, filter="data")
    return str(tmp_path / "old")


def test_datasets_of_version_3_are_replayed(older, new_url):
    ds = ingest(older, new_url())
    assert [c.message for c in ds.log()][:3:][::-1][-2:] == ["two", "metadata of old"]
    by_message = {c.message: dl.open(ds.url, version=c.id) for c in ds.log()}
    assert by_message["one"]["text"][:] == ["t0", "t1", "t2"]
    assert ds["text"][:] == ["t0", "t2"]
    assert dl.open(ds.url, branch="alt")["text"][:] == ["t0", "changed"]
    commit = next(c for c in ds.log() if c.message == "one")
    assert commit.metadata["deeplake"]["author"] == "public"
    assert ingest(older, ds.url).version == ds.version


def test_types_of_version_3_are_kept(older, new_url):
    for history in (True, False):
        ds = ingest(older, new_url(), history=history)
        assert {f.name: f.htype for f in ds.schema} == {
            "images": dl.Image("jpeg", nullable=True),
            "labels": dl.ClassLabel(["cat", "dog"]),
            "boxes": dl.Boxes("xywh"),
            "kp": dl.Keypoints(["nose", "eye"], [(0, 1)]),
            "text": dl.Text(),
            "lst": dl.Json(nullable=True),
            "g/x": dl.Array("int16", (None,)),
        }
        assert ds["labels"][:].tolist() == [1, 0]
        assert ds["lst"][:] == [[0, "x"], [2, "x"]]
        assert [k.shape for k in ds["kp"][:]] == [(1, 2, 3), (3, 2, 3)]


# ---- damage


@pytest.mark.usefixtures("flowers")
def test_damaged_logs_raise_our_errors(folder, tmp_path):
    draw = random.Random(7)
    files = sorted(p for p in (Path(folder) / "_deeplake_log").rglob("*") if ".jsonl" in p.name)
    failed = 0
    for case in range(60):
        copy = tmp_path / f"copy{case}"
        shutil.copytree(folder, copy)
        file = copy / draw.choice(files).relative_to(folder)
        data = bytearray(file.read_bytes())
        if case % 3 == 0:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        elif case % 3 == 1:
            del data[draw.randrange(len(data)) :]
        else:
            file.unlink()
        if file.exists():
            file.write_bytes(bytes(data))
        try:
            log = Log.read(Peer.at(str(copy), None, None))
            assert all(isinstance(change.id, str) for c in log.changes.values() for change in c)
        except LakeError:
            failed += 1
    assert failed


@pytest.mark.usefixtures("flowers")
def test_claims_of_huge_sizes_are_rejected(folder, new_url):
    log = Path(folder) / "_deeplake_log"
    branch = next(p for p in sorted(log.iterdir()) if p.name != "_meta")
    lines = [{"commit": {}}, {"addBlock": {"d": {"n": [2**60]}, "c": 1, "b": 1}}]
    text = "\n".join(map(json.dumps, lines))
    (branch / "0000000009m00000000.jsonl").write_text(text)
    with pytest.raises(InvalidValueError, match="history=False"):
        ingest(folder, new_url())
    (branch / "0000000009m00000000.jsonl").unlink()
    (branch / "0000000009m00000000.jsonl.lz4").write_bytes(b"\xff\xff\xff\x7f123")
    with pytest.raises(InvalidValueError, match="when decompressed, but it has 2,147,483,647"):
        ingest(folder, new_url())
