"""FORMAT.md suffices to read a lake: a script that knows nothing else reads every type."""

from __future__ import annotations

import io
import json
import pickle
import re
import secrets
import subprocess
import sys
from pathlib import Path

import icechunk
import numpy as np
import pytest
import zarr
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.htypes.registry import CLASSES
from deeplake_lite.storage import log, repo, state
from tests.format_reader import Lake

READER = Path(__file__).parent / "format_reader.py"
FORMAT_MD = Path(state.__file__).parent / "FORMAT.md"
MIB = 2**20

BLOCKED = """
import runpy, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("deeplake_lite", "simplejpeg", "imagecodecs"):
            raise ImportError(f"{name} is out of bounds for a reader of the format")

sys.meta_path.insert(0, Refuse())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

rng = np.random.default_rng(0)


def picture(*shape, dtype="uint8"):
    top = 256 if dtype == "uint8" else 60_000
    return rng.integers(0, top, shape).astype(dtype)


def file(image, kind, **options):
    target = io.BytesIO()
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(target, kind, **options)
    return target.getvalue()


def smooth(height, width):
    down, across = np.mgrid[:height, :width]
    return np.stack([down * 3, across * 2, down + across], -1).astype("uint8")


def palette():
    image = Image.fromarray(np.array([[0, 1, 2], [3, 255, 0]], "uint8"), "P")
    image.putpalette([10 * i % 256 for i in range(768)])
    return image


def turned():
    exif = Image.Exif()
    exif[0x0112] = 6
    return file(smooth(16, 24), "JPEG", quality=95, exif=exif)


def opened(data, mode=None):
    image = Image.open(io.BytesIO(data))
    return np.array(image.convert(mode) if mode else image)


RGB, GREY, ALPHA = picture(4, 5, 3), picture(3, 2), picture(2, 3, 4)
JPEG, GREY_JPEG, TURNED = file(smooth(24, 16), "JPEG"), file(smooth(8, 8)[..., 0], "JPEG"), turned()
CMYK = file(Image.fromarray(smooth(16, 16)).convert("CMYK"), "JPEG")
PNG, WEBP, TIFF, BMP = (file(RGB, kind) for kind in ("PNG", "WEBP", "TIFF", "BMP"))
DEEP, FLOATS = file(picture(3, 4, dtype="uint16"), "PNG"), file(np.eye(3, dtype="float32"), "TIFF")
PALETTE, LITTLE = file(palette(), "PNG"), file(Image.fromarray(np.eye(4, dtype=bool)), "PNG")
FLOAT = np.linspace(-1, 1, 12, dtype="float32")
POLYGON, SQUARE = [[0, 0], [4, 0], [0, 3]], [[1, 1], [2, 1], [2, 2], [1, 2]]
EMPTY = np.zeros((0, 4), "float32")
LONG = "naïve café " * 70_000


def numbers(dtype):
    if dtype == "bool":
        return [True, False, True, False, True, True]
    low = -3 if np.dtype(dtype).kind in "ifc" else 3
    return [0, 1, 2, low, 100, 101]


def arrays(dtype, *values):
    return [np.array(value, dtype) for value in values]


def boxes(dtype, *values):
    return [np.array(value, dtype).reshape(-1, 4) for value in values]


CASES = {
    **{f"scalar/{d}": (d, numbers(d), np.dtype(d).type) for d in dl.htypes.scalar.DTYPES},
    "scalar/nan": (
        dl.Scalar("float64", default=float("nan")),
        [0.5, np.nan, -0.0, np.inf, 1, 2],
        np.float64,
    ),
    "scalar/complex": (
        dl.Scalar("complex64", default=1j),
        [1j, complex("nan"), 2, 3, 4, 5],
        np.complex64,
    ),
    "scalar/nullable": (dl.Scalar("int16", nullable=True), [1, None, 3, None, 5, None], np.int16),
    "scalar/when": (
        dl.Scalar("datetime64[us]", nullable=True),
        ["2026-01-02T03:04:05.000006", None, "1969-12-31", "2026-01-02", None, "0001-01-01"],
        lambda text: np.datetime64(text, "us"),
    ),
    "scalar/span": (
        dl.Scalar("timedelta64[s]", default="5 s"),
        ["-5 s", "0 s", "1 h", "2 D", "3 s", "4 s"],
        lambda text: np.timedelta64(int(text.split()[0]), text.split()[1]).astype("timedelta64[s]"),
    ),
    "array/fixed": (
        dl.Array("float32", (3, 4), nullable=True),
        [FLOAT.reshape(3, 4), None] * 3,
        None,
    ),
    "array/wide": (
        dl.Array("float64", (40, 40)),
        [np.full((40, 40), i / 7) for i in range(6)],
        None,
    ),
    "array/days": (
        dl.Array("datetime64[D]", (2,)),
        [np.array([i, 20_000], "M8[D]") for i in range(6)],
        None,
    ),
    "array/ragged": (
        dl.Array("int16", (None, 3), nullable=True),
        [
            picture(n, 3).astype("int16") if n is not None else None
            for n in (2, 0, None, 1, 70, None)
        ],
        None,
    ),
    "array/axes": (
        dl.Array("int16", None, nullable=True),
        [np.zeros((2, 3), "int16"), [4], None, np.ones((1, 1, 5), "int16"), [], [7, 8]],
        None,
    ),
    "array/times": (
        dl.Array("timedelta64[ms]", (None,)),
        [np.arange(n).astype("m8[ms]") for n in range(6)],
        None,
    ),
    **{
        f"array/{codec}": (
            dl.Array("float32", (None,), codec=codec),
            [np.arange(n, dtype="float32") for n in (0, 1, 100, 3, 5, 9)],
            None,
        )
        for codec in ("zstd", "lz4", "blosc")
    },
    "array/packed": (
        dl.Array("complex128", (2,), codec="zstd"),
        arrays("complex128", *([1j, i] for i in range(6))),
        None,
    ),
    "array/large": (
        dl.Array("uint8", (None,)),
        [picture(n) for n in (4 * MIB - 100_000, 300_000, 10, 0, 9 * MIB, 5)],
        None,
    ),
    "embedding": (dl.Embedding(12), [FLOAT * i for i in range(6)], None),
    "class/one": (
        dl.ClassLabel(["rose", "tulip"], nullable=True),
        ["tulip", None, 0, 1, "rose", None],
        {"rose": 0, "tulip": 1},
    ),
    "class/several": (
        dl.ClassLabel(["rose", "tulip"], multiple=True, default=["rose"]),
        arrays("int32", [0, 1], [], [1], [0], [], [1, 1]),
        None,
    ),
    "text": (dl.Text(nullable=True, default=""), ["grün", "", None, LONG, "\0", "日本語"], str),
    "json": (
        dl.Json(default={"$a": 1}),
        [{"b": 1, "a": [True, None]}, [], "x", 0.5, {}, {"ü": {}}],
        None,
    ),
    "bytes": (dl.Bytes(default=b"\xff"), [b"", b"\0\xff", b"abc", b"", b"d", b"e" * 1000], bytes),
    "link": (
        dl.Link("image", nullable=True),
        ["a/b.jpg", None, "https://x.org/ü.png", "c", "d", "e"],
        str,
    ),
    "image/auto": (
        dl.Image(nullable=True),
        [PNG, JPEG, None, BMP, TIFF, DEEP],
        {PNG: RGB, JPEG: opened(JPEG), BMP: RGB, TIFF: RGB, DEEP: opened(DEEP).astype("uint16")},
    ),
    "image/jpeg": (
        dl.Image("jpeg"),
        [JPEG, GREY_JPEG, TURNED, CMYK, JPEG, TURNED],
        {
            JPEG: opened(JPEG),
            GREY_JPEG: opened(GREY_JPEG),
            TURNED: opened(TURNED).transpose(1, 0, 2)[:, ::-1],
            CMYK: opened(CMYK, "RGB"),
        },
    ),
    "image/png": (
        dl.Image("png", default=GREY),
        [RGB, GREY, ALPHA, picture(2, 2, 2), PALETTE, LITTLE],
        {PALETTE: opened(PALETTE, "RGB"), LITTLE: np.eye(4, dtype="uint8") * 255},
    ),
    "image/webp": (dl.Image("webp"), [WEBP] * 6, {WEBP: opened(WEBP)}),
    "image/tiff": (
        dl.Image("tiff"),
        [TIFF, RGB, FLOATS, GREY, picture(2, 2, dtype="uint16"), TIFF],
        {TIFF: RGB, FLOATS: np.eye(3, dtype="float32")},
    ),
    "image/bmp": (dl.Image("bmp"), [BMP, RGB, GREY] * 2, {BMP: RGB}),
    "image/raw": (dl.Image("raw"), [RGB, GREY, ALPHA] * 2, None),
    "image/zstd": (dl.Image("zstd", dtype="uint16"), [picture(2, 3, dtype="uint16")] * 6, None),
    "image/lz4": (dl.Image("lz4", dtype="float32"), [FLOAT.reshape(3, 4)] * 6, None),
    "image/blosc": (dl.Image("blosc"), [RGB, GREY, ALPHA] * 2, None),
    "image/grey": (
        dl.Image("jpeg", mode="L"),
        [JPEG, GREY_JPEG] * 3,
        {JPEG: opened(JPEG, "L"), GREY_JPEG: opened(GREY_JPEG)},
    ),
    "image/alpha": (
        dl.Image("png", mode="RGBA"),
        [PNG, PALETTE] * 3,
        {PNG: opened(PNG, "RGBA"), PALETTE: opened(PALETTE, "RGBA")},
    ),
    "mask/classes": (
        dl.Mask(names=["void", "cat"], nullable=True),
        [np.eye(3, dtype="uint8"), None, PALETTE, LITTLE, np.full((2, 2), 255, "uint8"), None],
        {PALETTE: np.array([[0, 1, 2], [3, 255, 0]], "uint8"), LITTLE: np.eye(4, dtype="uint8")},
    ),
    "mask/deep": (
        dl.Mask(dtype="uint16"),
        arrays("uint16", *([[i, 60_000]] for i in range(6))),
        None,
    ),
    "mask/deeper": (
        dl.Mask(dtype="int32"),
        arrays("int32", *([[i, 70_000]] for i in range(6))),
        None,
    ),
    "mask/objects": (
        dl.Mask("instance"),
        [picture(n, 3, 5) > 127 for n in (1, 0, 2, 3, 1, 7)],
        None,
    ),
    "boxes/floats": (
        dl.Boxes("xyxy", nullable=True),
        [*boxes("float32", [[0, 1, 2, 3]], [], [[1, 1, 1, 1]] * 3), None, EMPTY, None],
        None,
    ),
    "boxes/ints": (
        dl.Boxes("xywh", dtype="int32"),
        boxes("int32", *([[i, 1, 2, 3]] * i for i in range(6))),
        None,
    ),
    "keypoints/named": (
        dl.Keypoints(["nose", "tail"], [(0, 1)]),
        [np.ones((n, 2, 3), "float32") for n in range(6)],
        None,
    ),
    "keypoints/any": (
        dl.Keypoints(dims=2),
        [np.ones((n, n, 2), "float32") for n in range(6)],
        None,
    ),
    "polygons": (
        dl.Polygons(nullable=True),
        [
            arrays("float32", POLYGON),
            [],
            None,
            arrays("float32", SQUARE, POLYGON),
            [],
            arrays("float32", SQUARE),
        ],
        None,
    ),
    "sequence/numbers": (
        dl.Sequence("int32", nullable=True),
        [arrays("int32", 1, 2), [], None, arrays("int32", 3), [], None],
        None,
    ),
    "sequence/nulls": (
        dl.Sequence(dl.Scalar("float64", nullable=True)),
        [[np.float64(1), None, np.float64("nan")], [], [None], [], [], [None, None]],
        None,
    ),
    "sequence/text": (
        dl.Sequence("text"),
        [["a", "grün"], [], [LONG], ["b"], [], ["c", "", "d"]],
        None,
    ),
    "sequence/images": (
        dl.Sequence(dl.Image("png")),
        [[RGB, GREY], [], [ALPHA], [RGB], [GREY], [RGB] * 3],
        None,
    ),
    "sequence/vectors": (dl.Sequence(dl.Embedding(12)), [[FLOAT * i] * i for i in range(6)], None),
    "sequence/nested": (
        dl.Sequence(dl.Sequence("text")),
        [[["a"], []], [], [["b", "c"]], [[]], [], [["d"]]],
        None,
    ),
    "sequence/polygons": (
        dl.Sequence(dl.Polygons()),
        [[arrays("float32", POLYGON)], [], [[]], [], [], []],
        None,
    ),
}
"""By column: its htype, six values, and the values read: the same, or a mapping or function."""


def values_of(case, places):
    return [case[1][i] for i in places]


def expected(case, place):
    _, values, reads = case
    value = values[place]
    if value is None or reads is None:
        return value
    if isinstance(reads, dict):
        return reads.get(value, value) if isinstance(value, bytes | str | int) else value
    return reads(value)


def same(found, wanted):
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            same(a, b)
    elif isinstance(wanted, np.ndarray | np.generic):
        assert np.asarray(found).dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, strict=True)
    else:
        assert found == wanted


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Return a lake with every htype, the values of the rows of some versions, and a merged one."""
    url = str(tmp_path_factory.mktemp("format") / "all.lake")
    ds = dl.create(
        url, {name: case[0] for name, case in CASES.items()}, metadata={"made": "by a test"}
    )
    ds.append({name: values_of(case, range(4)) for name, case in CASES.items()})
    first = ds.commit("four rows")
    ds.append({name: values_of(case, [4, 5]) for name, case in CASES.items()})
    ds.update([1], {name: values_of(case, [5]) for name, case in CASES.items()})
    ds.commit("two more, and one changed")
    ds.branch("side")
    ds.delete([2])
    ds.rename_column("text", "title")
    ds.metadata["licence"] = "CC-BY"
    ds["title"].metadata["language"] = "de"
    ds.commit("one less")
    side = dl.open(url, branch="side")
    side.delete([5])
    merged = side.commit("the last one less")
    last = ds.merge("side")
    ds[["title"]][[3, 0, 0]].save("three")
    ds.restore(first)
    restored = ds.commit("the first rows again, in their order")
    return url, {first: [0, 1, 2, 3], restored: [0, 1, 2, 3], last: [0, 5, 3, 4]}, merged


