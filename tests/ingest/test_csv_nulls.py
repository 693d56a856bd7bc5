"""Empty values, words such as NA, signs and spaces in CSV files mean the same in every column."""

from itertools import count

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.tables import csv_file
from deeplake_lite.ingest.tables.csv_file import NAN, NULLS
from tests.dataset.everything import png

fresh = count()

WORDS = ["", "NA", "nan", "-NaN", "null", "#N/A"]
"""A sample of the strings that mean null, for tests with many cases."""


@pytest.fixture(params=["at once", "block by block"])
def take(request, tmp_path, monkeypatch):
    """Ingest a CSV string, by the code path for small files or for large files."""
    if request.param == "block by block":
        monkeypatch.setattr(csv_file, "AT_ONCE", 0)

    def take(text, url=None, **options):
        path = tmp_path / f"{next(fresh)}.csv"
        path.write_text(text, newline="")
        url = url or f"memory://csv-nulls-{path.stem}"
        return dl.from_csv(path, url, progress=False, **options)

    return take


def rows(*values):
    return "n,t\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))


@pytest.mark.parametrize("word", NULLS)
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("others", [[], ["rose"], [""]])
def test_string_column_keeps_null_words_whatever_is_next_to_them(take, word, quote, others):
    ds = take(rows(f"{quote}{word}{quote}", *others), on="n")
    assert ds["t"][:] == [word, *others]
    assert isinstance(ds["t"].htype, dl.Text)


@pytest.mark.parametrize("word", NULLS)
def test_unchanged_row_is_not_written_again(take, word):
    first = take(rows(word), on="n")
    again = take(rows(word, "rose"), url=first.url, on="n")
    assert (again.ingested.added, again.ingested.changed, again.ingested.unchanged) == (1, 0, 1)
    alone = take(rows(word), url=first.url, on="n")
    assert (alone.ingested.changed, alone.ingested.unchanged) == (0, 1)


