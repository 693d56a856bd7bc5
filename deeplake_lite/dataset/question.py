"""A query as something that can be kept and asked again: its words, its values, what it read.

A ranking by suspicion is such a question, too. Views of a result carry the `Question` behind it. It
goes with them when they are pickled, and into the document of a saved view.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset import upward

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View

type Params = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Question:
    """A query with all that its answer depends on."""

    text: str
    """The SELECT; of a ranking, a few words."""
    params: Params = ()
    """Values of ``?`` in order, or of ``$name``; what a ranking is by."""
    seed: int | None = None
    """The seed that was drawn, if one was."""
    asked: View | None = None
    """The view that it was asked of, as it was then."""
    sources: Mapping[tuple[str, str | None], View] = field(default_factory=dict)
    """What FROM named, by name and VERSION, as it was then."""
    kind: Literal["query", "suspects"] = "query"
    """Who answers: the query engine, or the review of labels."""
    repeatable: bool = field(init=False, default=True)
    """Whether the same words give the same values in any process. They may not where functions of
    the user's were registered when it was asked: code, globals and chance are theirs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", _own(self.params))
        if self.kind == "query":
            object.__setattr__(self, "repeatable", not upward.has_own_functions())

    def ask(self) -> View:
        """Return the answer, the same as it was."""
        return upward.ask(self)


def _own(value: Any) -> Any:
    """Return values that stay as they were, whatever their owner writes into them later."""
    match value:
        case np.ndarray():
            kept = value.copy()
            kept.flags.writeable = False
            return kept
        case dict():
            return {name: _own(part) for name, part in value.items()}
        case list():
            return [_own(part) for part in value]
        case _:
            return value


def params_to_json(params: Params) -> Any:
    """Return a query's values as JSON; arrays are base64 of their bytes, little-endian.

    >>> params_to_json([1, dt.date(2026, 1, 31), np.array([1, 2], "uint8")])
    [1, {'date': '2026-01-31'}, {'array': 'AQI=', 'dtype': 'uint8', 'shape': [2]}]
    """
    if isinstance(params, Mapping):
        return {name: _to_json(value) for name, value in params.items()}
    return [_to_json(value) for value in params]


def params_from_json(document: Any) -> Params:
    """Return the values of a query.

    >>> params_from_json(params_to_json({"since": dt.datetime(2026, 1, 31, 12), "k": (1, 2)}))
    {'since': datetime.datetime(2026, 1, 31, 12, 0), 'k': [1, 2]}
    """
    if isinstance(document, Mapping):
        return {name: _from_json(value) for name, value in document.items()}
    return [_from_json(value) for value in document]


def _to_json(value: Any) -> Any:
    match value:
        case np.ndarray():
            plain = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            data = base64.b64encode(plain.tobytes()).decode()
            return {"array": data, "dtype": value.dtype.name, "shape": list(value.shape)}
        case np.datetime64():
            item = value.item()  # a number where it is finer than Python's
            fits = isinstance(item, dt.date)
            return _to_json(item if fits else value.astype("datetime64[us]").item())
        case np.generic():
            return _to_json(value.item())
        case float() if not np.isfinite(value):
            return {"float": str(value)}
        case dt.datetime():
            return {"datetime": value.isoformat()}
        case dt.date():
            return {"date": value.isoformat()}
        case dt.timedelta():
            return {"microseconds": value // dt.timedelta(microseconds=1)}
        case list() | tuple():
            return [_to_json(part) for part in value]
        case _:
            return value


def _from_json(value: Any) -> Any:
    match value:
        case {"array": data, "dtype": dtype, "shape": shape}:
            plain = np.dtype(dtype).newbyteorder("<")
            return np.frombuffer(base64.b64decode(data), plain).reshape(shape).astype(dtype)
        case {"float": text}:
            return float(text)
        case {"datetime": text}:
            return dt.datetime.fromisoformat(text)
        case {"date": text}:
            return dt.date.fromisoformat(text)
        case {"microseconds": count}:
            return dt.timedelta(microseconds=count)
        case list():
            return [_from_json(part) for part in value]
        case _:
            return value
