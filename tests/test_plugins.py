"""Column types and codecs of other packages are found by their entry points and checked."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite import codecs, plugins
from deeplake_lite.codecs._numbers import NumberCodec
from deeplake_lite.errors import NotFoundError, SchemaError
from deeplake_lite.htypes import Array, Htype, Image, Scalar

EXAMPLE = Path(__file__).parent.parent / "examples" / "signal_type"


@pytest.fixture
def run(tmp_path):
    """Run Python in a process with or without the example's package installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "installed"
    info = installed / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )

    def run(*command, with_package=True):
        paths = [str(installed), str(EXAMPLE)] if with_package else []
        own = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        done = subprocess.run(
            [sys.executable, "-W", "error", *command],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *own])},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_example_runs(run):
    out = run(str(EXAMPLE / "use_signal.py"))
    assert "slow signals: [1.5 8. ]" in out
    assert "a batch: (2, 500) float32" in out


CHECKS = """
import numpy as np
from deeplake_lite_signal import Signal
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

rows = np.arange(8, dtype="float32").reshape(2, 4)
for signal in (Signal(4), Signal(4, 250.0, nullable=True), Signal(4, default=[0, 1, 2, 3])):
    check_config(signal)
    check_encode_decode(signal, list(rows))
check_refuses(Signal(4), [1, 2, 3], "shape")
check_refuses(Signal(4), [1, 2, 3, np.nan], "must be finite")
"""


def test_foreign_type_passes_the_harness(run):
    run("-c", CHECKS)


WRITE = """
import numpy as np
import deeplake_lite as dl
from deeplake_lite_signal import Signal

ds = dl.create("a.lake", {"ecg": Signal(4, 250.0, nullable=True)})
ds.append({"ecg": [[0, 1, 0, -1], None, [3, 3, 3, 3]]})
ds.commit("signals")
"""

READ = """
import json
import numpy as np
import deeplake_lite as dl

ds = dl.open("a.lake")  # which finds the package by itself
first = ds["ecg"][0]
print(json.dumps({
    "type": repr(ds.schema["ecg"].htype),
    "first": first.tolist(),
    "null": ds["ecg"][1] is np.ma.masked or ds["ecg"][1] is None,
    "hertz": ds.query("SELECT DOMINANT_FREQUENCY(ecg, 250.0) AS f")["f"][0],
    "most": ds.query("SELECT MAX(ecg) AS m WHERE ecg IS NOT NULL")["m"][:].tolist(),
    "arrow": ds.to_arrow()["ecg"].to_pylist()[0],
    "damage": ds.verify().damaged,
}))
"""


def test_every_layer_reads_a_foreign_type(run):
    run("-c", WRITE)
    seen = json.loads(run("-c", READ))
    assert seen == {
        "type": "Signal(4, 250.0, nullable=True)",
        "first": [0, 1, 0, -1],
        "null": True,
        "hertz": 62.5,
        "most": [1, 3],
        "arrow": [0, 1, 0, -1],
        "damage": [],
    }


FRAMEWORKS = """
import sys
import deeplake_lite as dl

ds = dl.open("a.lake")[[0, 2]]
if sys.argv[1] == "torch":
    batch = next(iter(ds.pytorch(2)))["ecg"]
elif sys.argv[1] == "tensorflow":
    spec = ds.tensorflow(2).element_spec["ecg"]
    assert tuple(spec.shape)[1:] == (4,), spec
    batch = next(iter(ds.tensorflow(2)))["ecg"]
else:
    batch = next(iter(ds.jax(2)))["ecg"]
print(tuple(batch.shape), str(batch.dtype).split(".")[-1].strip("'<> "))
"""


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_loaders_of_every_framework_load_a_foreign_type(run, framework):
    run("-c", WRITE)
    assert "(2, 4)" in run("-W", "ignore", "-c", FRAMEWORKS, framework)


WITHOUT = """
import deeplake_lite as dl
try:
    dl.open("a.lake")
except dl.FormatError as error:
    print(error)
"""


def test_lake_with_an_uninstalled_type_says_so(run):
    run("-c", WRITE)
    said = run("-c", WITHOUT, with_package=False)
    assert "if the type comes from another package, install that" in said


# ---- possible mistakes in entry points


class Shifted(NumberCodec):
    """Bytes that are one more than those of the numbers."""

    name = "shifted"

    def _compress(self, array):
        return (array.reshape(-1).view("uint8") + np.uint8(1)).tobytes()

    def _claimed(self, data):
        return len(data)

    def _decompress(self, data, into):
        into[:] = np.frombuffer(data, "uint8") - np.uint8(1)


class Unnamed(Htype):
    """A type whose name differs from its entry point."""

    name = "other"


def test_foreign_codec_stores_arrays(points, tmp_path):
    url = str(tmp_path / "a.lake")
    points.append(EntryPoint("shifted", f"{__name__}:Shifted", plugins.CODECS))
    assert codecs.number_codecs()[-1] == "shifted"
    assert not codecs.is_image_codec("shifted")
    ds = dl.create(
        url, {"a": Array("int32", (None,), "shifted"), "b": Image("shifted", dtype="uint16")}
    )
    pixels = np.arange(6, dtype="uint16").reshape(2, 3)
    ds.append({"a": [[1, 2, 3]], "b": [pixels]})
    ds.commit("shifted")
    again = dl.open(url)
    assert again["a"][0].tolist() == [1, 2, 3]
    assert (again["b"][0] == pixels).all()


def test_unknown_codec_error_lists_all_names(points):
    points.append(EntryPoint("shifted", f"{__name__}:Shifted", plugins.CODECS))
    with pytest.raises(NotFoundError, match=r"There is no codec 'shift'\. Did you mean 'shifted'"):
        codecs.get("shift")
    with pytest.raises(SchemaError, match="'raw', 'zstd', 'lz4', 'blosc' or 'shifted'"):
        Array("int32", (None,), "shif")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["no_such_module:Signal"], "must be importable, but no_such_module:Signal raises"),
        ([f"{__name__}:EXAMPLE"], "must be a class derived from Htype, but it is"),
        ([f"{__name__}:Shifted"], "must be a class derived from Htype, but it is"),
        ([f"{__name__}:Unnamed"], "must have the same name, but .*:Unnamed has the name 'other'"),
        (["a:B", "c:D"], "Only one package may register 'signal'"),
    ],
)
def test_invalid_entry_points_are_refused(points, values, said):
    points.extend(EntryPoint("signal", value, plugins.HTYPES) for value in values)
    with pytest.raises(SchemaError, match=said):
        dl.Schema.build({"a": "signal"})


def test_built_in_types_cannot_be_replaced(points):
    points.append(EntryPoint("scalar", f"{__name__}:Unnamed", plugins.HTYPES))
    assert type(dl.Schema.build({"a": "int32"})["a"].htype) is Scalar


def test_names_of_foreign_types_are_suggested(points):
    points.append(EntryPoint("signal", "no_such_module:Signal", plugins.HTYPES))
    with pytest.raises(SchemaError, match="Did you mean 'signal'"):
        dl.Schema.build({"a": "signol"})
