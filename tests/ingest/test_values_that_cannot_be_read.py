"""Values of Arrow that become no Python object are reported with their row and their column."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

MAPS = pa.array([[("a", 1)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
COLUMNS = {
    "map": MAPS,
    "list of maps": pa.array([[], [[("a", 1), ("a", 2)]]], pa.list_(MAPS.type)),
    "map with lists as keys": pa.array([[], [([1], 2)]], pa.map_(pa.list_(pa.int64()), pa.int64())),
}


def parquet(column, url, folder):
    path = folder / "m.parquet"
    pq.write_table(pa.table({"x": [1, 2], "j": column}), path, row_group_size=1)
    return dl.from_parquet(path, url)


WAYS = {
    "from_parquet": parquet,
    "from_dataframe": lambda c, url, _: dl.from_dataframe(pa.table({"x": [1, 2], "j": c}), url),
    "from_arrays": lambda c, url, _: dl.from_arrays({"x": [1, 2], "j": c}, url),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_row_and_column_are_named(way, kind, new_url, tmp_path):
    with pytest.raises(dl.InvalidValueError, match=r"row 1: .*the keys of a map") as caught:
        WAYS[way](COLUMNS[kind], new_url(), tmp_path)
    assert caught.value.column == "j"
    assert str(caught.value).startswith("column 'j': ")
