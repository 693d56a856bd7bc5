"""Reads a lake with zarr and icechunk alone, as deeplake_lite/storage/FORMAT.md describes it.

Run as ``python format_reader.py LAKE SNAPSHOT RESULT``; it pickles the contents to RESULT. Section
numbers are those of FORMAT.md.
"""

import base64
import io
import itertools
import json
import math
import pickle
import sys

import icechunk
import numcodecs
import numpy as np
import xxhash
import zarr
from PIL import Image, ImageOps
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

FORMAT = 2
NULL_DIGEST = 0x6E756C6C9E3779B9
NUMBER_CODECS = ("raw", "zstd", "lz4", "blosc")


def read_lake(path, snapshot):
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(path))
    store = repository.readonly_session(snapshot_id=snapshot).store
    root = zarr.open_group(store, mode="r")
    document = root.attrs["deeplake_lite"]
    if document["format"] > FORMAT:
        raise SystemExit(f"format {document['format']} is newer than {FORMAT}")
    assert document["digest"] == digest_of(document)
    lake = Lake(root.get(str(document["generation"])), document["log"])
    check_lengths(lake, document)
    if lake.group is not None and "checksums" in lake.group:
        check_chunks(store, lake.group, document)
    slots = read_slots(lake, document)
    columns = {c["name"]: c for c in document["schema"]["columns"]}
    types = {name: layout_of(c["htype"]) for name, c in columns.items()}
    scalars = {n: dtype for n, (kind, dtype, shape, _) in types.items() if shape == ()}
    ordered = {n: dtype for n, dtype in scalars.items() if "complex" not in dtype}
    return {
        "document": document,
        "ids": lake.read("rows/id", "int64")[slots],
        "blocks": lake.read("rows/block", "int64"),
        "columns": {
            name: read_column(lake, c["id"], c["htype"], slots) for name, c in columns.items()
        },
        "defaults": {name: from_json(c["htype"].get("default")) for name, c in columns.items()},
        "statistics": {
            name: (
                lake.read(f"{columns[name]['id']}/bounds", dtype, 2),
                lake.read(f"{columns[name]['id']}/counts", "int64", 2),
            )
            for name, dtype in ordered.items()
        },
        "metadata": [
            (c.id, c.parent_id, checked_notes(repository, c))
            for c in repository.ancestry(snapshot_id=snapshot)
        ],
        "views": read_views(repository),
    }


class Lake:
    """§3 and §4: the arrays of the generation, with the entries of the log."""

    def __init__(self, group, log):
        self.group, self.index = group, log["arrays"]
        self.data = base64.b64decode(log["data"])

    def read(self, path, dtype, *shape):
        """Return all entries of an array."""
        stored = self.array(path)
        result = np.zeros((0, *shape), dtype) if stored is None else stored[:]
        assert result.dtype == dtype
        assert result.shape[1:] == shape
        at, size, rows, updates = self.index.get(path, (0, 0, 0, 0))
        row = np.dtype(dtype).itemsize * math.prod(shape)
        ends = np.cumsum([at, rows * row, updates * 8, updates * row]).tolist()
        assert ends[-1] == at + size
        added, slots, values = (self.data[a:b] for a, b in itertools.pairwise(ends))
        result[np.frombuffer(slots, "<i8")] = np.frombuffer(values, dtype).reshape(-1, *shape)
        return np.concatenate([result, np.frombuffer(added, dtype).reshape(rows, *shape)])

    def array(self, path):
        """Return the Zarr array, or None if all of its entries are in the log."""
        return None if self.group is None else self.group.get(path)


def read_slots(lake, document):
    """§3: the slots of the rows, in row order."""
    if document["ordered"]:
        is_live = np.ones(document["slots"], bool)
        for first, end in lake.read("rows/deleted", "int64", 2):
            is_live[first:end] = False
        return np.flatnonzero(is_live)
    return lake.read("rows/slot", "int64")


