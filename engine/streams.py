"""Random bits: one keyed ChaCha20 stream per stage, destination and segment.

What a synthesizer draws depends only on the key and on its own address, never on threads, order or batch. The 96-bit
nonce holds three 32-bit words: stage tag (low 8 bits) with the attempt (high 24 bits), destination, segment; the block
counter starts at 0. Meaning of the last two words:

============== ======================== ================ ==========================================
stage          second word              third word       read as
============== ======================== ================ ==========================================
EDIT           destination tract        0                one word per candidate point, in point order
RETAIN         destination              segment          one word per jump; more where undecided
SAMPLE         destination              segment          16 bits per synthetic worker; more where undecided
REMAINDER      destination              segment          one bounded integer per worker drawn again
PLACE          destination              segment          one bounded integer per synthetic worker
REPRESENTATIVE destination tract        support point    one bounded integer
POINT          destination              segment          six words per worker: triangle and place, twice
DIGEST         0                        0                32 bytes of key for the keyed hash
NOISE          destination              segment          words against the digits of a chance
TOTAL          destination              segment          bounded integers that make the total m
ATTEMPT        attempt                  0                eight words: the key of that attempt
MOVE           destination              segment          bounded integers: who moves, and where to
DEAL           destination              segment          bounded integers: which cell of a unit gets a worker
FAR            destination              segment          one bounded integer per worker in a pool of far states
CLEAN          destination tract        0                a word per rounded range, then two integers per worker redrawn
TABLE          decision                 0                a word per 32 people and binary digit, sample after sample
RECORD_SEED    candidate number         its high word    one bounded integer: which record is the seed
RECORD_PASS    candidate number         its high word    words against the digits of two chances: forced failure, noise
RECORD_SPLIT   block of 1024 records    its high word    one bounded integer per record: which subset it is in
RECORD_NOISE   attribute                configuration    words against the digits of a chance, value after value
RECORD_DRAW    record number            its high word    one bounded integer per attribute drawn
RECORD_TOP_UP  record number            its high word    one bounded integer: which prefix; then one per attribute
RECORD_ENTROPY entropy                  0                words against the digits of a chance
RECORD_PLACE   record number            its high word    bounded integers: work block, home tract, home blocks
CASCADE        destination tract        0                bounded integers: order of workers, rounding, and points
============== ======================== ================ ==========================================

Source: RFC 8439 (ChaCha20); docs/theory/method.md, section 7.
"""

from __future__ import annotations

import ctypes
import hashlib
import resource
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import NoReturn, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from engine.arrays import IntArray, as_int
from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels import chacha
from engine.threads import run_ranges

# Keeping a process's memory out of files, because a core dump could contain a key.

_PR_SET_DUMPABLE = 4  # <linux/prctl.h>


def forbid_core_dumps() -> None:
    """Turn off core dumps for this process, and stop other processes of the same user from reading its memory.

    This lasts for the rest of the process, because freed memory that held a key is not wiped. On Linux the limit alone
    is not enough: a program that receives core dumps (`core_pattern` with a pipe) gets them whatever the limit is.
    """
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


_KEY_BYTES = 32
_ADDRESS_TOP = (1 << 32) - 1


class Stage(IntEnum):
    """What a stream is used for; it is the first nonce word, so no two stages share a stream."""

    EDIT = chacha.STAGE_EDIT
    RETAIN = chacha.STAGE_RETAIN
    SAMPLE = chacha.STAGE_SAMPLE
    REMAINDER = chacha.STAGE_REMAINDER
    PLACE = chacha.STAGE_PLACE
    REPRESENTATIVE = chacha.STAGE_REPRESENTATIVE
    POINT = chacha.STAGE_POINT
    DIGEST = chacha.STAGE_DIGEST
    NOISE = chacha.STAGE_NOISE
    TOTAL = chacha.STAGE_TOTAL
    ATTEMPT = chacha.STAGE_ATTEMPT
    MOVE = chacha.STAGE_MOVE
    DEAL = chacha.STAGE_DEAL
    FAR = chacha.STAGE_FAR
    CLEAN = chacha.STAGE_CLEAN
    TABLE = chacha.STAGE_TABLE
    RECORD_SEED = chacha.STAGE_RECORD_SEED
    RECORD_PASS = chacha.STAGE_RECORD_PASS
    RECORD_SPLIT = chacha.STAGE_RECORD_SPLIT
    RECORD_NOISE = chacha.STAGE_RECORD_NOISE
    RECORD_DRAW = chacha.STAGE_RECORD_DRAW
    RECORD_TOP_UP = chacha.STAGE_RECORD_TOP_UP
    RECORD_ENTROPY = chacha.STAGE_RECORD_ENTROPY
    RECORD_PLACE = chacha.STAGE_RECORD_PLACE
    CASCADE = chacha.STAGE_CASCADE


