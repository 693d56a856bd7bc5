"""The random generators that a user's function holds, and how each sample gets its own numbers.

Transforms of libraries keep a generator of their own and draw from it, sample after sample. Which
sample gets which numbers then depends on which thread comes first. So these generators are seeded
before every call. Threads call copies of an object; what cannot be copied, such as a closure, is
called by one thread at a time.
"""

from __future__ import annotations

import copy
import functools
import inspect
import random
import sys
import sysconfig
import threading
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.loader.order.order import mix64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_OBJECTS = 10_000
"""Objects that a function is searched through for generators."""


class Source(Protocol):
    """A generator, whatever its library."""

    def seed(self, number: int) -> None:
        """Begin the numbers that belong to a seed."""

    def state(self) -> Any:
        """Return where it is."""

    def restore(self, state: Any) -> None:
        """Go back to where it was."""


class _OfNumpy:
    def __init__(self, bits: np.random.BitGenerator) -> None:
        self._bits = bits

    def seed(self, number: int) -> None:
        self._bits.state = type(self._bits)(number).state

    def state(self) -> Any:
        return self._bits.state

    def restore(self, state: Any) -> None:
        self._bits.state = state


class _OfPython:
    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def seed(self, number: int) -> None:
        self._generator.seed(number)

    def state(self) -> Any:
        return self._generator.getstate()

    def restore(self, state: Any) -> None:
        self._generator.setstate(state)


class _OfTorch:
    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def seed(self, number: int) -> None:
        self._generator.manual_seed(number % 2**63)

    def state(self) -> Any:
        return self._generator.get_state()

    def restore(self, state: Any) -> None:
        self._generator.set_state(state)


class OwnGenerators:
    """Calls a function with the generators that it holds seeded for each call.

    Parameters
    ----------
    function : callable
        Of a user.

    Examples
    --------
    >>> class Noise:
    ...     def __init__(self):
    ...         self.rng = np.random.default_rng()
    ...     def __call__(self, x):
    ...         return x + self.rng.random()
    >>> noise = OwnGenerators(Noise())
    >>> noise(7, epoch=0, value=1.0) == noise(7, epoch=0, value=1.0) != noise(8, epoch=0, value=1.0)
    True
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._sources, self._leaves = _found(function)
        self._copies = threading.local()
        self._lock = threading.Lock()

    def __call__(self, seed: int, epoch: int, value: Any, **rng: Any) -> Any:
        """Return what the function makes of a value, its generators seeded; copied each epoch."""
        if not self._sources:
            return self._function(value, **rng)
        function, sources = self._copied(epoch)
        if function is not self._function:
            _seed(sources, seed)
            return function(value, **rng)
        with self._lock:
            before = [source.state() for source in sources]
            try:
                _seed(sources, seed)
                return function(value, **rng)
            finally:
                for source, state in zip(sources, before, strict=True):
                    source.restore(state)

    def _copied(self, epoch: int) -> tuple[Callable[..., Any], list[Source]]:
        """Return this thread's copy of the function; the function itself where that shares any."""
        kept = getattr(self._copies, "kept", None)
        if kept is None or kept[0] != epoch:
            own = {id(bits) for bits in _generators(self._function)}
            try:
                copied = copy.deepcopy(self._function, {id(leaf): leaf for leaf in self._leaves})
            except Exception:  # whatever an object of a user raises that is not to be copied
                copied = self._function
            found = list(_generators(copied))
            if len(found) != len(own) or own & {id(bits) for bits in found}:
                kept = epoch, self._function, self._sources
            else:
                kept = epoch, copied, _found(copied)[0]
            self._copies.kept = kept
        return kept[1], kept[2]


def _seed(sources: list[Source], seed: int) -> None:
    for number, source in enumerate(sources):
        source.seed(mix64(seed, number))


def _found(function: Any) -> tuple[list[Source], list[Any]]:
    """Return the generators of a function, and arrays that need no copy, in a fixed order."""
    leaves = [value for value in _reachable(function) if isinstance(value, np.ndarray)]
    return [_source(value) for value in _generators(function)], leaves


def _source(value: Any) -> Source:
    if isinstance(value, np.random.BitGenerator):
        return _OfNumpy(value)
    return _OfPython(value) if isinstance(value, random.Random) else _OfTorch(value)


def _generators(function: Any) -> Iterator[Any]:
    """Yield the generators that a function holds, each once: NumPy's as their bit generators."""
    torch, seen = sys.modules.get("torch"), set[int]()
    own = {id(np.random.mtrand._rand._bit_generator)}
    for value in _reachable(function):
        found = value
        if isinstance(value, np.random.Generator):
            found = value.bit_generator
        elif isinstance(value, np.random.RandomState):
            found = value._bit_generator
        elif torch is not None and isinstance(value, torch.Generator):
            if value is torch.default_generator or value.device.type != "cpu":
                continue
        elif not isinstance(value, random.Random | np.random.BitGenerator):
            continue
        if id(found) not in seen and id(found) not in own:
            seen.add(id(found))
            yield found


def _reachable(function: Any) -> Iterator[Any]:
    """Yield objects that a function holds, itself first, nearest first."""
    queue, seen = [function], set[int]()
    for value in queue:
        if id(value) in seen or len(seen) > MOST_OBJECTS:
            continue
        seen.add(id(value))
        yield value
        queue += _held(value)


def _held(value: Any) -> list[Any]:
    """Return what an object holds: attributes, items, what functions close over, and name."""
    if isinstance(value, str | bytes | int | float | np.ndarray | type | ModuleType):
        return []
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if inspect.ismethod(value):
        return [value.__self__, value.__func__]
    if inspect.isfunction(value):
        return _of_function(value)
    slots = [n for kind in type(value).__mro__ for n in getattr(kind, "__slots__", ())]
    there = [getattr(value, n, None) for n in slots if isinstance(n, str)]
    return [*getattr(value, "__dict__", {}).values(), *there, *_of_class(type(value))]


def _of_class(kind: type) -> list[Any]:
    """Return attributes and methods of a user's class."""
    return [v for k in kind.__mro__ if _is_users(k.__module__) for v in vars(k).values()]


def _of_function(function: Any) -> list[Any]:
    """Return what a function closes over, its defaults, and what it names if it is a user's."""
    cells = [c.cell_contents for c in function.__closure__ or () if _is_full(c)]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    wrapped = list(vars(function).values())
    named = _named(function) if _is_users(function.__module__) else []
    return [*cells, *defaults, *wrapped, *named]


def _named(function: Any) -> list[Any]:
    """Return the global objects that a function names, also those in modules of the user's."""
    names, found = _names(function.__code__), []
    for value in (function.__globals__.get(name) for name in names):
        if isinstance(value, ModuleType):
            is_users = _is_users(value.__name__)
            found += [vars(value)[name] for name in names if is_users and name in vars(value)]
        elif not type(value).__module__.startswith("deeplake_lite."):  # a lake has no transforms
            found.append(value)
    return found


def _names(code: CodeType) -> list[str]:
    """Return the names in code and in the functions within it."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return [*code.co_names, *inner]


def _is_users(module: str | None) -> bool:
    """Tell whether a module is none of Python's and of the packages that are installed.

    >>> _is_users("__main__"), _is_users("random"), _is_users("numpy")
    (True, False, False)
    """
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top != "deeplake_lite" and not file.startswith(_INSTALLED)


_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
"""Folders of packages."""


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # of a name that has no value yet
        return False
