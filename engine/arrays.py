"""Array types of the engine and the checks that every public function begins with."""

from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError

__all__ = ["BoolArray", "FloatArray", "IntArray", "as_amounts", "as_int", "as_ptr"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer]

_Scalar = TypeVar("_Scalar", bound=np.generic)
_Integer = TypeVar("_Integer", bound=np.integer)


def _plain(values: npt.ArrayLike, dtype: type[_Scalar]) -> npt.NDArray[_Scalar]:
    """C-contiguous and writable array: kernels would be compiled a second time for read-only arrays."""
    return np.require(values, dtype=dtype, requirements=["C", "W"])


@overload
def as_int(
    name: str, values: npt.ArrayLike, *, low: int = ..., high: int | None = ...
) -> npt.NDArray[np.int64]: ...
@overload
def as_int(
    name: str, values: npt.ArrayLike, *, dtype: type[_Integer], low: int = ..., high: int | None = ...
) -> npt.NDArray[_Integer]: ...
def as_int(
    name: str,
    values: npt.ArrayLike,
    *,
    dtype: type[np.integer] = np.int64,
    low: int = 0,
    high: int | None = None,
) -> IntArray:
    """One-dimensional C-contiguous integer array of ``dtype`` with every value in [low, high].

    Raises
    ------
    ParameterError
        If the values are not whole numbers, not one-dimensional, or outside the range.
    """
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=dtype)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ParameterError(
            f"{name} is {array.dtype} with {array.ndim} dimensions: give a one-dimensional integer array"
        )
    top = int(np.iinfo(np.dtype(dtype)).max) if high is None else high
    smallest, largest = int(array.min()), int(array.max())
    if smallest < low or largest > top:
        raise ParameterError(
            f"{name} runs from {smallest} to {largest}: allowed are {low} to {top}; correct the input"
        )
    return _plain(array, dtype)


def as_amounts(name: str, values: npt.ArrayLike, *, ndim: int = 1) -> FloatArray:
    """C-contiguous float64 array of finite, non-negative values with ``ndim`` dimensions.

    Raises
    ------
    ParameterError
        If a value is negative, infinite or not a number, or the array has another shape.
    """
    array = _plain(values, np.float64)
    if array.ndim != ndim:
        raise ParameterError(f"{name} has {array.ndim} dimensions: give {ndim}")
    if array.size and not (array.min() >= 0 and np.isfinite(array.max())):
        raise ParameterError(
            f"{name} runs from {array.min()} to {array.max()}: give finite values of at least 0"
        )
    return array


def as_ptr(name: str, values: npt.ArrayLike, *, total: int | None = None) -> npt.NDArray[np.int64]:
    """CSR offsets: int64, starting at 0, never falling, ending at ``total`` if it is given.

    Raises
    ------
    ParameterError
        If the values are not such offsets.
    """
    array = as_int(name, values)
    if array.size == 0 or array[0] != 0 or np.any(np.diff(array) < 0):
        raise ParameterError(f"{name} must start at 0 and never fall: give CSR offsets")
    if total is not None and array[-1] != total:
        raise ParameterError(f"{name} ends at {array[-1]}: it must end at {total}, the number of values")
    return array