class SecretKey:
    """A 256-bit key that is kept in memory only: it cannot be printed, copied or pickled.

    Only :meth:`hand_over` can send it to another process. A process that holds a key leaves no core dump; the test
    key is not secret and leaves core dumps on.
    """

    __slots__ = ("_is_test", "_words")

    _is_test: bool
    _words: npt.NDArray[np.uint32]

    def __init__(self) -> None:
        raise ParameterError(
            "a SecretKey cannot be made from values: use SecretKey.fresh() or SecretKey.for_tests()"
        )

    @classmethod
    def _from_bytes(cls, token: bytes, *, is_test: bool) -> SecretKey:
        if not is_test:
            forbid_core_dumps()
        key = object.__new__(cls)
        key._words = np.frombuffer(token, dtype="<u4").astype(np.uint32)
        key._words.setflags(write=False)
        key._is_test = is_test
        return key

    @classmethod
    def fresh(cls) -> SecretKey:
        """A new key from the operating system's secure source."""
        return cls._from_bytes(secrets.token_bytes(_KEY_BYTES), is_test=False)

    @classmethod
    def for_tests(cls) -> SecretKey:
        """The documented test key, bytes 0, 1, ..., 31. Do not publish anything made with it."""
        return cls._from_bytes(bytes(range(_KEY_BYTES)), is_test=True)

    @property
    def is_test(self) -> bool:
        """True for the test key: the release must be stamped "not for release"."""
        return self._is_test

    @property
    def words(self) -> npt.NDArray[np.uint32]:
        """The key itself as uint32[8], for the engine's kernels only: never print, log or store it."""
        return self._words

    def keyed_digest(self, message: bytes) -> str:
        """Keyed hash (BLAKE2b-256, hexadecimal) of confidential input, under a key derived from this one.

        The derived key is the first half of the keystream block of stage DIGEST, so that the hash and the
        random streams share no key.
        """
        words = np.zeros(16, dtype=np.uint32)
        chacha.block(self._words, 0, np.array([Stage.DIGEST, 0, 0], dtype=np.int64), words)
        derived = words[:8].astype("<u4").tobytes()
        return hashlib.blake2b(message, key=derived, digest_size=32).hexdigest()

    @contextmanager
    def hand_over(self) -> Iterator[KeyParcel]:
        """Yield a parcel that can be pickled during the block; unpickling it gives a SecretKey.

        The pickle contains the key in plain bytes. The caller must send it only over a connection that no one else
        can read, directly to a process that draws, and never to a file or a queue.
        """
        parcel = KeyParcel(self)
        try:
            yield parcel
        finally:
            parcel.close()

    def __repr__(self) -> str:
        return "SecretKey(for tests)" if self._is_test else "SecretKey(hidden)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a SecretKey cannot be pickled or copied: it lives in one process's memory only")


class KeyParcel:
    """A SecretKey on its way to another process, made by :meth:`SecretKey.hand_over` and void after its block."""

    __slots__ = ("_key",)

    def __init__(self, key: SecretKey) -> None:
        self._key: SecretKey | None = key

    def close(self) -> None:
        """Drop the key; the parcel can no longer be pickled."""
        self._key = None

    def __repr__(self) -> str:
        return "KeyParcel(hidden)"

    def __reduce_ex__(
        self, protocol: SupportsIndex
    ) -> tuple[Callable[[bytes, bool], SecretKey], tuple[bytes, bool]]:
        if self._key is None:
            raise TypeError("this KeyParcel is closed: open a new one with SecretKey.hand_over()")
        return _unpack_key, (self._key.words.astype("<u4").tobytes(), self._key.is_test)


def _unpack_key(token: bytes, is_test: bool) -> SecretKey:
    return SecretKey._from_bytes(token, is_test=is_test)


class PublicSeed:
    """A 256-bit seed that is published with what was drawn from it, so that anyone can repeat the draw.

    Domain editing uses one: only public data and chance decide which support points are removed, so the seed may be
    public too, and the certificate can be recomputed from the release.
    """

    __slots__ = ("_bytes", "_words")

    def __init__(self, digits: str) -> None:
        """Read a seed from 64 hexadecimal digits; ParameterError if the text is not a seed."""
        try:
            self._bytes = bytes.fromhex(digits)
        except (TypeError, ValueError):
            self._bytes = b""
        if len(self._bytes) != _KEY_BYTES:
            raise ParameterError(f"seed {digits!r}: 64 hexadecimal digits are needed")
        self._words = np.frombuffer(self._bytes, dtype="<u4").astype(np.uint32)
        self._words.setflags(write=False)

    @classmethod
    def fresh(cls) -> PublicSeed:
        """A new seed from the operating system's secure source."""
        return cls(secrets.token_hex(_KEY_BYTES))

    @classmethod
    def for_tests(cls) -> PublicSeed:
        """The seed that goes with the test key: bytes 32, 33, ..., 63."""
        return cls(bytes(range(_KEY_BYTES, 2 * _KEY_BYTES)).hex())

    @property
    def digits(self) -> str:
        """The seed as 64 hexadecimal digits, for the certificate."""
        return self._bytes.hex()

    @property
    def words(self) -> npt.NDArray[np.uint32]:
        """The seed as uint32[8], for the engine's kernels."""
        return self._words