@pytest.fixture(scope="module")
def readings(lake, tmp_path_factory):
    """Return the reader's results, by version."""
    url, versions, _ = lake
    return {version: read(url, version, tmp_path_factory.mktemp("read")) for version in versions}


def read(url, version, folder):
    result = folder / "result.pickle"
    command = [sys.executable, "-I", "-c", BLOCKED, str(READER), url, version, str(result)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return pickle.loads(result.read_bytes())


def test_lake_has_every_htype():
    assert {dl.Schema.build({"x": case[0]})["x"].htype.name for case in CASES.values()} == set(
        CLASSES
    )


@pytest.mark.parametrize("name", CASES)
def test_reader_finds_every_value(lake, readings, name):
    url, versions, _ = lake
    for version, places in versions.items():
        ds = dl.open(url, version=version)
        called = name if name in ds.columns else "title"
        column = readings[version]["columns"][called]
        wanted = [expected(CASES[name], place) for place in places]
        same(column["values"], wanted)
        ours = ds[called].urls() if name == "link" else [ds[called][i] for i in range(len(ds))]
        same(unmasked(ours), wanted)


def unmasked(value):
    if isinstance(value, list):
        return [unmasked(item) for item in value]
    return None if value is np.ma.masked else value


@pytest.mark.parametrize("name", CASES)
def test_reader_computes_every_hash(lake, readings, name):
    url, versions, _ = lake
    for version in versions:
        ds = dl.open(url, version=version)
        called = name if name in ds.columns else "title"
        column, f = readings[version]["columns"][called], ds.schema[called]
        assert column["stored"] in (None, column["hashes"])
        if f.htype.layout.__class__.__name__ != "Dense":
            assert column["stored"] == ds.handle.table.digests(f.id, ds.rows.live()).tolist()


def test_reader_finds_rows_versions_and_metadata(lake, readings):
    url, versions, merged = lake
    _, restored, last = versions
    ds, result = dl.open(url, version=last), readings[last]
    assert result["document"]["lengths"]["rows/deleted"] > 0
    assert not readings[restored]["document"]["ordered"]
    assert result["document"]["metadata"] == {"made": "by a test", "licence": "CC-BY"}
    assert [
        c.get("metadata") for c in result["document"]["schema"]["columns"] if c["name"] == "title"
    ] == [{"language": "de"}]
    assert result["ids"].tolist() == ds.row_ids.tolist()
    assert set(result["ids"] >> 16) <= set(result["blocks"])
    version, parent, notes = result["metadata"][0]
    assert (version, parent) == (last, result["metadata"][1][0])
    assert notes.keys() == {
            "merge", "merged", "transaction", "branch", "branch_id", "chunks", "digest",
        }  # fmt: skip
    assert (notes["merge"], notes["merged"]) == (merged, "side")
    assert re.fullmatch("[0-9a-f]{32}", notes["transaction"])
    assert notes["branch"] == "main"
    assert re.fullmatch("[0-9a-f]{16}", notes["branch_id"])
    view = result["views"]["three"]
    assert (view["version"], view["rows"], view["columns"]) == (last, 3, ["title"])
    assert view["ids"].tolist() == ds.row_ids[[3, 0, 0]].tolist()
    for name, default in result["defaults"].items():
        assert repr(default) == repr(ds.schema[name].htype.default)


def test_lake_uses_chunks_of_values_and_tails(lake):
    url, versions, _ = lake
    table = dl.open(url, version=list(versions)[-1]).handle.table
    large = table.schema["array/large"].id
    first = dl.open(url, version=next(iter(versions))).handle.table
    extents = repo.run(first._column(large).arrays["extents"].read(np.arange(first.slots)))
    assert (extents[:, 0] >= 0).any()
    assert (extents[:2, 0] < 0).tolist() == [False, True]
    assert set(table.state.heaps) >= {f"0/{large}/values", f"0/{table.schema['title'].id}/values"}


def test_statistics_hold_for_every_value(readings):
    result = list(readings.values())[-1]
    for name, (bounds, counts) in result["statistics"].items():
        values = [v for v in result["columns"][name]["values"] if v is not None and v == v]
        stored = np.array(values)
        stored = stored.view("int64") if stored.dtype.kind in "mM" else stored
        assert stored.dtype == bounds.dtype
        assert (bounds[0, 0] <= stored).all()
        assert (stored <= bounds[0, 1]).all()
        nulls = sum(v is None for v in result["columns"][name]["values"])
        assert counts[0, 0] >= nulls


def zarr_store(session):
    return icechunk.IcechunkStore(session._session.store, for_fork=False)


def two_rows(folder, monkeypatch):
    ids = iter(f"{i:08x}" for i in range(10, 99))
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(ids))
    monkeypatch.setattr(secrets, "randbits", lambda _: 5)
    [example] = re.findall(r"```python\n(ds = dl.create.*?)```", FORMAT_MD.read_text(), re.DOTALL)
    monkeypatch.chdir(folder)
    exec(example, {"dl": dl})
    return repo.Repository.open("two.lake")


