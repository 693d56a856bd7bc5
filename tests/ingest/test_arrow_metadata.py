"""Metadata of Arrow schemas and fields becomes the metadata of the dataset and of its columns."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

SCHEMA = pa.schema(
    [
        pa.field("t", pa.float32(), metadata={"unit": "K", "PARQUET:field_id": "7"}),
        pa.field("n", pa.int32()),
    ],
    {"license": "CC0"},
)
TABLE = pa.Table.from_pydict({"t": [1.5, 2.5], "n": [1, 2]}, SCHEMA)


def from_parquet(table, url, folder):
    pq.write_table(table, folder / "a.parquet")
    return dl.from_parquet(folder / "a.parquet", url)


WAYS = {
    "table": lambda table, url, _: dl.from_dataframe(table, url),
    "parquet": from_parquet,
}


@pytest.mark.parametrize("way", WAYS)
def test_items_of_other_programs_are_kept(way, new_url, tmp_path):
    ds = WAYS[way](TABLE, new_url(), tmp_path)
    assert ds["t"].metadata == {"unit": "K"}
    assert ds["n"].metadata == {}
    assert ds.metadata == {way: {"license": "CC0"}}


@pytest.mark.parametrize("way", WAYS)
def test_metadata_of_an_exported_lake_is_restored(way, new_url, tmp_path, make_lake):
    ds = make_lake({"x": "int32", "y": "int32"}, x=[1, 2], y=[3, 4])
    ds.metadata["about"] = {"years": [2024]}
    ds["x"].metadata.update(unit="m", range=[0, 9])
    ds.commit("metadata")
    again = WAYS[way](ds.to_arrow(), new_url(), tmp_path)
    assert again.metadata == ds.metadata
    assert again["x"].metadata == ds["x"].metadata
    assert again["y"].metadata == {}


def test_a_second_import_of_the_same_table_changes_nothing(new_url):
    url = new_url()
    first = dl.from_dataframe(TABLE, url, on="n")
    again = dl.from_dataframe(TABLE, url, on="n")
    assert again.version == first.version


def test_items_that_people_have_added_stay(new_url):
    ds = dl.from_dataframe(TABLE, url := new_url(), on="n")
    ds["t"].metadata["sensor"] = "left"
    ds.commit("noted")
    values = pa.array([3.5, 2.5], pa.float32())
    again = dl.from_dataframe(TABLE.set_column(0, TABLE.schema.field("t"), values), url, on="n")
    assert again["t"].metadata == {"unit": "K", "sensor": "left"}
    assert again["t"][:].tolist() == [3.5, 2.5]