Keyed: TypeAlias = SecretKey | PublicSeed
"""What a stream may be keyed with: a secret key wherever a draw depends on confidential counts."""


def check_addresses(
    destination: IntArray, segment: IntArray
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Check that (destination, segment) pairs are 32-bit and distinct, so that no stream is used twice.

    Raises
    ------
    ParameterError
        If lengths differ, a number is out of range, or a pair occurs twice.
    """
    first = as_int("destination", destination, high=_ADDRESS_TOP)
    second = as_int("segment", segment, high=_ADDRESS_TOP)
    if first.size != second.size:
        raise ParameterError(
            f"{first.size} destinations and {second.size} segments: give one of each per address"
        )
    packed = (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)
    if np.all(packed[1:] > packed[:-1]):  # in their usual order
        return first, second
    packed.sort()
    twice = packed[1:][packed[1:] == packed[:-1]]
    if twice.size:
        pair = int(twice[0])
        raise ParameterError(
            f"destination {pair >> 32}, segment {pair & _ADDRESS_TOP} occurs twice: merge the two, "
            "or they would share random bits"
        )
    return first, second


def check_attempt(attempt: int) -> None:
    """Refuse an attempt that does not fit into the nonce (ParameterError)."""
    if not 0 <= attempt < 1 << (32 - chacha.ATTEMPT_SHIFT):
        raise ParameterError(f"attempt = {attempt}: allowed are 0 to 2^24 - 1")


def new_stream() -> npt.NDArray[np.int64]:
    """Room for one stream, for a kernel to open: int64[STREAM_FIELDS]."""
    return np.zeros(chacha.STREAM_FIELDS, dtype=np.int64)


def stream_words(
    key: Keyed,
    stage: Stage,
    destination: IntArray,
    segment: IntArray,
    count: IntArray,
    *,
    attempt: int = 0,
    threads: int = 1,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """First 32-bit words of many streams.

    Parameters
    ----------
    key : SecretKey or PublicSeed
    stage : Stage
    destination, segment : int[S]
        Addresses, each 0 to 2^32 - 1; no pair twice.
    count : int[S]
        How many words to draw for each address.
    attempt : int
        0 to 2^24 - 1: an independent stream for the same address, for draws made again.
    threads : int
        Threads to use; the words do not depend on it.

    Returns
    -------
    ptr : int64[S + 1]
        CSR offsets of each address's words.
    words : uint32[sum(count)]

    Raises
    ------
    ParameterError
        If an address is out of range or occurs twice.
    OverflowRefusedError
        If a stream would run past its 2^32 blocks.
    """
    check_attempt(attempt)
    first, second = check_addresses(destination, segment)
    counts = as_int("count", count, high=1 << 40)
    if counts.size != first.size:
        raise ParameterError(f"{counts.size} counts for {first.size} addresses: give one per address")
    ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    nonces = np.column_stack(
        (np.full_like(first, int(stage) | attempt << chacha.ATTEMPT_SHIFT), first, second)
    )
    words = np.empty(int(ptr[-1]), dtype=np.uint32)
    failed = run_ranges(
        lambda start, stop: chacha.fill_words(key.words, new_stream(), nonces, ptr, start, stop, words),
        counts,
        threads,
    )
    if max(failed, default=-1) >= 0:
        raise OverflowRefusedError(
            "a random stream passed its 2^32 blocks: ask for fewer numbers per address"
        )
    return ptr, words


def bounded_integers(
    key: SecretKey, stage: Stage, destination: int, segment: int, *, bound: int, count: int
) -> npt.NDArray[np.int64]:
    """Unbiased integers in [0, bound) from the start of one stream: int64[count]; 1 <= bound < 2^63.

    Raises
    ------
    ParameterError
        If the bound or the address is out of range.
    """
    if not 1 <= bound < 1 << 63:
        raise ParameterError(f"bound = {bound}: allowed are 1 to 2^63 - 1")
    first, second = check_addresses(np.array([destination]), np.array([segment]))
    values = np.empty(count, dtype=np.int64)
    stream = new_stream()
    chacha.open_stream(int(stage), first[0], second[0], stream)
    chacha.fill_bounded(key.words, stream, bound, values)
    return values


def attempt_key(key: SecretKey, attempt: int) -> SecretKey:
    """Key for drawing everything again: stage ATTEMPT's words for this attempt, 1 to 2^32 - 1.

    Raises
    ------
    ParameterError
        If the attempt is out of range.
    """
    if attempt < 1:
        raise ParameterError(
            f"attempt = {attempt}: allowed are 1 to 2^32 - 1; the first draw uses the key itself"
        )
    _, words = stream_words(key, Stage.ATTEMPT, np.array([attempt]), np.array([0]), np.array([8]))
    return SecretKey._from_bytes(words.astype("<u4").tobytes(), is_test=key.is_test)
