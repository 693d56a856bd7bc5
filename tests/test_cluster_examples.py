"""The manifests in examples/cluster are valid, and their commands run a job on this machine."""

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import numpy as np
import pytest
import typer
import yaml
from distributed.cli.dask_scheduler import main as scheduler_command
from distributed.cli.dask_worker import main as worker_command

import deeplake_lite as dl
from deeplake_lite.cli import app

FOLDER = Path(__file__).parent.parent / "examples" / "cluster"
MANIFEST = list(yaml.safe_load_all((FOLDER / "dask-kubernetes.yaml").read_text()))
SCRIPT = (FOLDER / "map.sbatch").read_text()

SBATCH_OPTIONS = {
    "cpus-per-task": r"\d+",
    "job-name": r"\w+",
    "mem": r"\d+[KMGT]?",
    "nodes": r"\d+(-\d+)?",
    "ntasks-per-node": r"\d+",
    "open-mode": "append|truncate",
    "output": r"[\w.%-]+",
    "requeue": "",
    "time": r"(\d+-)?\d+(:\d\d){0,2}",
}
"""Options of sbatch and patterns of their values, from https://slurm.schedmd.com/sbatch.html."""

COMMANDS = {
    ("dask", "scheduler"): scheduler_command,
    ("dask", "worker"): worker_command,
    ("deeplake-lite", "map"): typer.main.get_command(app).commands["map"],
}


def commands_of_pods():
    """Return a dict from the name of a container to its last command, as a list of words."""
    found = {}
    for document in MANIFEST:
        for container in document["spec"].get("template", {}).get("spec", {}).get("containers", ()):
            assert container["command"] == ["sh", "-c"]
            [text] = container["args"]
            install, last = text.split(" && ")
            assert shlex.split(install) == ["pip", "install", "--quiet", "deeplake-lite[dask]"]
            assert last.startswith("exec ")
            found[container["name"]] = shlex.split(last)[1:]
    return found


def commands_of_script():
    """Return the commands of the script for SLURM, as lists of words."""
    lines = re.sub(r"\\\n", "", SCRIPT).splitlines()
    words = [shlex.split(line.removesuffix(" &").removeprefix("srun ")) for line in lines]
    return [w for w in words if tuple(w[:2]) in COMMANDS]


@pytest.mark.parametrize("document", MANIFEST, ids=lambda d: f"{d['kind']}-{d['metadata']['name']}")
def test_manifests_follow_the_schema_of_kubernetes(document):
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(document, version, strict=True)


