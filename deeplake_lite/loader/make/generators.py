"""Functions that find the random generators of a user's function, and seed each generator.

Transforms of many libraries draw the random numbers for all samples from one generator, so the
numbers for a sample would depend on the order in which threads run. Therefore, the generator is
seeded before every call. Each thread calls its own copy of the function object. Closures and other
functions that cannot be copied are called by one thread at a time.
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

    import torch
    from numpy.typing import NDArray

MAX_OBJECTS = 10_000
"""Maximum number of objects that are searched for generators, per function."""


class Source[S](Protocol):
    """A random generator of any library."""

    def seed(self, number: int) -> None:
        """Seed the generator."""

    def state(self) -> S:
        """Return the state of the generator."""

    def restore(self, state: S) -> None:
        """Set the state of the generator."""


class _NumpySource:
    def __init__(self, bits: np.random.BitGenerator) -> None:
        self._bits = bits

    def seed(self, number: int) -> None:
        self._bits.state = type(self._bits)(number).state

    def state(self) -> Mapping[str, object]:
        return self._bits.state

    def restore(self, state: Mapping[str, object]) -> None:
        self._bits.state = state


class _PythonSource:
    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def seed(self, number: int) -> None:
        self._generator.seed(number)

    def state(self) -> tuple[object, ...]:
        return self._generator.getstate()

    def restore(self, state: tuple[object, ...]) -> None:
        self._generator.setstate(state)


class _TorchSource:
    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator

    def seed(self, number: int) -> None:
        self._generator.manual_seed(number % 2**63)

    def state(self) -> torch.Tensor:
        return self._generator.get_state()

    def restore(self, state: torch.Tensor) -> None:
        self._generator.set_state(state)


class OwnGenerators:
    """Calls a function after seeding the random generators to which the function refers.

    Parameters
    ----------
    function : callable
        A user's function.

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

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._sources, self._leaves = _find_sources(function)
        self._copies = threading.local()
        self._lock = threading.Lock()

    @property
    def has_generators(self) -> bool:
        """Whether the function refers to random generators."""
        return bool(self._sources)

    def __call__(self, seed: int, epoch: int, value: object, **rng: object) -> object:
        """Seed the generators to which the function refers, and call the function with a value.

        The function is copied again in each epoch, so that the user's changes to it between epochs
        take effect.
        """
        if not self._sources:
            return self._function(value, **rng)
        function, sources = self._copy_of_thread(epoch)
        if function is not self._function:
            _seed(sources, seed)
            return function(value, **rng)
        with self._lock:  # threads share the generators, perhaps even with the user's own code
            before = [source.state() for source in sources]
            try:
                _seed(sources, seed)
                return function(value, **rng)
            finally:
                for source, state in zip(sources, before, strict=True):
                    source.restore(state)

    def _copy_of_thread(self, epoch: int) -> tuple[Callable[..., object], list[Source[Any]]]:
        """Return this thread's copy of the function, and the copy's generators.

        If a copy would share generators with the function itself, return the function itself.
        """
        cached = getattr(self._copies, "cached", None)
        if cached is None or cached[0] != epoch:
            originals = {id(bits) for bits in _generators(self._function)}
            try:
                copied = copy.deepcopy(self._function, {id(leaf): leaf for leaf in self._leaves})
            except Exception:  # an object that cannot be copied may raise anything
                copied = self._function
            generators = list(_generators(copied))
            # deepcopy does not copy functions and closures, so a copy may share generators.
            if len(generators) != len(originals) or originals & {id(bits) for bits in generators}:
                cached = epoch, self._function, self._sources
            else:
                cached = epoch, copied, _find_sources(copied)[0]
            self._copies.cached = cached
        return cached[1], cached[2]


def _seed(sources: list[Source[Any]], seed: int) -> None:
    for number, source in enumerate(sources):
        source.seed(mix64(seed, number))