def test_example_matches_what_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "MAX_BYTES", 64 * 1024)
    repository = two_rows(tmp_path, monkeypatch)
    root = zarr.open_group(zarr_store(repository.reader(repository.tip("main"))), mode="r")
    assert not [*root.members()]
    text = FORMAT_MD.read_text()
    [shown] = re.findall(r"```json\n(.*?)\n```", text, re.DOTALL)
    shown, written = json.loads(shown)[state.KEY], dict(root.attrs[state.KEY])
    assert shown == written, written
    lake = Lake(None, shown["log"])
    listed = re.findall(r"^/0/(\S+) +\((.*?)\) +(\w+) +(.*)$", text, re.MULTILINE)
    assert {path for path, *_ in listed} == written["log"]["arrays"].keys()
    for path, shape, dtype, values in listed:
        array = lake.read(path, dtype, *map(int, shape.split(",")[1:] if ", " in shape else []))
        assert (len(array), array.tolist()) == (int(shape.split(",")[0]), json.loads(values))


def raise_format(url):
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
    session = repository.writable_session("main")
    root = zarr.open_group(session.store, mode="a")
    document = root.attrs[state.KEY]
    root.attrs[state.KEY] = {"format": state.FORMAT + 1, "something": document}
    session.commit("a newer release was here")


