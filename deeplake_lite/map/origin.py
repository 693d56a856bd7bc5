"""The origin of a column: the job that filled it, and the jobs that filled the job's inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_STEPS = 100
"""Maximum number of steps from one origin to the next that are read from a record."""


@dataclass(frozen=True)
class Origin:
    """The job that last filled a column."""

    column: str
    """Name of the column."""
    version: str
    """Id of the commit with the results."""
    time: datetime
    """Time of this commit, in UTC."""
    job: str
    """Name of the job."""
    input_version: str
    """The version that the function read."""
    lake: str | None
    """URL of the lake that the function read, without credentials, or None if it read the lake that
    has the column."""
    inputs: Mapping[str, Origin | None]
    """Maps the columns that the function read to their own origins, or to None if no job filled
    them."""
    function: str
    """Qualified name of the function."""
    module: str
    """Module of the function; ``__main__`` in a notebook."""
    source: str
    """Digest of the function's source."""
    parameters: Mapping[str, Any]
    """The parameters ``where``, ``batch``, ``on_error`` and ``update``."""
    packages: Mapping[str, str]
    """Maps packages that the function uses to their versions."""
    executor: str
    """Kind of the executor."""
    seconds: float
    """Duration of the run that finished the job, in seconds."""
    rows: int
    """Number of rows with results in this commit."""
    skipped: int
    """Number of rows that were skipped because of errors."""
    skipped_rows: Mapping[int, str] = field(default_factory=dict, repr=False)
    """Maps ids of skipped rows to their errors. At most 1,000 skipped rows are recorded."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, indent: str = "") -> list[str]:
        """Return a line for this job, followed by indented lines for the jobs before it."""
        digest = f" ({self.source[:8]})" if self.source else ""
        lake = "" if self.lake is None else f" of {self.lake}"
        inputs = ", ".join(self.inputs) or "a query"
        first = (
            f"{indent}{self.column}: {self.module}.{self.function}{digest} of "
            f"{inputs} in version {self.input_version}{lake}, "
            f"{self.rows:,} rows, {self.time:%Y-%m-%d %H:%M}"
        )
        lines = [first]
        for origin in self.inputs.values():
            lines += [] if origin is None else origin.lines(f"{indent}  ")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object for the records of copies. It leaves out the skipped rows.

        >>> from datetime import UTC
        >>> o = Origin(
        ...     column="y", version="B", time=datetime(2026, 1, 2, tzinfo=UTC), job="double-y",
        ...     input_version="A", lake=None, inputs={"x": None}, function="double", module="clips",
        ...     source="4f2a", parameters={"where": None}, packages={"numpy": "2.3.0"},
        ...     executor="threads", seconds=1.5, rows=10, skipped=0,
        ... )
        >>> Origin.from_json(o.to_json()) == o
        True
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "skipped_rows"}
        inputs = {n: o if o is None else o.to_json() for n, o in self.inputs.items()}
        return {**plain, "time": self.time.isoformat(), "inputs": inputs}

    @classmethod
    def from_json(cls, value: Any, steps: int = MOST_STEPS) -> Origin | None:
        """Return an origin from its JSON object, or None if the object is not an origin.

        The object may come from a file that others have written. Origins after `steps` steps are
        left out.
        """
        if not steps:
            return None
        match value:
            case {
                "column": str(column),
                "version": str(version),
                "time": str(text),
                "job": str(job),
                "input_version": str(input_version),
                "lake": None | str() as lake,
                "inputs": dict(inputs),
                "function": str(function),
                "module": str(module),
                "source": str(source),
                "parameters": dict(parameters),
                "packages": dict(packages),
                "executor": str(executor),
                "seconds": int() | float() as seconds,
                "rows": int(rows),
                "skipped": int(skipped),
            } if (time := _parse_time(text)) is not None:
                return cls(
                    column=column,
                    version=version,
                    time=time,
                    job=job,
                    input_version=input_version,
                    lake=lake,
                    inputs={str(n): cls.from_json(o, steps - 1) for n, o in inputs.items()},
                    function=function,
                    module=module,
                    source=source,
                    parameters=parameters,
                    packages=packages,
                    executor=executor,
                    seconds=float(seconds),
                    rows=rows,
                    skipped=skipped,
                )
        return None


def _parse_time(text: str) -> datetime | None:
    """Return the time in a record, or None if it is not one."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
