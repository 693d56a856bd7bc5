"""The command that benchmarks loading: its table, JSON output and errors."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import deeplake_lite as dl
from deeplake_lite.cli import app

runner = CliRunner()


def run(*args, code=0):
    """Run the command and return its stdout."""
    done = runner.invoke(app, ["bench", *[str(a) for a in args]])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout if code == 0 else done.output


@pytest.fixture
def lake(make_lake):
    pixels = np.random.default_rng(0).integers(0, 256, (100, 16, 16, 3), np.uint8)
    return make_lake(
        {
            "image": dl.Image("jpeg"),
            "odd": dl.Image("png"),
            "label": "int32",
            "name": dl.Text(nullable=True),
        },
        image=list(pixels),
        odd=[p[: 4 + i % 3] for i, p in enumerate(pixels)],
        label=range(100),
        name=["abc", None] * 50,
    )


def test_table_shows_the_epochs_next_to_the_decode_limit(lake):
    lines = run(lake.url, "--shuffle").splitlines()
    assert lines[0].startswith("Loader memory://")
    assert "100 rows in 2 batches of 64" in lines[0]
    lines_of_limit = [line for line in lines if "of the decode limit" in line]
    assert [line.split("  ")[1] for line in lines_of_limit] == [
        "epoch 0",
        "epoch 1",
        "decode limit",
    ]
    assert "100% of the decode limit" in lines_of_limit[-1]
    assert any(line.strip().startswith("waiting for you") for line in lines)


def test_bottleneck_is_printed_as_a_sentence(lake):
    loaded = run(lake.url, "--epochs", 1)
    starts = ("Reading", "Decoding", "Collating", "Handing", "Your training")
    assert any(line.startswith(starts) for line in loaded.splitlines())


def test_json_is_one_document(lake):
    document = json.loads(run(lake.url, "--json", "-b", 10, "--columns", "image, label"))
    assert document["url"] == lake.url
    assert document["columns"] == ["image", "label"]
    assert document["stats"]["samples"] == 200
    assert document["stats"]["batches"] == 20
    assert document["decode_limit"] > 0
    first, second = document["of_decode_limit"]
    epochs = document["stats"]["epochs"]
    assert first == epochs[0]["samples_per_second"] / document["decode_limit"]
    assert second > 0
    assert document["bottleneck"] in (
        "read", "decode", "transform", "collate", "hand_over", "training",
    )  # fmt: skip
    assert document["explain"].endswith(".")


def test_query_selects_the_loaded_rows(lake):
    text = run(lake.url, "--query", "SELECT label WHERE label < 10", "--num-workers", 0)
    assert "10 rows in 1 batches" in text
    assert "columns  label" in text
    assert "1 thread, rows in memory" in text


def test_old_version_is_loaded(lake):
    lake.tag("v1")
    lake.delete(range(50))
    lake.commit("fewer")
    assert "100 rows" in run(lake.url, "--version", "v1", "--epochs", 1)
    assert "50 rows" in run(lake.url, "--epochs", 1)


def test_view_without_rows_is_refused(lake):
    text = run(lake.url, "--query", "SELECT * WHERE FALSE", code=2)
    assert "bench needs rows to load, but the view is empty" in text


def test_unknown_column_is_refused(lake):
    assert "labels" in run(lake.url, "--columns", "labels", code=2)
    document = json.loads(run(lake.url, "--columns", "x", "--json", code=2).splitlines()[0])
    assert "x" in document["error"]


def test_decode_limit_decodes_all_rows_in_each_thread(lake):
    limit = lake.batches(30, num_workers=3).decode_limit(seconds=0)
    assert limit.threads == 3
    assert 3 * 10 <= limit.samples <= 3 * 30
    assert limit.samples_per_second == limit.samples / limit.seconds
