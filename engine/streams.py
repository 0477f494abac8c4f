"""Random bits: one keyed ChaCha20 stream per stage, destination and segment.

What a synthesizer draws depends on the key and on its own address only, never on threads, on order or on
which batch it stood in.
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, IntArray

__all__ = ["SecretKey", "Stage", "bounded_integers", "uniforms"]


class Stage(IntEnum):
    """What a stream is used for; the first nonce word, so that no two stages share a stream."""

    EDIT = 1
    RETAIN = 2
    SAMPLE = 3
    REMAINDER = 4
    PLACE = 5
    REPRESENTATIVE = 6
    POINT = 7
    DIGEST = 8


class SecretKey:
    """A 256-bit key that lives in memory only: not shown, not copied, not pickled."""

    __slots__ = ("_is_test", "_words")

    @classmethod
    def fresh(cls) -> "SecretKey":
        """A new key from the operating system's secure source."""
        raise NotImplementedError

    @classmethod
    def for_tests(cls) -> "SecretKey":
        """The documented test key, bytes 0, 1, ..., 31. What it makes is not for release."""
        raise NotImplementedError

    @property
    def is_test(self) -> bool:
        """True for the test key: the release must be stamped "not for release"."""
        return self._is_test

    def keyed_digest(self, message: bytes) -> str:
        """Keyed hash (BLAKE2b-256, hexadecimal) of confidential input, under a key derived from this one."""
        raise NotImplementedError


def uniforms(
    key: SecretKey,
    stage: Stage,
    destination: IntArray,
    segment: IntArray,
    count: IntArray,
    *,
    attempt: int = 0,
    threads: int = 1,
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Uniform numbers in [0, 1) with 53 random bits, for coordinates only: they decide no released count.

    Parameters
    ----------
    key : SecretKey
    stage : Stage
        Normally ``Stage.POINT``.
    destination, segment : int[S]
        Addresses, each 0 to 2^32 - 1; no pair twice.
    count : int[S]
        How many numbers to draw for each address.
    attempt : int
        0 to 2^24 - 1: an independent stream for the same address, for draws made again.
    threads : int
        Threads to use; the numbers do not depend on it.

    Returns
    -------
    ptr : int64[S + 1]
        CSR offsets of each address's numbers.
    values : float64[sum(count)]

    Raises
    ------
    ParameterError
        If an address is out of range or occurs twice.
    OverflowRefusedError
        If a stream would run past its 2^32 blocks.
    """
    raise NotImplementedError


def bounded_integers(
    key: SecretKey, stage: Stage, destination: int, segment: int, *, bound: int, count: int
) -> npt.NDArray[np.int64]:
    """Unbiased integers in [0, bound) from one stream: int64[count]; 1 <= bound < 2^63."""
    raise NotImplementedError
