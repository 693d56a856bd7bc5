"""WebDataset's tar files are ingested, and exported again."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import tarfile
import tracemalloc
import warnings
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
import webdataset as wds
from hypothesis import given
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import (
    ExportWarning,
    InvalidValueError,
    NotFoundError,
    SchemaError,
)
from deeplake_lite.ingest.shards.tar_samples import expand
from deeplake_lite.ingest.shards.webdataset import webdataset_source
from deeplake_lite.testing.strategies import tables


@pytest.fixture
def pack(tmp_path):
    """Write files into a tar file."""

    def pack(files, name="a.tar", mode="w"):
        path = tmp_path / name
        with tarfile.open(path, mode) as tar:
            for member, data in files:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return path

    return pack


@pytest.fixture
def ingest(new_url):
    return lambda tars, **options: dl.from_webdataset(tars, new_url(), progress=False, **options)


def image(value, kind="jpeg"):
    file = io.BytesIO()
    PillowImage.new("RGB", (8, 8), (value, 0, 0)).save(file, kind)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# ---- files of the peer


@pytest.fixture
def shards(tmp_path):
    """Write three tar files with WebDataset."""
    with wds.ShardWriter(str(tmp_path / "t-%03d.tar"), maxcount=5, verbose=0) as writer:
        for i in range(12):
            writer.write({
                "__key__": f"part/{i:05d}", "jpg": image(i), "cls": i % 3, "json": {"i": i},
                "npy": np.arange(i % 4, dtype="f4"), "seg.png": image(i, "png"), "txt": f"é {i}",
                "bin": bytes([i]),
            })  # fmt: skip
    return tmp_path


@pytest.mark.parametrize(
    "tars", ["t-{000..002}.tar", "t-*.tar", "", "t-00{0,1,2}.tar"], ids="{!r}".format
)
def test_files_that_webdataset_wrote_are_ingested(shards, ingest, tars):
    ds = ingest(str(shards / tars))
    assert {name: ds.schema[name].htype for name in ds.columns} == {
        "key": dl.Text(), "shard": dl.Text(), "image": dl.Image("auto"),
        "cls": dl.Scalar("int64"), "json": dl.Json(), "npy": dl.Array("float32", (None,)),
        "seg": dl.Image("auto"), "txt": dl.Text(), "bin": dl.Bytes(),
    }  # fmt: skip
    assert ds["key"][:] == [f"part/{i:05d}" for i in range(12)]
    assert ds["shard"][:] == [f"t-{i // 5:03d}.tar" for i in range(12)]
    assert ds["cls"][:].tolist() == [i % 3 for i in range(12)]
    assert ds["json"][7] == {"i": 7}
    assert ds["txt"][3] == "é 3"
    assert bytes(ds["bin"][9]) == bytes([9])
    np.testing.assert_array_equal(ds["npy"][7], np.arange(3, dtype="f4"))
    assert [bytes(data) for data in ds["image"].encoded()] == [image(i) for i in range(12)]


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # by WebDataset
def test_webdataset_reads_an_export(make_lake, tmp_path):
    schema = {
        "key": "text", "image": dl.Image("png"), "txt": "text", "label": dl.ClassLabel(["a", "b"]),
        "json": dl.Json(nullable=True), "v": dl.Embedding(3), "boxes": dl.Boxes(),
        "score": "float32", "tags": dl.Sequence("text"),
    }  # fmt: skip
    rows = {
        "key": ["x/1", "2"], "image": [np.zeros((4, 4, 3), "u1")] * 2, "txt": ["é", ""],
        "label": ["b", "a"], "json": [{"a": 1}, None], "v": [[1, 2, 3], [4, 5, 6]],
        "boxes": [np.zeros((2, 4)), np.zeros((0, 4))], "score": [0.1, 2],
        "tags": [["p", "q"], []],
    }  # fmt: skip
    paths = make_lake(schema, **rows).to_webdataset(tmp_path / "out")
    samples = wds.WebDataset([str(p) for p in paths], shardshuffle=False).decode()
    first, second = list(samples)  # to its end, where it closes its files
    assert (first["__key__"], first["txt"], first["label.cls"]) == ("x/1", "é", 1)
    assert (first["json"], first["score.json"], first["tags.json"]) == ({"a": 1}, 0.1, ["p", "q"])
    assert (first["boxes.npy"].shape, first["v.npy"].tolist()) == ((2, 4), [1, 2, 3])
    assert "json" not in second
    assert second["tags.json"] == []


def test_export_is_ingested_as_the_same_rows(shards, ingest, tmp_path, new_url):
    ds = ingest(str(shards / "t-*.tar"))
    folder = tmp_path / "out"
    paths = ds.to_webdataset(folder, shard_bytes=2_000)
    assert len(paths) > 2
    again = dl.from_webdataset(folder, new_url(), schema=ds.schema, progress=False)
    for row in range(len(ds)):
        for name in ds.columns:
            if name != "shard":
                np.testing.assert_equal(again[name][row], ds[name][row], err_msg=f"{row} {name}")
    assert [bytes(b) for b in again["image"].encoded()] == [bytes(b) for b in ds["image"].encoded()]
    same = ds.to_webdataset(tmp_path / "same", shard_bytes=2_000)
    assert [p.read_bytes() for p in same] == [p.read_bytes() for p in paths]


def cells_of(ds, name):
    table = ds.rows.table
    return table.digests(ds.schema[name].id, table.rows.live()).tolist()


@given(table=tables())
def test_rows_of_all_types_survive_the_round_trip(table, tmp_path_factory):
    schema, rows = table
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append(rows)
    ds.metadata["about"] = {"license": "CC0"}
    ds.commit("rows")
    folder = tmp_path_factory.mktemp("tars") / "out"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ds.to_webdataset(folder, shard_bytes=2_000)
        except SchemaError:  # there are only sequences of files
            assert all(f.htype.item is not None for f in ds.schema)
            return
        except InvalidValueError:  # a row has only nulls
            assert all(f.htype.nullable or f.htype.item is not None for f in ds.schema)
            return
    losses = [str(w.message) for w in caught if w.category is ExportWarning]
    if not len(ds):
        return
    again = dl.from_webdataset(folder, f"memory://{uuid4().hex}", progress=False)
    assert again.metadata["about"] == {"license": "CC0"}
    left_out = {name for name in ds.columns if any(f"'{name}'" in text for text in losses)}
    assert set(again.columns) - {"key", "shard"} == set(ds.columns) - left_out
    for name in set(ds.columns) - left_out:
        assert again.schema[name].htype == ds.schema[name].htype
        assert cells_of(again, name) == cells_of(ds, name), (name, ds.schema[name].htype)
    shutil.rmtree(folder)


def test_types_and_names_are_restored_without_a_schema(make_lake, tmp_path, ingest):
    schema = {
        "image": dl.Image("png"), "jpg": "bytes", "left/mask": dl.Mask(), "left_mask": "text",
        "LEFT_MASK": "text", "a.b": dl.Embedding(2), "cls": dl.ClassLabel(["1", "0", "x.y"]),
        "when": "datetime64[s]", "image.left": dl.Image("png"),
    }  # fmt: skip
    pixels = np.zeros((2, 3, 3), "uint8")
    ds = make_lake(
        schema, image=[pixels], jpg=[b"j"], **{"left/mask": [pixels[..., 0]]}, left_mask=["l"],
        LEFT_MASK=["L"], **{"a.b": [[1, 2]]}, cls=["0"], when=[np.datetime64("2026-01-02", "s")],
        **{"image.left": [pixels + 1]},
    )  # fmt: skip
    folder = tmp_path / "out"
    ds.to_webdataset(folder)
    again = ingest(folder)
    assert {f.name: f.htype for f in again.schema if f.name not in ("key", "shard")} == {
        f.name: f.htype for f in ds.schema
    }
    for name in ds.columns:
        assert cells_of(again, name) == cells_of(ds, name), name
    (folder / "deeplake_lite.json").write_text("[" * 10_000)
    assert ingest(folder).schema["cls"].htype == dl.Scalar("int64")


# ---- samples


def test_neighbouring_files_of_one_stem_are_a_sample(pack, ingest):
    files = [("./a/1.x.txt", b"p"), ("./a/1.y.txt", b"q"), ("./b/1.x.txt", b"r"), ("2.x.txt", b"s")]
    ds = ingest(pack(files))
    assert ds["key"][:] == ["./a/1", "./b/1", "2"]
    assert ds["x"][:] == ["p", "r", "s"]
    assert ds["y"][:] == ["q", None, None]


def test_images_of_several_formats_are_one_column(pack, ingest):
    ds = ingest(pack([("1.jpg", image(1)), ("2.png", image(2, "png"))]))
    assert [*ds.columns] == ["key", "shard", "image"]
    pair = ingest(pack([("1.jpg", image(1)), ("1.png", image(2, "png"))], "b.tar"))
    assert [*pair.columns] == ["key", "shard", "jpg", "png"]


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # by WebDataset
def test_case_of_an_extension_does_not_matter(pack, ingest):
    files = [("1.TXT", b"a"), ("1.Seg.PNG", image(1, "png")), ("2.txt", b"b"),
             ("2.seg.png", image(2, "png")), ("2.TXT", b"c")]  # fmt: skip
    path = pack(files)
    ds = ingest(path)
    assert [*ds.columns] == ["key", "shard", "txt", "seg"]
    assert (ds["key"][:], ds["txt"][:]) == (["1", "2", "2"], ["a", "b", "c"])
    theirs = wds.WebDataset(str(pack(files[:4], "b.tar")), shardshuffle=False)
    assert [sorted(e for e in sample if e[0] != "_") for sample in theirs] == [
        ["seg.png", "txt"]
    ] * 2


def test_file_with_the_extension_image_does_not_replace_the_image(pack, ingest):
    ds = ingest(pack([("1.image", b"x"), ("1.jpg", image(1))]))
    assert (ds["image_"][0], ds["image"][0].shape) == (b"x", (8, 8, 3))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_data_after_the_end_is_reported(pack, tmp_path, ingest, compress):
    parts = [pack([(f"{i}.txt", b"a")], f"{i}.tar").read_bytes() for i in range(2)]
    (tmp_path / "both.tar").write_bytes(b"".join(map(compress, parts)))
    ds = ingest(tmp_path / "both.tar")
    assert ds["key"][:] == ["0"]
    assert [str(s) for s in ds.ingested.skipped] == [
        "both.tar, after its end: it follows the end of the archive; join tar files with `tar -A`"
    ]


def header(name, size, kind=b"0"):
    """Return a header whose field of the size has any content."""
    info = tarfile.TarInfo(name)
    info.type = kind
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    block[124:136], block[148:156] = size, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


CONTENT = b"hello".ljust(512, b"\0")


@pytest.mark.parametrize(
    "size", [b"\x80" + bytes(10) + b"\5", b"000000000005", b"         5 \0", b"5".ljust(12, b"\0")]
)
def test_sizes_are_read_in_every_notation(tmp_path, ingest, size):
    (tmp_path / "a.tar").write_bytes(header("1.txt", size) + CONTENT + bytes(1024))
    assert ingest(tmp_path / "a.tar")["txt"][:] == ["hello"]


@pytest.mark.parametrize(
    ("start", "message"),
    [(header("1.txt", b"\xff" * 12), "the size of '1.txt' is negative"),
     ((header("././@LongLink", b"00000000005\0", b"L") + CONTENT) * 3_000, "too many headers"),
     (header("1.txt", b"00000000008\0"), "invalid literal"),
     (header("1.txt", b"\x80" + bytes(3) + b"\x7f" * 8), "must decode to at most")],
)  # fmt: skip
def test_crafted_headers_are_refused(tmp_path, ingest, start, message):
    tar = start + header("1.txt", b"00000000005\0") + CONTENT + bytes(1024)
    (tmp_path / "a.tar").write_bytes(tar)
    with pytest.raises((InvalidValueError, dl.TooLargeError), match=message):
        ingest(tmp_path / "a.tar")


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_compressed_files_are_read(pack, ingest, mode):
    ds = ingest(pack([("1.txt", b"a"), ("2.txt", b"b")], "a.tar", mode))
    assert ds["txt"][:] == ["a", "b"]


def test_declared_types_decide_how_files_are_read(pack, ingest):
    path = pack([("1.cls", b"1\n"), ("1.emb.npy", npy(np.ones(2))), ("2.cls", b"dog"),
                 ("2.emb.npy", npy(np.zeros(2)))])  # fmt: skip
    schema = {"cls": dl.ClassLabel(["cat", "dog"]), "emb": dl.Embedding(2)}
    ds = ingest(path, schema=schema)
    assert ds["cls"][:].tolist() == [1, 1]
    assert ds["emb"][:].tolist() == [[1, 1], [0, 0]]


def test_other_members_are_listed(tmp_path, ingest):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for name, kind in {"d": tarfile.DIRTYPE, "l.txt": tarfile.SYMTYPE}.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        for name in ("README", ".hidden.txt", "__meta__/0.txt", "1.txt"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
    ds = ingest(path)
    assert ds["txt"][:] == ["x"]
    assert [str(s) for s in ds.ingested.skipped] == [
        "a.tar, l.txt: it is not a regular file", "a.tar, README: it has no extension",
        "a.tar, __meta__/0.txt: WebDataset reserves names like '__name__' for metadata",
    ]  # fmt: skip


def test_second_run_adds_nothing_and_an_interrupted_one_resumes(pack, new_url, monkeypatch):
    url, path = new_url(), pack([(f"{i}.txt", str(i).encode()) for i in range(3_000)])
    ds = dl.from_webdataset(path, url, progress=False)
    again = dl.from_webdataset(path, url, progress=False)
    assert (len(again), again.ingested.added, again.version) == (3_000, 0, ds.version)
    from deeplake_lite.ingest.run import Run

    write, calls = Run.write, []

    def failing(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return write(self, *args)

    url = new_url()
    with monkeypatch.context() as patched:
        patched.setattr(Run, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            dl.from_webdataset(path, url, commit_every=1_000, progress=False)
    ds = dl.from_webdataset(path, url, progress=False)
    assert ds["txt"][:] == [str(i) for i in range(3_000)]
    assert ds.ingested.added < 3_000


# ---- errors


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (("2.txt", b"\xff"), "txt must be UTF-8 text"), (("2.json", b"{"), "json must be JSON"),
        (("2.cls", b"x"), "cls must be an integer"), (("2.npy", b"PK"), "npy must be an npy file"),
        (("2.new", b"1"), "no extensions except .* but it also has 'new'"),
    ],
)  # fmt: skip
def test_bad_sample_is_an_error_or_skipped(pack, ingest, file, message):
    good = [("1.txt", b"a"), ("1.json", b"1"), ("1.cls", b"1"), ("1.npy", npy(np.ones(2)))]
    # More samples than those by which columns are found.
    many = [(f"g{i}.{name[2:]}", data) for i in range(1_000) for name, data in good]
    rest = [(name.replace("1.", "2."), data) for name, data in good if name[2:] != file[0][2:]]
    path = pack([*many, *rest, file])
    with pytest.raises(InvalidValueError, match=rf"a\.tar, 2: .*{message}"):
        ingest(path)
    ds = ingest(path, on_error="skip")
    assert len(ds) == 1_000
    assert [s.path for s in ds.ingested.skipped] == ["a.tar, 2"]


def test_files_that_are_not_tar_files_are_refused(tmp_path, ingest, pack):
    (tmp_path / "a.tar").write_bytes(b"x" * 2_000)
    with pytest.raises(InvalidValueError, match="must be a complete tar file"):
        ingest(tmp_path / "a.tar")
    path = pack([("1.txt", b"x" * 5_000)], "b.tar")
    path.write_bytes(path.read_bytes()[:3_000])
    with pytest.raises(InvalidValueError, match="must be a complete tar file"):
        ingest(path)
    path = tmp_path / "c.tar"
    path.write_bytes(gzip.compress(b"x" * 2_000)[:-9])
    with pytest.raises(InvalidValueError, match="must be a complete tar file"):
        ingest(path)
    with pytest.raises(NotFoundError, match="no tar file at"):
        ingest(tmp_path / "d.tar")
    with pytest.raises(NotFoundError, match="list is empty"):
        ingest([])


@pytest.mark.parametrize("text", ["{0..99999999}", "{00..99}{00..99}{00..99}{00..99}"])
def test_braces_are_bounded(text):
    with pytest.raises(InvalidValueError, match="may expand to at most"):
        expand(text)


@pytest.mark.parametrize(
    "keys", [["a", "a"], ["a.b", "c"], ["a/", "c"], ["", "c"], [None, "c"], ["__a__", "c"]]
)
def test_keys_that_would_be_read_as_others_are_refused(make_lake, tmp_path, keys):
    ds = make_lake({"key": dl.Text(nullable=True), "txt": "text"}, key=keys, txt=["x", "y"])
    with pytest.raises(InvalidValueError, match="A key must differ"):
        ds.to_webdataset(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert len(ds.query("SELECT txt").to_webdataset(tmp_path / "out")) == 1


def test_losses_are_reported(make_lake, tmp_path):
    schema = {"txt": "text", "frames": dl.Sequence(dl.Image("png"))}
    ds = make_lake(schema, txt=["x"], frames=[[]])
    with pytest.warns(ExportWarning, match="'frames' is left out"):
        ds.to_webdataset(tmp_path / "out")
    nulls = make_lake({"t": dl.Text(nullable=True)}, t=[None])
    with pytest.raises(InvalidValueError, match="only nulls"):
        nulls.to_webdataset(tmp_path / "nulls")
    with pytest.raises(dl.SchemaError, match="needs a column whose values can be files"):
        ds.query("SELECT frames").to_webdataset(tmp_path / "none")


def test_damage_at_a_header_is_not_the_end_of_a_file(pack, ingest):
    path = pack([(f"{i}.txt", b"x" * 512) for i in range(50)])
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[1024 + 3] ^= 255  # in the second header
    for data in (whole[: 10 * 1024], bytes(flipped)):
        path.write_bytes(data)
        with pytest.raises(InvalidValueError, match="must be a complete tar file"):
            ingest(path)


def test_rows_are_updated_by_their_key(pack, new_url):
    url = new_url()
    dl.from_webdataset(pack([("1.txt", b"a"), ("2.txt", b"b")]), url, on="key", progress=False)
    path = pack([("1.txt", b"a"), ("2.txt", b"c"), ("3.txt", b"d")])
    ds = dl.from_webdataset(path, url, on="key", progress=False)
    assert ds["txt"][:] == ["a", "c", "d"]
    assert (ds.ingested.added, ds.ingested.changed, ds.ingested.unchanged) == (1, 1, 1)


COMPRESSIONS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compressed_tar_file_is_checked_up_to_its_end(pack, ingest, compression):
    path = pack([(f"{i}.txt", random.randbytes(900).hex().encode()) for i in range(3)])
    data = COMPRESSIONS[compression](path.read_bytes())
    path.write_bytes(data)
    assert len(ingest(path)) == 3
    flipped = bytearray(data)
    flipped[-6] ^= 1
    for damaged in (bytes(flipped), data[:-3]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidValueError, match=r"'a\.tar' must be a complete tar file"):
            ingest(path)


def test_files_over_the_limit_are_refused_unless_it_is_raised(pack, ingest):
    path = pack([("1.bin", bytes(5_000))])
    with pytest.raises(dl.LakeError, match=r"a\.tar, 1\.bin: must decode to at most 4,000 bytes"):
        ingest(path, limits=dl.Limits(max_bytes=4_000))
    assert len(ingest(path, limits=dl.Limits(max_bytes=6_000))) == 1


def test_first_samples_are_not_held_in_memory(pack):
    path = pack([(f"{i}.bin", bytes(10_000_000)) for i in range(30)])
    source = webdataset_source(path, {})
    tracemalloc.start()
    try:
        assert source.columns["bin"] == dl.Bytes()
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_empty_arrays_of_a_list_keep_their_shape(tmp_path):
    htype = dl.Sequence(dl.Mask("instance"))
    ds = dl.create(f"memory://{uuid4().hex}", {"masks": htype, "txt": "text"})
    ds.append({"masks": [[np.zeros((0, 5, 7), bool)]], "txt": ["a"]})
    ds.commit("rows")
    files = ds.to_webdataset(tmp_path / "out")
    again = dl.from_webdataset(tmp_path / "out", f"memory://{uuid4().hex}")
    assert again["masks"][0][0].shape == (0, 5, 7)
    with tarfile.open(files[0]) as tar:
        texts = {m.name.partition(".")[2]: tar.extractfile(m).read() for m in tar}
    assert json.loads(texts["masks.json"]) == [{"shape": [0, 5, 7]}]
