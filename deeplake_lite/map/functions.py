"""The identity of a user's function: its name, a digest of its source, and package versions.

A job is only resumed with the function with which it began. A function counts as the same if its
source, its defaults, and the numbers and strings that it captures are the same.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import textwrap
from dataclasses import dataclass
from importlib import metadata
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ALWAYS = ("deeplake_lite", "numpy")
"""Packages whose versions are always recorded."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True)
class Identity:
    """The identity of a function, as the record of a job lists it."""

    name: str
    """Qualified name."""
    module: str
    """Module in which the function is defined; ``__main__`` in a notebook."""
    digest: str
    """Digest of the source, in hexadecimal digits."""
    packages: Mapping[str, str]
    """Maps the packages that the function uses to their versions."""

    @classmethod
    def of(cls, function: object) -> Identity:
        """Return the identity of a function, a method or a callable object.

        >>> def double(batch):
        ...     return batch["x"] * 2
        >>> Identity.of(double).name, Identity.of(double) == Identity.of(double)
        ('double', True)
        """
        named = _named(function)
        name = getattr(named, "__qualname__", type(function).__qualname__)
        text = "\n".join(_lines(function))
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
        module = str(getattr(named, "__module__", None) or "")
        packages = {p: v for p in sorted(_packages(named, module)) if (v := _version(p))}
        return cls(str(name), module, digest, packages)


def _named(function: object) -> Any:
    """Return the function inside a partial application, or the class of a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return inspect.unwrap(function)
    return type(function)


def _lines(function: object) -> Iterator[str]:
    """Yield the texts by which two functions are compared."""
    while isinstance(function, functools.partial):
        yield f"partial {_plain(function.args)} {_plain(function.keywords)}"
        function = function.func
    named = _named(function)
    try:
        yield textwrap.dedent(inspect.getsource(named))
    except (OSError, TypeError):  # no source file, as for functions from standard input
        yield _code_text(getattr(named, "__code__", None)) or repr(getattr(named, "__name__", ""))
    if named is not function and not inspect.isroutine(function):
        yield _plain(getattr(function, "__dict__", {}))
    bound = getattr(function, "__self__", None)
    if bound is not None and not isinstance(bound, ModuleType):
        yield _plain(getattr(bound, "__dict__", {}))
    yield _plain(getattr(named, "__defaults__", None))
    yield _plain(getattr(named, "__kwdefaults__", None))
    for cell in getattr(named, "__closure__", None) or ():
        try:
            # A captured list or dict may be one that the function itself changes.
            yield _plain(cell.cell_contents, (tuple,))
        except ValueError:  # the variable has not been set yet
            yield "unset"


def _plain(
    value: object, containers: tuple[type, ...] = (tuple, list, dict), depth: int = 4
) -> str:
    """Return a text for a number, a string or a container of them; otherwise, only the type."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if depth and isinstance(value, containers):
        if isinstance(value, dict):
            items = [(_plain(k, (), 0), _plain(v, containers, depth - 1)) for k, v in value.items()]
            return f"{{{', '.join(f'{k}: {v}' for k, v in items)}}}"
        assert isinstance(value, tuple | list)
        return f"[{', '.join(_plain(item, containers, depth - 1) for item in value)}]"
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _code_text(code: CodeType | None) -> str:
    if code is None:
        return ""
    inner = [_code_text(c) if isinstance(c, CodeType) else _plain(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {inner}"


def _packages(named: Any, module: str) -> set[str]:
    """Return the names of the packages that a function refers to by a global name."""
    names = {module.partition(".")[0], *ALWAYS}
    values = getattr(named, "__globals__", {})
    for name in getattr(getattr(named, "__code__", None), "co_names", ()):
        value = values.get(name)
        home = value.__name__ if isinstance(value, ModuleType) else None
        home = home or getattr(value, "__module__", None)
        if isinstance(home, str):
            names.add(home.partition(".")[0])
    return names - sys.stdlib_module_names - {"__main__", "__mp_main__", "builtins", ""}


def _version(package: str) -> str | None:
    """Return the version of an imported package, or None if it has none."""
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return metadata.version(package.replace("_", "-"))
    except (metadata.PackageNotFoundError, ValueError):
        return None
