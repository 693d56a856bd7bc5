"""The options that choose where work runs."""

from __future__ import annotations

from typing import Annotated

import typer

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError

Processes = Annotated[
    int | None, typer.Option(min=1, help="Number of processes. By default, one with threads.")
]

Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
]


def executor_of(processes: int | None, scheduler: str | None) -> object:
    """Return the number of processes, a client of a Dask scheduler, or None.

    Raises InvalidValueError if both are given, and MissingPackageError without Dask.
    """
    if processes is not None and scheduler is not None:
        raise InvalidValueError("--processes and --scheduler cannot be combined. Omit one of them.")
    if scheduler is None:
        return processes
    return checks.package("distributed", "dask", "--scheduler").Client(scheduler)