def read_views(repository):
    """§8: the saved views, with their row ids."""
    if "_aux" not in repository.list_branches():
        return {}
    root = zarr.open_group(repository.readonly_session("_aux").store, mode="r")
    result = root.attrs["deeplake_lite_views"]
    assert result["digest"] == digest_of(result)
    views = {n: v | {"ids": root[v["array"]][:]} for n, v in result["views"].items()}
    for view in views.values():
        assert view["hash"] == xxhash.xxh3_64_hexdigest(view["ids"].astype("<i8").tobytes())
    return views


# ---- §5, digests and checksums

OFFSETS = [{"data", "extents", "spans", "id"}, {"counts", "hashes", "block"}, {"valid", "slot"}]
OFFSETS.append({"bounds", "shapes", "deleted"})


def digest_of(document):
    """§2: the digest of a JSON object without its own."""
    bare = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return xxhash.xxh3_64_hexdigest(text.encode("ascii"))


def checked_notes(repository, commit):
    """§8: a commit's metadata, checked against its digest and that of the chunks it has written."""
    notes = dict(commit.metadata)
    if written := notes.get("chunks"):
        log = repository.diff(from_snapshot_id=commit.parent_id, to_snapshot_id=commit.id)
        lines = sorted(
            "/".join([path, "c", *map(str, chunk)])
            for path, chunks in log.updated_chunks.items()
            for chunk in chunks
        )
        assert written == xxhash.xxh3_64_hexdigest("\n".join(lines).encode())
    if digest := notes.get("digest"):
        bare = {key: value for key, value in notes.items() if key != "digest"}
        text = json.dumps([commit.message, bare], sort_keys=True, separators=(",", ":"))
        assert digest == xxhash.xxh3_64_hexdigest(text.encode("ascii"))
    return notes


def check_lengths(lake, document):
    """§2: arrays have the recorded lengths, and those that follow from the slots."""
    for path, length in [*document["lengths"].items(), ("rows/id", document["slots"])]:
        names = [f"{path}/{n}" for n in ("data", "extents", "spans")] if "items" in path else []
        names = [path] if path.endswith("tail") or not names else names
        lengths = []
        for name in names:
            array, (_, _, rows, _) = lake.array(name), lake.index.get(name, (0, 0, 0, 0))
            lengths.append(rows + (0 if array is None else array.shape[0]))
        assert sum(lengths) == length, path


def check_chunks(store, group, document):
    """§3: every chunk of a per-slot array has the checksum of its position."""
    table, first = group["checksums"][:], {"rows": 0, **document["checksums"]}
    for path, array in group.members(max_depth=None):
        name = path.rpartition("/")[2]
        if not isinstance(array, zarr.Array) or name in ("values", "tail", "checksums"):
            continue
        [offset] = [i for i, names in enumerate(OFFSETS) if name in names]
        row = first[path.partition("/")[0]] + 4 * path.split("/").count("items") + offset
        for chunk in range(array.cdata_shape[0] if array.size else 0):
            key = "/".join([array.path, "c", str(chunk), *["0"] * (array.ndim - 1)])
            stored = sync(store.get(key, default_buffer_prototype())).to_bytes()
            assert table[row, chunk] == xxhash.xxh3_64_intdigest(stored), (path, chunk)


# ---- §4, layouts


def layout_of(htype):
    """§6: (kind, dtype, shape or number of dimensions, item htype)."""
    match htype["htype"]:
        case "scalar":
            return "dense", stored(htype["dtype"]), (), None
        case "array":
            shape = htype["shape"] or [None] * 8
            if None not in shape and htype.get("codec") is None:
                return "dense", stored(htype["dtype"]), tuple(shape), None
            return "ragged", stored(htype["dtype"]), len(shape), None
        case "embedding":
            return "dense", htype.get("dtype", "float32"), (htype["dim"],), None
        case "class_label":
            several = htype.get("multiple", False)
            return ("ragged", "int32", 1, None) if several else ("dense", "int32", (), None)
        case "text" | "link":
            return "ragged", "utf8", 0, None
        case "json" | "bytes" as kind:
            return "ragged", kind, 0, None
        case "image":
            numbers = htype.get("codec", "auto") in NUMBER_CODECS
            return "ragged", htype.get("dtype", "uint8") if numbers else "bytes", 3, None
        case "mask":
            if htype.get("kind") == "instance":
                return "ragged", "bool", 3, None
            return "ragged", "int32" if htype.get("dtype") == "int32" else "bytes", 2, None
        case "boxes":
            return "ragged", htype.get("dtype", "float32"), 2, None
        case "keypoints":
            return "ragged", "float32", 3, None
        case "polygons":
            return "nested", None, None, {"htype": "array", "dtype": "float32", "shape": [None, 2]}
        case "sequence":
            return "nested", None, None, htype["of"]
    raise SystemExit(f"unknown htype {htype}")


def read_column(lake, path, htype, slots):
    """Values of some slots (None where null), stored digests and computed digests."""
    valid = np.ones(len(slots), bool)
    if htype.get("nullable"):
        valid = lake.read(f"{path}/valid", "bool")[slots]
    kind, dtype, shape, item = layout_of(htype)
    if kind == "dense":
        return read_dense(lake, path, htype, dtype, shape, slots, valid)
    if kind == "ragged":
        return read_ragged(lake, path, htype, dtype, shape, slots, valid)
    return read_nested(lake, path, item, slots, valid)


def read_dense(lake, path, htype, dtype, shape, slots, valid):
    data = lake.read(f"{path}/data", dtype, *shape)[slots]
    digests = [
        dense_digest(cell) if v else NULL_DIGEST for cell, v in zip(data, valid, strict=True)
    ]
    values = data.view(htype["dtype"]) if is_time(htype) else data
    return {
        "values": [x if v else None for x, v in zip(values, valid, strict=True)],
        "stored": None,
        "hashes": digests,
    }


def read_ragged(lake, path, htype, dtype, ndim, slots, valid):
    extents = lake.read(f"{path}/extents", "int64", 2)[slots]
    hashes = lake.read(f"{path}/hashes", "uint64")[slots]
    shapes = np.zeros((len(slots), 0), "int32")
    if ndim:
        shapes = lake.read(f"{path}/shapes", "int32", ndim)[slots]
    tail = lake.read(f"{path}/tail", "uint8")
    values, digests = [], []
    for (start, length), shape, v in zip(extents.tolist(), shapes.tolist(), valid, strict=True):
        if not v:
            assert length == 0
            assert all(n == -1 for n in shape)
            values.append(None)
            digests.append(0)
            continue
        data = read_bytes(lake.array(f"{path}/values"), tail, start, length)
        kept = tuple(n for n in shape if n >= 0)
        values.append(decode(htype, data, kept))
        digests.append(ragged_digest(data, dtype, kept))
    return {"values": values, "stored": hashes.tolist(), "hashes": digests}


def read_bytes(values, tail, start, length):
    if length == 0:
        return b""
    if start < 0:
        return tail[~start : ~start + length].tobytes()
    return values[start : start + length].tobytes()


def read_nested(lake, path, item, slots, valid):
    spans = lake.read(f"{path}/spans", "int64", 2)[slots]
    hashes = lake.read(f"{path}/hashes", "uint64")[slots]
    values, digests = [], []
    for (first, count), v in zip(spans.tolist(), valid, strict=True):
        items = read_column(lake, f"{path}/items", item, np.arange(first, first + count))
        assert items["stored"] in (None, items["hashes"])
        assert v or count == 0
        values.append(items["values"] if v else None)
        together = b"".join(digest.to_bytes(8, "little") for digest in items["hashes"])
        digests.append(xxhash.xxh3_64_intdigest(together) if v else 0)
    return {"values": values, "stored": hashes.tolist(), "hashes": digests}


# ---- §5, hashes


