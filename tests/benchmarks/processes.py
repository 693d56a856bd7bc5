"""Start worker processes, singly or several at the same moment."""

import json
import subprocess
import sys
import time
from pathlib import Path

from .harness import Figures

FOLDER = Path(__file__).parent
WORKER, LOADER_WORKER, STORE_WORKER = "worker", "loader_worker", "store_worker"
MAP_WORKER = "map_worker"


def in_fresh_process(task: str, *arguments: object, worker: str = WORKER) -> Figures:
    return together([(task, *arguments)], worker)[0]


def together(tasks: list[tuple[object, ...]], worker: str = WORKER) -> list[Figures]:
    """Run each task in a worker, all started at the same moment; return their figures in order."""
    workers = [start(worker, *task) for task in tasks]
    try:
        for worker in workers:
            expect_ready(worker)
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [json.loads(finish(worker)) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def start(worker: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"{FOLDER.name}.{worker}", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, cwd=FOLDER.parent, text=True, **pipes)


def expect_ready(worker: subprocess.Popen[str]) -> None:
    if worker.stdout.readline().strip() != "ready":
        raise RuntimeError(f"The worker {worker.args} ended before it was ready; see its stderr.")


def finish(worker: subprocess.Popen[str]) -> str:
    output = worker.stdout.read()
    if worker.wait(600):
        raise RuntimeError(f"The worker {worker.args} failed; see its stderr.")
    return output.splitlines()[-1]  # LitData prints lines of its own before it


def import_seconds(statement: str) -> float:
    """Return the wall time of a fresh interpreter that runs one statement."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin
