"""Functions of vectors, which are the last axis of an array: products, norms and distances.

Products call BLAS without temporary arrays. Vectors of 16-bit floats are computed in 32 bits, and
vectors of integers in 64 bits. A constant vector is converted to the dtype of the column that it is
compared with.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import (
    Axis,
    align,
    as_int64,
    axes,
    numbers,
    result_of,
    widen,
)
from deeplake_lite.query.functions.room import check_room
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Shape

GROUP = "Vectors"

_NEAR = 1e-2
"""If |x|² - 2xy + |y|² is less than this fraction of |x|² + |y|², it has lost two of its seven
digits. In this case, |x - y|² is computed instead."""

_FEW = 4_096
"""Products of at most this many vectors are computed one by one. BLAS rounds the product of a
matrix in a way that depends on the number of rows, which would change the order of nearly equal
vectors from one page of a search to the next."""

_BLOCK = 512
"""Number of vectors whose differences fit in the CPU's cache."""


def _working_dtype(dtype: str) -> str:
    """Return the dtype in which to compute with vectors of the given dtype."""
    return {"float16": "float32", "float32": "float32"}.get(dtype, "float64")


def _product_dtype(x: Arg, y: Arg) -> str:
    """Return the dtype of a product. If one argument is constant, the other argument decides.

    Raises ValueError for complex vectors.
    """
    for arg in (x, y):
        if np.dtype(arg.type.dtype).kind == "c":
            raise ValueError(f"vectors must be real, but {arg.text} is {arg.type.dtype}")
    if x.is_constant != y.is_constant:
        constant, other = (x, y) if x.is_constant else (y, x)
        dtype = _working_dtype(other.type.dtype)
        return dtype if _survives(np.asarray(constant.value), dtype) else "float64"
    return np.result_type(_working_dtype(x.type.dtype), _working_dtype(y.type.dtype)).name


def _survives(constant: NDArray[Any], dtype: str) -> bool:
    """Return whether finite numbers stay finite, and not all zero, when they are converted."""
    largest = float(np.abs(constant.astype(np.float64)).max(initial=0))
    limits = np.finfo(dtype)
    fits = float(limits.tiny) <= largest <= float(limits.max)
    return fits or largest == 0 or not np.isfinite(largest)


def _pair_shape(name: str, x: Arg, y: Arg) -> Shape | None:
    """Return the shape of a result that has one number for each pair of vectors.

    Raises ValueError if the vectors differ in length. Returns None if the shape is unknown.
    """
    numbers(name, x, y)
    shapes = x.type.shape, y.type.shape
    if shapes[0] is None or shapes[1] is None:
        return None
    if not shapes[0] or not shapes[1]:
        raise ValueError("the arguments must be vectors, not single numbers")
    a, b = shapes[0][-1], shapes[1][-1]
    if a is not None and b is not None and a != b:
        raise ValueError(f"vectors must have the same length, but their lengths are {a} and {b}")
    zeros = Arg(x.text, Type("bool", shapes[0][:-1])), Arg(y.text, Type("bool", shapes[1][:-1]))
    return result_of(lambda v, w, lead: np.logical_or(v, w), *zeros).shape  # noqa: ARG005


def _register_symmetric(
    name: str,
    summary: str,
    apply: Callable[[NDArray[Any], NDArray[Any], NDArray[Any] | None], Any],
    *,
    whole: bool = False,
    squares: bool = False,
    second: str = "y",
) -> None:
    """Register a function of two vectors whose order does not matter.

    Parameters
    ----------
    name : str
        Name of the function.
    summary : str
        The docstring.
    apply : callable
        Computes the results from two arrays of vectors and the squared lengths of the first ones,
        or None.
    whole : bool
        Whether the result for integers is an integer.
    squares : bool
        Whether to cache the squared lengths of the vectors in a column.
    second : str
        Name of the second argument.
    """

    def bind(x: Arg, y: Arg) -> Bound:
        shape, dtype = _pair_shape(name, x, y), _product_dtype(x, y)
        exact = _integer_dtype(x, y) if whole else None
        work = exact if exact and not _fits(x, y) else dtype

        def compute(*values: object, lead: int, auxiliary: NDArray[Any] | None = None) -> object:
            a, b = align([np.asarray(v) for v in values], (x, y), lead)
            if exact == "int64":
                pairs = zip((a, b), (x, y), strict=True)
                a, b = (as_int64(v, arg.text) if v.dtype == np.uint64 else v for v, arg in pairs)
            if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-1]:
                raise ValueError("vectors must have the same length")
            if b.ndim > a.ndim:
                a, b = b, a
            if auxiliary is not None:
                auxiliary = auxiliary.reshape(a.shape[:-1])  # `align` may have added axes to `a`
            a, b = a.astype(work, copy=False), b.astype(work, copy=False)
            result = apply(a, b, auxiliary)
            if exact and work == exact:
                _check_products(a, b, result)
            return result.astype(exact) if exact else result

        has_column = squares and x.is_constant != y.is_constant
        auxiliary = partial(_squares, dtype=work) if has_column else None
        return Bound(Type(exact or dtype, shape), compute, auxiliary=auxiliary)

    bind.__doc__ = summary
    function(f"{name}(x, {second})", group=GROUP)(bind)


def _integer_dtype(*args: Arg) -> str | None:
    """Return the dtype of a product of integers, or None if there are floats."""
    kinds = {np.dtype(arg.type.dtype).kind for arg in args}
    if not kinds <= {*"biu"}:
        return None
    if "uint64" not in [arg.type.dtype for arg in args]:
        return "int64"
    return "int64" if "i" in kinds else "uint64"


def _fits(*args: Arg) -> bool:
    """Return whether float64, in which BLAS computes, is exact for sums of products of integers."""
    return all(np.dtype(a.type.dtype).itemsize <= 2 or _is_small(a) for a in args)


def _is_small(arg: Arg) -> bool:
    return arg.is_constant and bool(np.all(np.abs(np.asarray(arg.value, np.float64)) < 1 << 16))


def _check_products(a: NDArray[Any], b: NDArray[Any], products: NDArray[Any]) -> None:
    """Raise ValueError if an inner product of integers does not fit in 64 bits."""
    largest = [max(map(abs, _ends(v))) for v in (a, b)]
    if largest[0] * largest[1] * a.shape[-1] <= np.iinfo(products.dtype).max:
        return
    approximate = _products(a.astype(np.float64), b.astype(np.float64))
    # Integers that do not fit are wrong by a multiple of 2**64, and floats by much less.
    if (np.abs(approximate - products.astype(np.float64)) > 2.0**62).any():
        raise ValueError(
            f"the products do not fit in {products.dtype}. Multiply one of the vectors by 1.0, so "
            "that they are floats"
        )


def _ends(values: NDArray[Any]) -> tuple[int, int]:
    """Return the least and greatest of some integers, or zeros if there are none."""
    return (int(values.min()), int(values.max())) if values.size else (0, 0)


def _squares(a: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return the squared lengths of vectors."""
    return np.vecdot(*[a.astype(dtype, copy=False)] * 2)


def _products(a: NDArray[Any], b: NDArray[Any], auxiliary: object = None) -> Any:  # noqa: ARG001
    """Return inner products of vectors.

    For many vectors and a single one, ``@`` calls BLAS, which uses several threads.
    """
    return a @ b if a.ndim == 2 and b.ndim == 1 and len(a) > _FEW else np.vecdot(a, b)


def _dot(a: NDArray[Any], b: NDArray[Any], auxiliary: object = None) -> Any:
    """Return inner products. Sums that overflow only on the way are computed again."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.asarray(_products(a, b, auxiliary))
        far = ~np.isfinite(products) if products.dtype.kind == "f" else np.zeros(())
        if far.any():
            shape = (*products.shape, a.shape[-1])
            x, y = (np.broadcast_to(v, shape)[far].astype(np.float64) for v in (a, b))
            scales = [_scales(v) for v in (x, y)]
            of_units = np.vecdot(x / scales[0][:, None], y / scales[1][:, None])
            products[far] = of_units * np.minimum(*scales) * np.maximum(*scales)
    return products


def _scales(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest element of each vector, (n,), or 1 if that is zero or not finite."""
    largest = np.abs(vectors).max(axis=-1, initial=0)
    return np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)


def _cosine(a: NDArray[Any], b: NDArray[Any], auxiliary: NDArray[Any] | None) -> object:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.vecdot(a, a) if auxiliary is None else auxiliary, np.vecdot(b, b)
        lengths = np.sqrt(squares[0]) * np.sqrt(squares[1])
        product = np.asarray(_products(a, b))
        lengths = lengths.astype(product.dtype, copy=False)
        ratio = np.divide(product, lengths, out=np.zeros_like(product), where=lengths != 0)
    far = _is_far(squares[0], a.dtype) | _is_far(squares[1], a.dtype)
    if far.any():  # squares overflow or lose digits, or vectors are zero or have a NaN
        shape = (*ratio.shape, a.shape[-1])
        ratio[far] = _cosine_of_any(np.broadcast_to(a, shape)[far], np.broadcast_to(b, shape)[far])
    return np.clip(ratio, -1, 1, out=ratio)


def _cosine_of_any(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosines of pairs of vectors, (n, d), even if their squares would overflow.

    Each vector is first divided by its largest element.
    """
    units = []
    for vectors in (a.astype(np.float64), b.astype(np.float64)):
        largest = np.abs(vectors).max(axis=-1, initial=0, keepdims=True)
        scaled = np.divide(vectors, largest, out=vectors, where=largest > 0)
        lengths = np.sqrt(np.vecdot(scaled, scaled))[..., None]
        units.append(np.divide(scaled, lengths, out=scaled, where=lengths != 0))
    return np.asarray(np.vecdot(*units))


def _distance(a: NDArray[Any], b: NDArray[Any], auxiliary: NDArray[Any] | None) -> object:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares, scale = _squared_distances(a, b, auxiliary)
        far = _is_far(scale, a.dtype)
        distances = np.asarray(np.sqrt(squares))
        if far.any():  # squares overflow or lose digits, or vectors are zero or have a NaN
            shape = (*distances.shape, a.shape[-1])
            x, y = (np.broadcast_to(v, shape)[far].astype(np.float64) for v in (a, b))
            scales = _scales(np.concatenate([x, y], axis=-1))
            difference = x / scales[:, None] - y / scales[:, None]
            distances[far] = np.sqrt(np.vecdot(difference, difference)) * scales
    return distances


def _is_far(squares: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Return a mask of squared lengths that overflow or lose digits, or are zero or NaN."""
    limits = np.finfo(dtype)
    is_near: NDArray[np.bool_] = (squares >= limits.tiny / limits.eps) & (squares < limits.max / 2)
    return ~is_near


def _squared_distances(
    a: NDArray[Any], b: NDArray[Any], auxiliary: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return squared distances, and numbers that are at least as large as the squares in them."""
    if a.ndim < 2 or b.ndim != 1:
        difference = a - b
        squares = np.asarray(np.vecdot(difference, difference))
        return squares, squares
    vectors = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
    lengths = np.vecdot(vectors, vectors) if auxiliary is None else auxiliary.ravel()
    scale = lengths + np.vecdot(b, b)
    squares = scale - 2 * _products(vectors, b)
    near = np.flatnonzero(~(squares >= _NEAR * scale))  # also true for NaN
    for i in range(0, len(near), _BLOCK):
        rows = near[i : i + _BLOCK]
        difference = vectors[rows] - b
        squares[rows] = np.vecdot(difference, difference)
    return squares.reshape(a.shape[:-1]), scale.reshape(a.shape[:-1])


_register_symmetric("DOT", "Inner product of vectors.", _dot, whole=True)
_register_symmetric(
    "COSINE_SIMILARITY",
    "Cosine of the angle between vectors, 0 if either vector is zero.",
    _cosine,
    squares=True,
)
_register_symmetric("L2_DISTANCE", "Euclidean distance between vectors.", _distance, squares=True)


@function("HAMMING_DISTANCE(x, y)", group=GROUP)
def _hamming(x: Arg, y: Arg) -> Bound:
    """Count of elements in which two vectors differ."""
    shape = _pair_shape("HAMMING_DISTANCE", x, y)

    def compute(*values: object, lead: int) -> object:
        a, b = align([np.asarray(v) for v in values], (x, y), lead)
        if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-1]:
            raise ValueError("vectors must have the same length")
        return np.count_nonzero(a != b, axis=-1)

    return Bound(Type("int64", shape), compute)


@function("MAXSIM(x, query)", group=GROUP)
def _maxsim(x: Arg, query: Arg) -> Bound:
    """Late interaction (ColBERT): the sum of each query vector's largest product with x."""
    numbers("MAXSIM", x, query)
    if {x.type.ndim, query.type.ndim} - {2, None}:
        raise ValueError("x must have shape (n, d), and query (m, d)")
    _pair_shape("MAXSIM", _as_one_vector(x), _as_one_vector(query))
    dtype = _product_dtype(x, query)

    def compute(value: object, vectors: object, *, lead: int) -> object:
        a, b = np.asarray(value).astype(dtype), np.asarray(vectors).astype(dtype)
        if a.shape[-1] != b.shape[-1]:
            raise ValueError("vectors must have the same length")
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2])
        check_room(shape, a.itemsize, lead=min(lead, len(shape) - 2))
        products = a @ np.swapaxes(b, -1, -2)
        if products.shape[-2]:
            return products.max(axis=-2).sum(axis=-1)
        return np.ma.masked_all(len(a) if not x.is_constant else len(b), dtype) if lead else None

    return Bound(Type(dtype), compute)


