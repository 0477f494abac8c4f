"""ChaCha20 keystreams, and the exact integer draws made from them.

A *stream* is the keystream of one nonce, from block 0 on, held in one ``int64[STREAM_FIELDS]`` array, so
that a kernel can open thousands of streams without allocating: words 0 to 15 of the block at hand, the next
position in it (bytes), the next block's number, the three nonce words, and a flag raised when the stream
has run out. A stream is read either as words or as bytes, never both.

Symbols: a, b, c, d and x are the RFC's own names for state words.

Source: RFC 8439, sections 2.1 to 2.4.
"""

import numpy as np
import numpy.typing as npt

from engine._jit import jit

__all__ = [
    "ATTEMPT_SHIFT",
    "BLOCK_BYTES",
    "POSITION",
    "STAGE_ATTEMPT",
    "STAGE_DIGEST",
    "STAGE_EDIT",
    "STAGE_NOISE",
    "STAGE_PLACE",
    "STAGE_POINT",
    "STAGE_REMAINDER",
    "STAGE_REPRESENTATIVE",
    "STAGE_RETAIN",
    "STAGE_SAMPLE",
    "STAGE_TOTAL",
    "STREAM_FIELDS",
    "below",
    "block",
    "fill_bounded",
    "fill_words",
    "has_run_out",
    "next_byte",
    "next_word",
    "open_stream",
    "refill",
]

Words = npt.NDArray[np.uint32]
Stream = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int64]

STAGE_EDIT = 1
STAGE_RETAIN = 2
STAGE_SAMPLE = 3
STAGE_REMAINDER = 4
STAGE_PLACE = 5
STAGE_REPRESENTATIVE = 6
STAGE_POINT = 7
STAGE_DIGEST = 8
STAGE_NOISE = 16
STAGE_TOTAL = 17
STAGE_ATTEMPT = 18

STREAM_FIELDS = 22
BLOCK_LIMIT = 1 << 32
ATTEMPT_SHIFT = 8

POSITION = 16
_COUNTER = 17
_NONCE = 18
_RUN_OUT = 21
BLOCK_BYTES = 64
_MASK = 0xFFFFFFFF

# "expand 32-byte k" (RFC 8439, section 2.3)
_C0 = np.uint32(0x61707865)
_C1 = np.uint32(0x3320646E)
_C2 = np.uint32(0x79622D32)
_C3 = np.uint32(0x6B206574)


@jit
def _add(left: np.uint32, right: np.uint32) -> np.uint32:
    # Widened and masked, so that it wraps in plain Python as it does compiled; LLVM makes it one 32-bit add.
    return np.uint32((np.int64(left) + np.int64(right)) & _MASK)


@jit
def _rotate(word: np.uint32, bits: int) -> np.uint32:
    wide = np.int64(word)
    return np.uint32(((wide << bits) | (wide >> (32 - bits))) & _MASK)