def _find_sources(function: object) -> tuple[list[Source[Any]], list[NDArray[Any]]]:
    """Return the generators and the arrays to which a function refers, in a fixed order.

    A copy of the function can share the arrays.
    """
    leaves = [value for value in _reachable(function) if isinstance(value, np.ndarray)]
    return [_source(value) for value in _generators(function)], leaves


def _source(value: Any) -> Source[Any]:
    if isinstance(value, np.random.BitGenerator):
        return _NumpySource(value)
    return _PythonSource(value) if isinstance(value, random.Random) else _TorchSource(value)


def _generators(function: object) -> Iterator[object]:
    """Yield each random generator to which a function refers, without repetition.

    For a generator of NumPy, yield its bit generator. Skip the global generators of NumPy and
    torch, and torch's generators on a GPU.
    """
    torch, seen = sys.modules.get("torch"), set[int]()
    shared = {id(np.random.get_bit_generator())}
    for value in _reachable(function):
        generator = value
        if isinstance(value, np.random.Generator):
            generator = value.bit_generator
        elif isinstance(value, np.random.RandomState):
            generator = value._bit_generator  # noqa: SLF001 # NumPy has no public name for it
        elif torch is not None and isinstance(value, torch.Generator):
            if value is torch.default_generator or value.device.type != "cpu":
                continue
        elif not isinstance(value, random.Random | np.random.BitGenerator):
            continue
        if id(generator) not in seen and id(generator) not in shared:
            seen.add(id(generator))
            yield generator


def _reachable(function: object) -> Iterator[object]:
    """Yield a function and the objects that it refers to, in breadth-first order."""
    queue, seen = [function], set[int]()
    for value in queue:
        if id(value) in seen or len(seen) > MAX_OBJECTS:
            continue
        seen.add(id(value))
        yield value
        queue += _references(value)


def _references(value: object) -> list[object]:
    """Return the objects that an object refers to by attributes, items, closures and globals."""
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
        return _references_of_function(value)
    slots = [n for kind in type(value).__mro__ for n in getattr(kind, "__slots__", ())]
    slot_values = [getattr(value, n, None) for n in slots if isinstance(n, str)]
    attributes = getattr(value, "__dict__", {}).values()
    return [*attributes, *slot_values, *_references_of_class(type(value))]


def _references_of_class(kind: type) -> list[Any]:
    """Return the attributes and methods of a class, except those from installed packages."""
    return [v for k in kind.__mro__ if _is_users(k.__module__) for v in vars(k).values()]


def _references_of_function(function: Any) -> list[object]:
    """Return the objects in a function's closure and defaults, and the globals that it uses.

    The globals of functions from installed packages are left out.
    """
    cells = [c.cell_contents for c in function.__closure__ or () if _has_value(c)]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    wrapped = list(vars(function).values())
    named = _globals_of(function) if _is_users(function.__module__) else []
    return [*cells, *defaults, *wrapped, *named]


def _globals_of(function: Any) -> list[object]:
    """Return the global objects that a function uses, including those in the user's modules."""
    names, objects = _names(function.__code__), []
    for value in (function.__globals__.get(name) for name in names):
        if isinstance(value, ModuleType):
            is_users = _is_users(value.__name__)
            objects += [vars(value)[name] for name in names if is_users and name in vars(value)]
        elif not type(value).__module__.startswith("deeplake_lite."):  # datasets have no generators
            objects.append(value)
    return objects


def _names(code: CodeType) -> list[str]:
    """Return the names in a code object and in the functions that it contains."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return [*code.co_names, *inner]


def _is_users(module: str | None) -> bool:
    """Return whether a module belongs neither to Python nor to an installed package.

    >>> _is_users("__main__"), _is_users("random"), _is_users("numpy")
    (True, False, False)
    """
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top != "deeplake_lite" and not file.startswith(_INSTALLED)


_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
"""Folders of installed packages."""


def _has_value(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # the variable has no value yet
        return False