def test_an_unknown_key_of_a_manifest_is_found():
    document = {**MANIFEST[0], "specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_pods_refer_to_each_other_by_their_names():
    [service] = [d for d in MANIFEST if d["kind"] == "Service"]
    pods = {d["metadata"]["name"]: d["spec"]["template"] for d in MANIFEST if d != service}
    assert service["spec"]["selector"] == pods["dask-scheduler"]["metadata"]["labels"]
    for document in MANIFEST:
        if document["kind"] == "Deployment":
            labels = document["spec"]["template"]["metadata"]["labels"]
            assert document["spec"]["selector"]["matchLabels"] == labels
    [port] = service["spec"]["ports"]
    address = f"tcp://{service['metadata']['name']}:{port['port']}"
    commands = commands_of_pods()
    assert str(port["targetPort"]) in commands["scheduler"]
    assert address in commands["worker"]
    assert address in commands["driver"]


def test_every_option_for_sbatch_is_known():
    options = re.findall(r"^#SBATCH (.*)$", SCRIPT, re.MULTILINE)
    assert len(options) == len(re.findall("#SBATCH", SCRIPT)) > 5
    for option in options:
        name, _, value = option.removeprefix("--").partition("=")
        assert re.fullmatch(SBATCH_OPTIONS[name], value), option
    # sbatch reads no options after the first command
    assert SCRIPT.rindex("#SBATCH") < SCRIPT.index("set -euo pipefail")


def test_the_script_for_slurm_is_valid_bash():
    done = subprocess.run(["bash", "-n"], input=SCRIPT, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def parse(command, arguments):
    """Parse arguments without running the command. Raises NoSuchOption."""
    command.make_context("command", list(arguments))


@pytest.mark.parametrize(
    "words", [*commands_of_pods().values(), *commands_of_script()], ids=" ".join
)
def test_commands_have_valid_options(words):
    command = COMMANDS[tuple(words[:2])]
    values = {"$SLURM_CPUS_PER_TASK": "4", "$port": "8786", "${TMPDIR:-/tmp}": "/tmp"}
    arguments = [values.get(word, word) for word in words[2:]]
    parse(command, arguments)
    with pytest.raises(Exception, match="No such option"):
        parse(command, [*arguments, "--no-such-option"])


# ---- running the commands


@pytest.fixture
def photos(tmp_path):
    """Return the URL of a lake of images, in a folder that has the function."""
    for path in FOLDER.glob("*.py"):
        shutil.copy(path, tmp_path)
    ds = dl.create(str(tmp_path / "photos.lake"), {"image": dl.Image("png")})
    rng = np.random.default_rng(0)
    sizes = [(20, 30, 3), (8, 8, 3), (3, 5, 3), (40, 9), (16, 16, 4)] * 8
    ds.append({"image": [rng.integers(0, 256, size, np.uint8) for size in sizes]})
    ds.commit("photos")
    return ds.url


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def environment(folder):
    """Return variables with which subprocesses find commands of this environment, and embed.py."""
    package = str(Path(dl.__file__).parents[1])
    bin_folder = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(folder / "bin"), bin_folder, os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(folder), package]),
    }


def check(url):
    """Check that the lake has the vectors that the function returns in this process."""
    sys.path.insert(0, str(FOLDER))
    try:
        import embed
    finally:
        sys.path.remove(str(FOLDER))
    ds = dl.open(url)
    expected = embed.embed({"image": list(ds["image"])}, embed.load())
    np.testing.assert_allclose(ds["embedding"][:], expected, rtol=1e-5, atol=1e-6)
    assert [job.phase for job in dl.jobs(url)] == ["finished"]
    assert ds.lineage("embedding").executor == "distributed.client.Client"


def test_the_commands_of_the_pods_run_a_job(tmp_path, photos, port):
    values = {
        "8786": str(port),
        "tcp://dask-scheduler:8786": f"tcp://127.0.0.1:{port}",
        "s3://my-bucket/photos.lake": photos,
    }
    commands = {
        name: [values.get(word, word) for word in words]
        for name, words in commands_of_pods().items()
    }
    commands["scheduler"] += ["--host", "127.0.0.1"]
    workers = commands["worker"]
    workers[workers.index("--nworkers") + 1] = "1"
    with contextlib.ExitStack() as running:
        for name in ("scheduler", "worker"):
            process = subprocess.Popen(
                commands[name], cwd=tmp_path, env=environment(tmp_path), stderr=subprocess.DEVNULL
            )
            running.callback(process.wait)
            running.callback(process.terminate)
        done = subprocess.run(
            commands["driver"], cwd=tmp_path, env=environment(tmp_path), text=True,
            capture_output=True, timeout=1_800, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("40 rows in ")
    check(photos)


def test_the_script_for_slurm_runs_a_job(tmp_path, photos, port):
    """`srun` runs a command once, and the host has the name of this machine."""
    (tmp_path / "bin").mkdir()
    for name, body in (("srun", 'exec "$@"'), ("hostname", "echo 127.0.0.1")):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    variables = {**environment(tmp_path), "SLURM_CPUS_PER_TASK": "1", "PORT": str(port)}
    done = subprocess.run(
        ["bash", str(FOLDER / "map.sbatch"), photos], cwd=tmp_path, env=variables, text=True,
        capture_output=True, timeout=1_800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "40 rows in " in done.stdout
    check(photos)
    with pytest.raises(OSError, match="refused"):  # the scheduler has ended with the script
        socket.create_connection(("127.0.0.1", port))