def test_newer_format_is_refused(tmp_path):
    url = str(tmp_path / "new.lake")
    first = dl.create(url, {"x": "int32"}).version
    raise_format(url)
    with pytest.raises(dl.FormatError, match=r"format 3, but .* reads format 2\. Upgrade"):
        dl.open(url)
    assert dl.open(url, version=first).columns == ("x",)


def test_writer_refuses_a_branch_that_a_newer_release_has_written_to(tmp_path):
    url = str(tmp_path / "new.lake")
    ds = dl.create(url, {"x": "int32"})
    ds.append({"x": [1]})
    raise_format(url)
    with pytest.raises(dl.FormatError, match="Upgrade"):
        ds.commit()


def test_htype_of_a_newer_release_is_refused(tmp_path):
    url = str(tmp_path / "new.lake")
    dl.create(url, {"x": "int32"})
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
    session = repository.writable_session("main")
    root = zarr.open_group(session.store, mode="a")
    document = root.attrs[state.KEY]
    document["schema"]["columns"][0]["htype"] = {"htype": "hologram"}
    root.attrs[state.KEY] = state.add_digest(document)
    session.commit("a newer release was here")
    with pytest.raises(dl.FormatError, match=r"known 'htype', but it is .*hologram"):
        dl.open(url)


@pytest.mark.parametrize("grouped", [True, False])
def test_icechunk_repository_that_is_not_a_lake_is_refused(tmp_path, grouped):
    url = str(tmp_path / "other")
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(url))
    if grouped:
        session = repository.writable_session("main")
        zarr.create_group(session.store)
        session.commit("a group")
    with pytest.raises(dl.FormatError, match="but not a lake"):
        dl.open(url)


def test_repository_of_the_older_specification_is_refused(tmp_path):
    url = str(tmp_path / "a.lake")
    storage = icechunk.local_filesystem_storage(url)
    session = icechunk.Repository.create(storage, spec_version=1).writable_session("main")
    zarr.create_group(session.store)
    session.commit("a group")
    with pytest.raises(dl.FormatError, match=r"must have version 2 .* has version 1"):
        dl.open(url)