@jit
def _quarter(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    a = _add(a, b)
    d = _rotate(d ^ a, 16)
    c = _add(c, d)
    b = _rotate(b ^ c, 12)
    a = _add(a, b)
    d = _rotate(d ^ a, 8)
    c = _add(c, d)
    b = _rotate(b ^ c, 7)
    return a, b, c, d


@jit
def block(key: Words, counter: int, nonce: Stream, out: Stream) -> None:
    """Write the 16 words of one keystream block to ``out[:16]`` (RFC 8439, section 2.3)."""
    count = np.uint32(counter)
    nonce0, nonce1, nonce2 = np.uint32(nonce[0]), np.uint32(nonce[1]), np.uint32(nonce[2])
    x0, x1, x2, x3 = _C0, _C1, _C2, _C3
    x4, x5, x6, x7 = key[0], key[1], key[2], key[3]
    x8, x9, x10, x11 = key[4], key[5], key[6], key[7]
    x12, x13, x14, x15 = count, nonce0, nonce1, nonce2
    for _ in range(10):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    out[0], out[1], out[2], out[3] = _add(x0, _C0), _add(x1, _C1), _add(x2, _C2), _add(x3, _C3)
    out[4], out[5], out[6], out[7] = _add(x4, key[0]), _add(x5, key[1]), _add(x6, key[2]), _add(x7, key[3])
    out[8], out[9], out[10] = _add(x8, key[4]), _add(x9, key[5]), _add(x10, key[6])
    out[11], out[12], out[13] = _add(x11, key[7]), _add(x12, count), _add(x13, nonce0)
    out[14], out[15] = _add(x14, nonce1), _add(x15, nonce2)


@jit
def open_stream(stage: int, destination: int, segment: int, stream: Stream) -> None:
    """Make ``stream`` the keystream of nonce (stage, destination, segment), from its first byte."""
    stream[POSITION] = BLOCK_BYTES
    stream[_COUNTER] = 0
    stream[_NONCE] = stage
    stream[_NONCE + 1] = destination
    stream[_NONCE + 2] = segment
    stream[_RUN_OUT] = 0


@jit
def refill(key: Words, stream: Stream) -> None:
    """Put the stream's next block at hand, or mark the stream as run out."""
    if stream[_COUNTER] >= BLOCK_LIMIT:
        # The caller refuses the whole result; zeros let its rejection loops end.
        stream[_RUN_OUT] = 1
        stream[:16] = 0
    else:
        block(key, stream[_COUNTER], stream[_NONCE:_RUN_OUT], stream)
        stream[_COUNTER] += 1
    stream[POSITION] = 0


@jit
def has_run_out(stream: Stream) -> bool:
    """True once a stream was asked for more than its 2^32 blocks; what it gave is not to be used."""
    return bool(stream[_RUN_OUT] != 0)


@jit
def next_word(key: Words, stream: Stream) -> int:
    """Next 32 bits of the stream, 0 to 2^32 - 1."""
    if stream[POSITION] >= BLOCK_BYTES:
        refill(key, stream)
    word = stream[stream[POSITION] >> 2]
    stream[POSITION] += 4
    return word  # type: ignore[no-any-return]


@jit
def next_byte(key: Words, stream: Stream) -> int:
    """Next 8 bits of the stream, 0 to 255, in keystream order."""
    if stream[POSITION] >= BLOCK_BYTES:
        refill(key, stream)
    position = stream[POSITION]
    stream[POSITION] = position + 1
    return (stream[position >> 2] >> (8 * (position & 3))) & 255  # type: ignore[no-any-return]


@jit
def below(key: Words, stream: Stream, bound: int) -> int:
    """Unbiased integer in [0, bound), for 1 <= bound < 2^63.

    Takes as many low bits as ``bound - 1`` has, from one word (two, low word first, above 2^32), until the
    value is less than ``bound``. A bound of 1 reads nothing.
    """
    mask = bound - 1
    if mask == 0:
        return 0
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    mask |= mask >> 32
    while True:
        value = next_word(key, stream)
        if mask > _MASK:
            value |= (next_word(key, stream) & (mask >> 32)) << 32
        value &= mask
        if value < bound:
            return value


@jit
def fill_words(key: Words, nonces: Ints, ptr: Ints, start: int, stop: int, out: Words) -> int:
    """First words of each of the streams ``start`` to ``stop - 1``; how many is given by CSR ``ptr``.

    ``nonces`` is int64[S, 3]. Returns the first stream that ran out, or -1.
    """
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for address in range(start, stop):
        open_stream(nonces[address, 0], nonces[address, 1], nonces[address, 2], stream)
        for position in range(ptr[address], ptr[address + 1]):
            out[position] = next_word(key, stream)
        if has_run_out(stream):
            return address
    return -1


@jit
def fill_bounded(key: Words, stream: Stream, bound: int, out: Ints) -> None:
    """Fill ``out`` with integers in [0, bound) from one open stream."""
    for position in range(out.size):
        out[position] = below(key, stream, bound)