def ragged_digest(data, dtype, shape):
    seed = xxhash.xxh3_64_intdigest(f"{dtype}:{','.join(map(str, shape))}".encode("ascii"))
    return xxhash.xxh3_64_intdigest(data, seed)


def dense_digest(cell):
    cell = np.array(cell)
    if cell.dtype.kind in "fc":
        cell[np.isnan(cell)] = np.nan
    data = cell.astype(cell.dtype.newbyteorder("<")).tobytes()
    if len(data) <= 8:
        return int.from_bytes(data.ljust(8, b"\0"), "little")
    return xxhash.xxh3_64_intdigest(data)


# ---- §6 and §7, cells


def stored(dtype):
    return "int64" if dtype.endswith("]") else dtype


def is_time(htype):
    return htype["htype"] in ("scalar", "array") and htype["dtype"].endswith("]")


def decode(htype, data, shape):
    match htype["htype"]:
        case "text" | "link":
            return data.decode()
        case "json":
            return json.loads(data)
        case "bytes":
            return data
        case "image":
            return decode_image(htype, data, shape)
        case "mask":
            return decode_mask(htype, data, shape)
        case "array":
            array = numbers(htype.get("codec"), data, shape, stored(htype["dtype"]))
            return array.view(htype["dtype"]) if is_time(htype) else array
        case "class_label":
            return numbers(None, data, shape, "int32")
        case "boxes":
            return numbers(None, data, shape, htype.get("dtype", "float32"))
        case "keypoints":
            return numbers(None, data, shape, "float32")
    raise SystemExit(f"unknown htype {htype}")


def numbers(codec, data, shape, dtype):
    dtype = np.dtype(dtype).newbyteorder("<")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    if codec not in (None, "raw"):
        data = numcodecs.get_codec({"id": codec}).decode(data)
    return np.frombuffer(data, dtype).reshape(shape)


def decode_image(htype, data, shape):
    codec, mode = htype.get("codec", "auto"), htype.get("mode")
    if codec in NUMBER_CODECS:
        return numbers(codec, data, shape, htype.get("dtype", "uint8"))
    with Image.open(io.BytesIO(data)) as image:
        upright = ImageOps.exif_transpose(image)
        pixels = np.array(upright.convert(mode)) if mode else plain_pixels(upright)
    assert pixels.shape == shape
    return pixels


def plain_pixels(image):
    """The table of §7."""
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode in ("1", "L", "RGB") and "transparency" in image.info:
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode in ("CMYK", "YCbCr", "LAB"):
        image = image.convert("RGB")
    elif image.mode == "1":
        image = image.convert("L")
    pixels = np.array(image)
    return pixels.astype("uint16") if image.mode.startswith("I;16") else pixels


def decode_mask(htype, data, shape):
    if htype.get("kind") == "instance":
        count = math.prod(shape)
        bits = numbers("zstd", data, (-(-count // 8),), "uint8")
        return np.unpackbits(bits, count=count).reshape(shape).astype(bool)
    if htype.get("dtype") == "int32":
        return numbers("zstd", data, shape, "int32")
    with Image.open(io.BytesIO(data)) as image:  # a palette's indices stay unchanged
        result = np.array(image).astype(htype.get("dtype", "uint8"))
    bits, colour = data[24], data[25]
    return result // {2: 85, 4: 17}.get(bits, 1) if colour == 0 else result


def from_json(value):
    """§6: values that JSON lacks."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    match value:
        case {"$float": text}:
            return float(text)
        case {"$complex": [real, imag]}:
            return complex(from_json(real), from_json(imag))
        case {"$bytes": text}:
            return base64.b64decode(text)
        case {"$object": items} | dict(items):
            return {key: from_json(item) for key, item in items.items()}
    return value


if __name__ == "__main__":
    icechunk.set_logs_filter("error")
    lake, snapshot, result = sys.argv[1:]
    with open(result, "wb") as file:
        pickle.dump(read_lake(lake, snapshot), file)