def _as_one_vector(x: Arg) -> Arg:
    """Describe an argument that holds many vectors as if it held one vector of the same length."""
    return replace(x, type=replace(x.type, shape=x.type.shape and x.type.shape[-1:]))


def _norm(name: str, summary: str, of: Callable[[NDArray[Any], tuple[int, ...]], object]) -> None:
    """Register a norm, which `of` computes from an array and axes."""

    def bind(x: Arg, axis: Axis = None) -> Bound:
        numbers(name, x)

        def compute(value: object, *, lead: int) -> object:
            array = widen(np.asarray(value))
            array = np.abs(array) if array.dtype.kind == "c" else array
            array = array.astype(_working_dtype(array.dtype.name), copy=False)
            return of(array, axes(array.ndim, axis, lead))

        return Bound(result_of(compute, x), compute)

    bind.__doc__ = summary
    function(f"{name}(x, axis=None)", group=GROUP)(bind)


def _l2(array: NDArray[Any], over: tuple[int, ...]) -> object:
    if over != tuple(range(array.ndim))[array.ndim - len(over) :]:
        return np.sqrt(np.sum(np.square(array), axis=over))
    flat = array.reshape(*array.shape[: array.ndim - len(over)], -1) if array.size else None
    if flat is None:
        return np.sqrt(np.sum(array, axis=over))
    with np.errstate(over="ignore", under="ignore"):
        squares = np.asarray(np.vecdot(flat, flat))
        lengths, far = np.asarray(np.sqrt(squares)), _is_far(squares, flat.dtype)
        if far.any():
            vectors = flat[far].astype(np.float64)
            scales = _scales(vectors)
            scaled = vectors / scales[:, None]
            lengths[far] = np.sqrt(np.vecdot(scaled, scaled)) * scales
    return lengths if lengths.ndim else lengths[()]


_norm(
    "L1_NORM",
    "Sum of absolute values, as a float.",
    lambda a, over: np.sum(np.abs(a), axis=over),
)
_norm("L2_NORM", "Euclidean length.", _l2)
_norm(
    "LINF_NORM",
    "Greatest absolute value, as a float; 0 if empty.",
    lambda a, over: np.max(np.abs(a), axis=over, initial=0),
)