VALUES = {
    "int64": ("5", 5),
    "float64": ("0.5", 0.5),
    "bool": ("true", True),
    "datetime64[D]": ("2026-01-02", np.datetime64("2026-01-02")),
    "datetime64[s]": ("2026-01-02T03:04:05", np.datetime64("2026-01-02T03:04:05")),
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("dtype", VALUES)
def test_null_words_are_null_next_to_numbers_booleans_and_times(take, word, quote, dtype):
    written, value = VALUES[dtype]
    ds = take(rows(written, f"{quote}{word}{quote}"))
    assert ds["t"].htype.dtype == dtype
    assert ds["t"][0] == value
    if dtype == "float64" and word in NAN:
        assert np.isnan(ds["t"][1])
    else:
        assert ds["t"][1] is None


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "type_",
    ["int8", "uint64", "float16", "float32", "bool", "datetime64[D]", "datetime64[h]",
     "datetime64[ns]", "timedelta64[s]", "complex64", "class_label"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["in the schema", "in the lake"])
def test_typed_column_is_null_where_the_file_has_a_null_word(take, word, type_, where):
    htype = dl.ClassLabel() if type_ == "class_label" else dl.Scalar(type_)
    htype = type(htype)(*(() if type_ == "class_label" else (type_,)), nullable=True)
    url = f"memory://csv-nulls-{next(fresh)}"
    if where == "in the lake":
        dl.create(url, {"n": "int64", "t": htype})
        ds = take(rows(word, word), url=url)
    elif type_ == "class_label":
        return  # a requested class may be called NA
    else:
        ds = take(rows(word, word), url=url, schema={"t": htype})
    is_number = type_.startswith(("float", "complex")) and word in NAN
    assert ds["t"].htype == htype
    assert [value is None for value in map(ds["t"].__getitem__, range(2))] == 2 * [not is_number]


@pytest.mark.parametrize("word", ["NA", "nan", "null"])
def test_labels_that_are_all_null_words_are_classes(tmp_path, word):
    for name in ("1.png", "2.png"):
        (tmp_path / name).write_bytes(png((2, 3, 3)))
    (tmp_path / "labels.csv").write_text(f"file,label,note\n1.png,{word},\n2.png,{word},\n")
    url = f"memory://csv-nulls-{next(fresh)}"
    for _ in range(2):
        ds = dl.from_folder(tmp_path, url, labels="labels.csv", progress=False)
        assert ds["label"].names == (word,)
        assert ds["note"][:] == ["", ""]
    assert ds.ingested.unchanged == 2


@pytest.mark.parametrize(
    ("written", "dtype", "values"),
    [
        ([" 5", "7 "], "int64", [5, 7]),
        (["+5", "7"], "int64", [5, 7]),
        ([" +5 ", "-7", ""], "int64", [5, -7, None]),
        (["+18446744073709551615", "7"], "uint64", [2**64 - 1, 7]),
        (["+0.5", "+7"], "float64", [0.5, 7.0]),
        (["+.5", "+inf"], "float64", [0.5, np.inf]),
        (["+05", "7"], None, ["+05", "7"]),
        (["++5", "7"], None, ["++5", "7"]),
        (["+", "7"], None, ["+", "7"]),
        ([" 05", "7"], None, [" 05", "7"]),
        (["+5", " rose"], None, ["+5", " rose"]),
    ],
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_spaces_and_a_plus_sign_are_not_part_of_a_number(take, written, dtype, values, quote):
    ds = take("n,x\n" + "".join(f"{quote}{text}{quote},1\n" for text in written))
    assert getattr(ds["n"].htype, "dtype", None) == dtype
    result = ds["n"][:] if dtype is None else ds["n"][:].tolist()
    assert result == values


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
def test_given_type_accepts_a_plus_sign(take, dtype):
    ds = take("n,x\n +5,1\n7 ,1\n", schema={"n": dtype})
    assert ds["n"][:].tolist() == [5, 7]


@pytest.mark.parametrize("unit", ["M", "s"])
@pytest.mark.parametrize("word", ["", "NA", "nan"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("where", ["schema", "lake"])
def test_null_words_are_null_next_to_durations_in_words(take, unit, word, quote, where):
    htype = dl.Scalar(f"timedelta64[{unit}]", nullable=True)
    url = f"memory://csv-nulls-{next(fresh)}"
    if where == "lake":
        dl.create(url, {"n": "int64", "t": htype})
    options = {} if where == "lake" else {"schema": {"t": htype}}
    ds = take(rows(f"5 {unit}", f"{quote}{word}{quote}", " +7"), url=url, **options)
    assert [ds["t"][row] for row in range(3)] == [
        np.timedelta64(5, unit), None, np.timedelta64(7, unit),
    ]  # fmt: skip
    with pytest.raises(dl.InvalidValueError, match=r"row 1: .*null"):
        take(rows(f"5 {unit}", word), schema={"t": htype.dtype})


UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]
MOMENTS = [np.datetime64("2026-01-01"), np.datetime64("1965-12-02")]


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("way", ["schema", "lake", "lake and schema"])
def test_times_of_every_unit_are_read(take, unit, nullable, way):
    htype = dl.Scalar(f"datetime64[{unit}]", nullable=nullable)
    moments = [moment.astype(htype.dtype) for moment in MOMENTS]
    url, options = f"memory://csv-nulls-{next(fresh)}", {}
    if "lake" in way:
        dl.create(url, {"n": "int64", "t": htype}).append({"n": [9], "t": [moments[0]]})
        ds = dl.open(url)
        ds.append({"n": [9], "t": [moments[0]]})
        ds.commit("first")
    if "schema" in way:
        options = {"schema": {"t": htype}}
    nothing = ["", "NA"] if nullable else []
    ds = take(rows(*map(str, moments), *nothing), url=url, **options)
    result = [ds["t"][row] for row in range("lake" in way, len(ds))]
    assert result == [*moments, *(None for _ in nothing)]
    with pytest.raises(dl.InvalidValueError, match=r"row 1: .*'soon'"):
        take(rows(str(moments[0]), "soon"), url=url, **options)


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("again", [False, True])
def test_times_of_every_unit_survive_a_folder(tmp_path, unit, nullable, again):
    htype = dl.Scalar(f"datetime64[{unit}]", nullable=nullable)
    moments = [moment.astype(htype.dtype) for moment in MOMENTS] + [None] * nullable
    source = dl.create(f"memory://csv-nulls-{next(fresh)}", {"image": "image", "t": htype})
    pictures = [np.full((2, 3), i, "u1") for i in range(len(moments))]
    source.append({"image": pictures, "t": moments})
    folder = source.to_folder(str(tmp_path / "out"))
    url = f"memory://csv-nulls-{next(fresh)}"
    for options in [{"schema": source.schema}, {}][: 1 + again]:
        table = f"{folder}/metadata.csv"
        ds = dl.from_folder(folder, url, labels=table, progress=False, **options)
    result = {int(ds["image"][row][0, 0]): ds["t"][row] for row in range(len(ds))}
    assert result == dict(enumerate(moments))
    assert not again or ds.ingested.unchanged == len(moments)


@pytest.mark.parametrize("text", ["a,b", "a", "a,b\n", "a,b\r\n", "\ufeffa,b", '"a",b'])
def test_header_without_rows_is_an_empty_table(tmp_path, text):
    (tmp_path / "a.csv").write_text(text, newline="")
    ds = dl.from_csv(tmp_path / "a.csv", f"memory://csv-nulls-{next(fresh)}", progress=False)
    assert len(ds) == 0
    assert ds.columns == tuple("ab"[: 1 + ("b" in text)])


WAYS = {
    "from_csv": lambda folder: dl.from_csv(folder / "a.csv", "memory://csv-marks"),
    "from_folder": lambda folder: dl.from_folder(folder, "memory://csv-marks", labels="a.csv"),
}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-be"])
@pytest.mark.parametrize("way", WAYS)
def test_file_with_a_bom_of_another_encoding_says_so(tmp_path, encoding, way):
    (tmp_path / "1.png").write_bytes(png((2, 3, 3)))
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"
    (tmp_path / "a.csv").write_bytes(f"{mark}file,label\n1.png,gr\xfcn\n".encode(encoding))
    name = encoding[:6]
    with pytest.raises(
        dl.InvalidValueError,
        match=rf"the byte order mark of {name.upper()}\. .*iconv -f {name} -t utf-8",
    ):
        WAYS[way](tmp_path)


SINGLE = {
    "numbers": ("1", "2", "int64", [1, None, 2]),
    "floats": ("0.5", "2", "float64", [0.5, None, 2]),
    "truths": ("true", "false", "bool", [True, None, False]),
    "texts": ("rose", "lily", None, ["rose", "", "lily"]),
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["a", '"a,b"', "\n\na", "\ufeffa"])
@pytest.mark.parametrize("typed", [False, True])
def test_empty_line_of_a_single_column_is_an_empty_value(take, name, end, header, typed):
    first, second, dtype, values = SINGLE[name]
    text = "\n".join([header, first, "", second, ""]).replace("\n", end)
    of = dl.Scalar(dtype, nullable=True) if dtype else dl.Text()
    result = take(text, schema={"a,b" if "b" in header else "a": of} if typed else None)
    assert [result[row][result.columns[0]] for row in range(len(result))] == values


def test_empty_line_at_the_end_is_a_row_of_a_single_column(take):
    result = take("a\n1\n\n")
    assert [result[row]["a"] for row in range(len(result))] == [1, None]


@pytest.mark.parametrize("text", ["a,b\n1,2\n\n3,4\n", "\n\na,b\n1,2\n3,4\n\n\n"])
def test_empty_lines_are_not_rows_of_several_columns(take, text):
    assert take(text)["a"][:].tolist() == [1, 3]


def test_labels_of_a_single_column_keep_their_rows(take):
    result = take("a\nrose\n\nlily\n", schema={"a": "class_label"})
    assert [row["a"] for row in (result[i] for i in range(3))] == [1, None, 0]


KEPT = ["1.10", "0.10000000000000001", "1.000000000000000056e-01", "3.141592653589793", "5e-324"]
KEPT += ["1.7976931348623157e+308", "0.0000000000000000000", "1e22", "100000000000000000000.0"]
KEPT += ["0.30000000000000004", "+0.1000000000000000", " 1.50000000000000000000000"]
LOST = ["1e-400", "12345678901234567.5", "3.14159265358979323846", "1e400", "12345678901234567"]
LOST += ["-1e-400", "0.1234567890123456789", "1e-0324", "1" * 30 + ".5"]


@pytest.mark.parametrize("text", KEPT)
def test_float_that_round_trips_as_written_is_a_float(take, text):
    result = take(f"a,b\n{text},1\n0.5,2\n")["a"]
    assert result.htype.dtype == "float64"
    assert result[0] == float(text)


@pytest.mark.parametrize("text", LOST)
def test_float_that_does_not_round_trip_is_a_string(take, text):
    assert take(f"a,b\n{text},1\n0.5,2\n")["a"][:] == [text, "0.5"]


@pytest.mark.parametrize("text", LOST[:3])
def test_column_declared_as_floats_rounds(take, text):
    result = take(f"a,b\n{text},1\n", schema={"a": "float64"})["a"]
    assert result[0] == float(text)


def test_numbers_written_by_other_tools_are_floats(take):
    numbers = np.random.default_rng(0).standard_normal(200) * 10.0 ** np.arange(-100, 100)
    for form in ("{!r}", "{:.17g}", "{:.18e}", "{:.3f}", "{:.25f}"):
        texts = [form.format(float(number)) for number in numbers]
        result = take("a,b\n" + "".join(f"{text},1\n" for text in texts))["a"]
        assert result[:].tolist() == [float(text) for text in texts]


JSON = ['{"x": 1, "x": 2}', '{"a": {"x": 1, "x": 1}}', '[{"x": 1, "y": 2, "x": 3}]']


@pytest.mark.parametrize("text", JSON)
def test_json_with_a_duplicate_key_is_refused(take, text):
    quoted = text.replace('"', '""')
    with pytest.raises(dl.InvalidValueError, match="an object has the key 'x' twice"):
        take(f'j,b\n"{quoted}",1\n', schema={"j": "json"})


def test_json_items_with_a_duplicate_key_are_refused(take):
    with pytest.raises(dl.InvalidValueError, match="must be a list of items"):
        take('j,b\n"[{""x"":1,""x"":2}]",1\n', schema={"j": dl.Sequence("json")})
