"""CSV values are stored exactly as written, or the error names their row."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.cli.export import export_csv
from deeplake_lite.dataset.export.strings import fits_table
from deeplake_lite.htypes import resolve
from deeplake_lite.ingest.tables import csv_file
from tests.dataset.everything import SCHEMA, VALUES, png

fresh = count()


@pytest.fixture(params=["at once", "block by block"])
def take(request, tmp_path, monkeypatch):
    """Ingest a CSV string, by the code path for small files or for large files."""
    if request.param == "block by block":
        monkeypatch.setattr(csv_file, "AT_ONCE", 0)

    def take(text, url=None, **options):
        path = tmp_path / f"{next(fresh)}.csv"
        path.write_text(text, newline="")
        url = url or f"memory://csv-values-{path.stem}"
        return dl.from_csv(path, url, progress=False, **options)

    return take


@pytest.mark.parametrize(
    ("written", "dtype"),
    [
        (["1", "-7", "0"], "int64"),
        (["9223372036854775807", "-9223372036854775808"], "int64"),
        (["18446744073709551615", "1"], "uint64"),
        (["18446744073709551616", "1"], "float64"),
        (["18446744073709551617", "1"], None),
        (["18446744073709551615", "-1"], None),
        (["123456789012345678901234567890", "1"], None),
        (["9007199254740993", "0.5"], None),
        (["9007199254740992", "0.5"], "float64"),
        (["100000000000000000000", "0.5"], "float64"),
        (["1e400", "2"], None),
        (["inf", "-Infinity", "2"], "float64"),
        (["0x10", "16"], None),
        (["-0", "5"], None),
        (["0.10", "-0.5", "1e5"], "float64"),
        (["00123", "01234"], None),
        (["-01", "5"], None),
        (["007.5", "1.5"], None),
        (["0", "00"], None),
    ],
)
def test_numbers_are_stored_as_written_or_are_strings(take, written, dtype):
    ds = take("n,t\n" + "".join(f"{value},x\n" for value in written))
    if dtype is None:
        assert ds["n"][:] == written
    else:
        assert ds["n"][:].dtype == dtype
        assert ds["n"][:].tolist() == [np.dtype(dtype).type(value) for value in written]


def test_given_type_parses_numbers_by_their_meaning(take):
    ds = take("a,b,c\n007,9007199254740993,1\n-01,1,NA\n", schema={
        "a": "int8", "b": "float64", "c": dl.Scalar("int16", nullable=True),
    })  # fmt: skip
    assert ds["a"][:].tolist() == [7, -1]
    assert ds["b"][:].tolist() == [9007199254740992.0, 1.0]
    assert ds["c"][:].tolist() == [1, None]


def test_spaces_and_missing_numbers_are_read_as_usual(take):
    ds = take("a,b,t\n 5 ,1.5, x \nNA,,NA\n")
    assert ds["a"][:].tolist() == [5, None]
    assert ds["b"][:].tolist() == [1.5, None]
    assert ds["t"][:] == [" x ", "NA"]


@pytest.mark.parametrize("rows", [["1", "true"], ["true", "0"], ["FALSE", "1", "true"]])
def test_numbers_next_to_booleans_are_stored_as_written(take, rows):
    text = "n,x\n" + "".join(f"{row},1\n" for row in rows)
    assert take(text)["n"][:] == rows
    result = take(text, schema={"n": "bool"})["n"][:].tolist()
    assert result == [row in ("1", "true") for row in rows]


def test_booleans_are_read_in_three_spellings(take):
    ds = take("n,x\ntrue,1\nFalse,1\nTRUE,1\nNA,1\n")
    assert ds["n"][:].tolist() == [True, False, True, None]


WRONG = {
    "int8": ["x", "300", "1.5", ""],
    "uint16": ["-1", "65536"],
    "float32": ["1,5", "one"],
    "bool": ["yes", "2"],
    "datetime64[s]": ["soon", "2020-13-01"],
}
RIGHT = {
    "int8": "5", "uint16": "5", "float32": "5", "bool": "true", "datetime64[s]": "2020-01-02",
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "value"), [(d, v) for d, some in WRONG.items() for v in some])
def test_value_of_another_type_is_an_error_with_its_row(take, dtype, value):
    rows = [RIGHT[dtype]] * 5
    rows[3] = f'"{value}"'
    text = "n,x\n" + "".join(f"{row},{i}\n" for i, row in enumerate(rows))
    with pytest.raises(dl.InvalidValueError, match=r"column 'n': \d+\.csv, row 3: "):
        take(text, schema={"n": dtype})
    ds = take(text, schema={"n": dtype}, on_error="skip")
    assert ds["x"][:].tolist() == [0, 1, 2, 4]
    [skipped] = ds.ingested.skipped
    assert skipped.path.endswith(".csv, row 3")


ONE_WRONG = {
    "int64": ["1", "2", "2.5"],
    "int8": ["1", "007", "300"],
    "uint64": ["1", "18446744073709551615", "-1"],
    "float16": ["1", "2.5", "q"],
    "float32": ["1", "12345678901234567.5", "q"],
    "float64": ["0.5", "nan", "true"],
    "bool": ["true", "1", "2"],
    "datetime64[s]": ["2026-01-02", "2026-01-02T03:04:05Z", "soon"],
    "datetime64[h]": ["2026-01-02", "2026-01-02T03", "soon"],
    "timedelta64[s]": ["5", "7", "soon"],
    "timedelta64[ms]": ["5 s", "7", "0.5"],
    "timedelta64[us]": ["10:00:00", "00:00:05.5", "25:00:00"],
    "complex64": ["1", "1+2j", "q"],
    "class numbers": ["0", "1", "rose"],
}
"""Two values that a type accepts, and one that it does not."""


@pytest.mark.parametrize("first", ["", "NA", None])
@pytest.mark.parametrize("name", ONE_WRONG)
def test_one_wrong_value_in_a_lake_column_does_not_affect_others(take, name, first):
    of = dl.ClassLabel if name == "class numbers" else dl.Scalar
    htype = of(*(() if of is dl.ClassLabel else (name,)), nullable=True)
    values = [*([] if first is None else [first]), *ONE_WRONG[name]]
    text = "v,x\n" + "".join(f"{value},1\n" for value in values)
    url = f"memory://one-wrong-{next(fresh)}"
    dl.create(url, {"v": htype, "x": "int64"}).commit("empty")
    wrong = len(values) - 1
    with pytest.raises(dl.InvalidValueError, match=rf"column 'v': \d+\.csv, row {wrong}: "):
        take(text, url=url)
    ds = take(text, url=url, on_error="skip")
    assert ds.ingested.added == wrong
    assert [s.path.split(", ")[1] for s in ds.ingested.skipped] == [f"row {wrong}"]
    if of is dl.Scalar:
        same = take(text, schema={"v": htype}, on_error="skip")
        assert repr(ds["v"][:]) == repr(same["v"][:])


def test_type_of_the_lake_applies_to_every_block(take, monkeypatch):
    monkeypatch.setattr(csv_file, "BLOCK_BYTES", 64)
    url = f"memory://every-block-{next(fresh)}"
    dl.create(url, {"n": "float64", "c": dl.ClassLabel()}).commit("empty")
    rows = [*("0,0" for _ in range(50)), "0.5,1", "q,0", "1,rose"]
    ds = take("n,c\n" + "".join(f"{row}\n" for row in rows), url=url, on_error="skip")
    assert ds["n"][:].tolist() == [0.0] * 50 + [0.5]
    assert [s.path.split(", ")[1] for s in ds.ingested.skipped] == ["row 51", "row 52"]


def test_one_wrong_value_in_a_table_of_labels_does_not_affect_others(tmp_path):
    url = f"memory://labels-{next(fresh)}"
    names = [f"{i}.png" for i in range(3)]
    for name in names:
        (tmp_path / name).write_bytes(png((2, 3, 3)))
    dl.create(url, {
        "image": "image", "path": "text", "n": "int64", "label": dl.ClassLabel(nullable=True),
    }).commit("empty")  # fmt: skip
    rows = zip(names, ["1", "2.5", "3"], ["0", "1", "rose"], strict=True)
    (tmp_path / "labels.csv").write_text("file,n,label\n" + "\n".join(map(",".join, rows)))
    ds = dl.from_folder(tmp_path, url, labels="labels.csv", on_error="skip", progress=False)
    assert [row["n"] for row in ds] == [1]
    assert [s.path for s in ds.ingested.skipped[-2:]] == names[1:]


def test_many_wrong_values_are_all_reported(take):
    ds = take(
        "n,x\n" + "".join(f"{'?' if i % 3 else i % 100},{i}\n" for i in range(10_000)),
        schema={"n": "int8"},
        on_error="skip",
    )
    assert ds["x"][:].tolist() == list(range(0, 10_000, 3))
    assert len(ds.ingested.skipped) == 10_000 - len(ds)


def test_records_with_too_few_or_too_many_values_are_reported_or_skipped(take):
    text = 'a,b\n1,"x\ny"\n3\n4,y,5\n6,z\n'
    with pytest.raises(dl.InvalidValueError, match=r"Expected 2 columns, got 1: 3"):
        take(text)
    ds = take(text, on_error="skip")
    assert ds["a"][:].tolist() == [1, 6]
    rule = "a record must have 2 values, one for each column, but this record has"
    assert [str(s).partition(".csv, ")[2] for s in ds.ingested.skipped] == [
        f"record {number} (the header is record 1): {rule} {values}"
        for number, values in ((3, 1), (4, 3))
    ]


def test_type_inferred_from_the_first_block_applies_strictly_to_later_ones(take, monkeypatch):
    monkeypatch.setattr(csv_file, "BLOCK_BYTES", 64)
    text = "n,x\n" + "".join(f"{i},{i}\n" for i in range(50)) + "0051,50\n"
    if csv_file.AT_ONCE:
        assert take(text)["n"][50] == "0051"
        return
    with pytest.raises(
        dl.InvalidValueError, match=r"column 'n': .* a later value is '0051'\. .* schema="
    ):
        take(text)


@pytest.mark.parametrize("delimiter", ["\n", "\r", '"'])
def test_line_ends_and_quotes_are_refused_as_delimiters(take, delimiter):
    with pytest.raises(dl.OptionError, match="delimiter must be one ASCII character"):
        take("a,b\n1,2\n", delimiter=delimiter)


@pytest.mark.parametrize(
    "name", [n for n, h in SCHEMA.items() if fits_table(resolve(h)) and n != "link"]
)
def test_column_exported_as_csv_round_trips_by_its_type(name, tmp_path):
    ds = dl.create("memory://left-as-csv", {"c": SCHEMA[name]}, overwrite=True)
    ds.append({"c": VALUES[name]})
    ds.commit("made")
    file = export_csv(ds, str(tmp_path / "out")).path
    url = f"memory://came-back-{next(fresh)}"
    new = dl.from_csv(file, url, schema=ds.schema, progress=False)
    expected = ds["c"][:]
    if name == "text":  # null and the empty string are the same in CSV
        expected = [value or "" for value in expected]
    assert repr(new["c"][:]) == repr(expected)  # NaN is not equal to itself


def test_nan_and_null_stay_distinct(take):
    ds = take(
        "x,y,n\nnan,1.5,nan\n,nan,1\n-NaN,NA,NA\n0.5,NULL,3\n",
        schema={"x": dl.Scalar("float32", nullable=True)},
    )
    assert repr(ds["x"][:]) == repr(np.ma.array([np.nan, 0, np.nan, 0.5], "f4", mask=[0, 1, 0, 0]))
    assert repr(ds["y"][:]) == repr(np.ma.array([1.5, np.nan, 0, 0], mask=[0, 0, 1, 1]))
    assert ds["n"][:].tolist() == [None, 1, None, 3]


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        ("json", "[1]", [1]),
        (dl.Boxes(), "[[1,2,3,4]]", [[1, 2, 3, 4]]),
        (dl.Sequence("int8"), "[1,2]", [1, 2]),
        (dl.Embedding(2), "[1,2]", [1, 2]),
        (dl.ClassLabel(["a", "b"], multiple=True), '[""b""]', [1]),
    ],
)
def test_invalid_json_is_an_error_with_its_row(take, type_, written, value):
    text = f'v\n"{written}"\nrose\n'
    with pytest.raises(dl.InvalidValueError, match=r"row 1: .*but it is (str |bytes b)?'rose'"):
        take(text, schema={"v": type_})
    ds = take(text, schema={"v": type_}, on_error="skip")
    assert np.asarray(ds["v"][0]).tolist() == value
    assert [s.path.split(", ")[1] for s in ds.ingested.skipped] == ["row 1"]


def test_column_names_that_are_not_utf_8_are_an_error(tmp_path):
    (tmp_path / "a.csv").write_bytes("l\xe9,x\n1,2\n".encode("latin1"))
    with pytest.raises(dl.InvalidValueError, match=r"the names of its columns are not.*iconv"):
        dl.from_csv(tmp_path / "a.csv", "memory://latin-1")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_labels_of_a_folder_are_stored_as_written(tmp_path, delimiter):
    for name in ("00001.png", "00002.png"):
        (tmp_path / name).write_bytes(png((2, 3, 3)))
    lines = ["file,code,big,x", "00001,01234,18446744073709551615,0.5", "00002,00001,1,nan"]
    (tmp_path / "labels.csv").write_text("\n".join(lines).replace(",", delimiter))
    ds = dl.from_folder(tmp_path, f"memory://labels-{next(fresh)}", labels="labels.csv")
    assert ds["path"][:] == ["00001.png", "00002.png"]
    assert ds["code"][:] == ["01234", "00001"]
    assert ds["big"][:].tolist() == [2**64 - 1, 1]
    assert repr(ds["x"][:].tolist()) == "[0.5, nan]"


@pytest.mark.parametrize(
    ("written", "names", "numbers"),
    [
        (["3", "0", "12", "2"], (), [3, 0, 12, 2]),
        (["03", "00", "12", "02"], ("00", "02", "03", "12"), [2, 0, 3, 1]),
        (["1.5", "0.5", "1.5", "2"], ("0.5", "1.5", "2"), [1, 0, 1, 2]),
        (["true", "false", "true", "true"], ("false", "true"), [1, 0, 1, 1]),
        (["2020-01-02", "2020-01-01"], ("2020-01-01", "2020-01-02"), [1, 0]),
    ],
)
def test_integers_are_class_numbers_and_everything_else_is_a_name(take, written, names, numbers):
    text = "label,t\n" + "".join(f"{value},x\n" for value in written)
    ds = take(text, schema={"label": "class_label"})
    assert ds.schema["label"].htype.names == names
    assert ds["label"][:].tolist() == numbers


def test_number_out_of_range_of_a_float_is_an_error_with_its_row(take):
    text = "x,t\n1.5,a\n1e39,b\ninf,c\n"
    with pytest.raises(dl.InvalidValueError, match=r"row 1: .*'1e39'"):
        take(text, schema={"x": "float32"})
    assert take(text, schema={"x": "float32"}, on_error="skip")["x"][:].tolist() == [1.5, np.inf]


@pytest.mark.parametrize("written", ["70000", "-1e38", "1e300"])
def test_number_out_of_range_of_float16_is_refused_without_a_warning(take, written):
    with pytest.raises(dl.InvalidValueError, match="float16"):
        take(f"x\n{written}\n", schema={"x": "float16"})


BEYOND = [
    *("1e400", "-1e400", "1e309", "9" * 310, "-" + "9" * 310, " 1e400 ", "1_0e399", "1e400j"),
    *("1e400+1j", "1+1e400j", "(1-1e400j)", "1e400+infj", "inf-1e400j"),
]


@pytest.mark.parametrize("given", ["the lake", "schema"])
@pytest.mark.parametrize("htype", ["complex64", "complex128", dl.Sequence("complex64")], ids=str)
def test_number_out_of_range_of_a_complex_number_is_an_error_with_its_row(htype, given, tmp_path):
    written = [*BEYOND, "1e-400", "inf-infj", "nan+infj"]
    if not isinstance(htype, str):
        written = [f'"[""{text}""]"' for text in written]
    (tmp_path / "t.csv").write_text("n,c\n" + "".join(f"1,{text}\n" for text in written))
    url, schema = f"memory://beyond-{next(fresh)}", {"n": "int8", "c": htype}
    if given == "the lake":
        dl.create(url, schema).commit("empty")
    options = {"schema": schema} if given == "schema" else {}
    with pytest.raises(dl.InvalidValueError, match=r"column 'c'.*row 0: .*must be complex"):
        dl.from_csv(tmp_path / "t.csv", url, progress=False, **options)
    ds = dl.from_csv(tmp_path / "t.csv", url, progress=False, on_error="skip", **options)
    assert len(ds.ingested.skipped) == len(BEYOND)
    result = np.array([*ds["c"][:]]).reshape(-1)
    assert str(result.tolist()) == "[0j, (inf-infj), (nan+infj)]"


WRITTEN = {
    "json": (["{}", "[1]", '"[1]"', "1"], [{}, [1], "[1]", 1]),
    dl.Sequence("int32"): (["[1,2]", "[]"], [[1, 2], []]),
    dl.Boxes(): (["[[1,2,3,4]]", "[]"], [[[1, 2, 3, 4]], []]),
    dl.Embedding(2): (["[1,2]", "[3,4]"], [[1, 2], [3, 4]]),
    "complex64": (["(1+2j)", "3"], [1 + 2j, 3]),
}


@pytest.mark.parametrize("htype", WRITTEN, ids=str)
def test_file_is_parsed_by_the_types_of_the_receiving_lake(htype, tmp_path):
    texts, values = WRITTEN[htype]
    url = f"memory://by-its-types-{next(fresh)}"
    ds = dl.create(url, {"n": "int32", "c": htype})
    ds.append({"n": [0], "c": values[:1]})
    ds.commit("first")
    quoted = [text.replace('"', '""') for text in texts]
    (tmp_path / "more.csv").write_text(
        "n,c\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(quoted, 1))
    )
    ds = dl.from_csv(tmp_path / "more.csv", url, progress=False)
    result = [np.asarray(v).tolist() if htype != "json" else v for v in ds["c"][:]]
    assert result == [values[0], *values]


NAMES = [n for n, h in SCHEMA.items() if fits_table(resolve(h)) and n != "link"]


@pytest.mark.filterwarnings("ignore:to_folder writes the nulls of 'c':UserWarning")
@pytest.mark.parametrize(
    ("name", "again"),
    [(n, False) for n in NAMES] + [(n, True) for n in NAMES if n != "label"],  # '' is not a class
)
def test_column_exported_with_a_folder_round_trips_by_its_type(name, again, tmp_path):
    count = len(VALUES[name])
    pictures = [np.full((2, 3, 3), i, "u1") for i in range(count)]
    ds = dl.create("memory://left-with-pictures", {"image": dl.Image("png"), "c": SCHEMA[name]},
                   overwrite=True)  # fmt: skip
    ds.append({"image": pictures, "c": VALUES[name]})
    folder = ds.to_folder(str(tmp_path / "out"))
    url = f"memory://came-with-pictures-{next(fresh)}"
    options = {"schema": {"c": ds.schema["c"].htype}}
    if again:  # the lake exists, and has the types
        dl.create(url, {**{f.name: f.htype for f in ds.schema}, "path": "text"})
        options = {}
    table = f"{folder}/metadata.csv"
    new = dl.from_folder(folder, url, labels=table, progress=False, **options)
    order = [int(picture[0, 0, 0]) for picture in new["image"][:]]
    expected = [ds["c"][i] for i in order]
    if name == "text":  # null and the empty string are the same in CSV
        expected = [value or "" for value in expected]
    assert [repr(new["c"][i]) for i in range(count)] == [*map(repr, expected)]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns", "M", "Y"])
def test_durations_are_counts_of_their_unit(take, unit):
    dtype = f"timedelta64[{unit}]"
    ds = take("a,b\n5,\n-3,4\n", schema={"a": dtype, "b": dl.Scalar(dtype, nullable=True)})
    np.testing.assert_array_equal(ds["a"][:], np.array([5, -3], dtype))
    assert ds["b"][:].mask.tolist() == [True, False]
    assert ds["b"][1] == np.timedelta64(4, unit)


@pytest.mark.parametrize("htype", [dl.Sequence("float64"), dl.Array("float64", (None,)), dl.Json()])
@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e-400", "0.5e-999"])
def test_json_numbers_out_of_range_of_floats_are_refused(take, htype, number):
    with pytest.raises(dl.InvalidValueError):
        take(f'a\n"[1.5, {number}]"\n', schema={"a": htype})
    assert list(take('a\n"[1.5, 0.0e-999, 1e300]"\n', schema={"a": htype})["a"][0]) == [
        1.5,
        0,
        1e300,
    ]
