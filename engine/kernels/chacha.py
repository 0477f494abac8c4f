"""ChaCha20 keystreams, and the exact integer draws made from them.

A *stream* is the keystream of one nonce, from block 0 on. It is held in one ``int64[STREAM_FIELDS]`` array, so that a
kernel can open thousands of streams without allocating memory. The array holds up to ``WIDTH`` blocks (8 bytes in each
field, least significant first), the next position in them and their end (bytes), the next block's number, the three
nonce words, and a flag that is raised when the stream has run out. A word is read at the next multiple of 4 bytes, a
half word at the next multiple of 2.

A stream makes its blocks one by one as they are needed. ``WIDTH`` blocks made together, in loops that the
compiler turns into vector instructions, cost no more than three or four of those. So a kernel that reads
long streams reads ahead (:func:`read_ahead`), and one that opens many short streams makes their first
blocks together (:func:`fill_blocks`), each in its own *lane*, and copies them to the streams
(:func:`take_blocks`). The output of a stream is the same either way.

Symbols: a, b, c, d and x are the RFC's own names for state words.

Source: RFC 8439, sections 2.1 to 2.4.
"""

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit

__all__ = [
    "ATTEMPT_SHIFT",
    "BLOCK_BYTES",
    "BLOCK_LIMIT",
    "COUNTER",
    "END",
    "LANE_WORDS",
    "POSITION",
    "STAGE_ATTEMPT",
    "STAGE_CASCADE",
    "STAGE_CLEAN",
    "STAGE_DEAL",
    "STAGE_DIGEST",
    "STAGE_EDIT",
    "STAGE_FAR",
    "STAGE_MOVE",
    "STAGE_NOISE",
    "STAGE_PLACE",
    "STAGE_POINT",
    "STAGE_RECORD_DRAW",
    "STAGE_RECORD_ENTROPY",
    "STAGE_RECORD_NOISE",
    "STAGE_RECORD_PASS",
    "STAGE_RECORD_PLACE",
    "STAGE_RECORD_SEED",
    "STAGE_RECORD_SPLIT",
    "STAGE_RECORD_TOP_UP",
    "STAGE_REMAINDER",
    "STAGE_REPRESENTATIVE",
    "STAGE_RETAIN",
    "STAGE_SAMPLE",
    "STAGE_TABLE",
    "STAGE_TOTAL",
    "STREAM_FIELDS",
    "WIDTH",
    "WINDOW_WORDS",
    "below",
    "block",
    "fill_blocks",
    "fill_bounded",
    "fill_words",
    "half_at",
    "half_in",
    "has_run_out",
    "next_half",
    "next_word",
    "open_stream",
    "read_ahead",
    "take_blocks",
    "word_in",
]

Words = npt.NDArray[np.uint32]
Stream = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int64]
_State = tuple[np.uint32, ...]

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
STAGE_MOVE = 19
STAGE_DEAL = 20
STAGE_FAR = 21
STAGE_CLEAN = 22
STAGE_TABLE = 23
STAGE_RECORD_SEED = 24
STAGE_RECORD_PASS = 25
STAGE_RECORD_SPLIT = 26
STAGE_RECORD_NOISE = 27
STAGE_RECORD_DRAW = 28
STAGE_RECORD_TOP_UP = 29
STAGE_RECORD_ENTROPY = 30
STAGE_RECORD_PLACE = 31
STAGE_CASCADE = 32

BLOCK_LIMIT = 1 << 32
BLOCK_BYTES = 64
ATTEMPT_SHIFT = 8

WIDTH = 16
LANE_WORDS = 20 * WIDTH
WINDOW_WORDS = 16 * WIDTH

POSITION = WINDOW_WORDS // 2
END = POSITION + 1
COUNTER = POSITION + 2
_NONCE = POSITION + 3
_RUN_OUT = POSITION + 6
STREAM_FIELDS = POSITION + 7
_MASK = 0xFFFFFFFF

# "expand 32-byte k" (RFC 8439, section 2.3)
_C0 = np.uint32(0x61707865)
_C1 = np.uint32(0x3320646E)
_C2 = np.uint32(0x79622D32)
_C3 = np.uint32(0x6B206574)


@lean_jit
def _add(left: np.uint32, right: np.uint32) -> np.uint32:
    # Widened and masked, so that it wraps around with the JIT off as well; LLVM compiles it to one 32-bit add.
    return np.uint32((np.int64(left) + np.int64(right)) & _MASK)


@lean_jit
def _rotate(word: np.uint32, bits: int) -> np.uint32:
    wide = np.int64(word)
    return np.uint32(((wide << bits) | (wide >> (32 - bits))) & _MASK)


@lean_jit
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


@lean_jit
def _double_round(state: _State) -> _State:
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15 = state
    x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
    x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
    x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
    x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
    x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
    x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
    x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
    x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    return x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15


@lean_jit
def _initial_state(key: Words, tail: _State) -> _State:
    return (_C0, _C1, _C2, _C3, key[0], key[1], key[2], key[3], key[4], key[5], key[6], key[7], *tail)


@lean_jit
def _store_sum(x: _State, y: _State, out: Words, at: int) -> None:
    out[at], out[at + 1], out[at + 2] = _add(x[0], y[0]), _add(x[1], y[1]), _add(x[2], y[2])
    out[at + 3], out[at + 4], out[at + 5] = _add(x[3], y[3]), _add(x[4], y[4]), _add(x[5], y[5])
    out[at + 6], out[at + 7], out[at + 8] = _add(x[6], y[6]), _add(x[7], y[7]), _add(x[8], y[8])
    out[at + 9], out[at + 10], out[at + 11] = _add(x[9], y[9]), _add(x[10], y[10]), _add(x[11], y[11])
    out[at + 12], out[at + 13] = _add(x[12], y[12]), _add(x[13], y[13])
    out[at + 14], out[at + 15] = _add(x[14], y[14]), _add(x[15], y[15])


@lean_jit
def block(key: Words, counter: int, nonce: Stream, out: Words) -> None:
    """Write the 16 words of one keystream block to ``out[:16]`` (RFC 8439, section 2.3)."""
    tail = (np.uint32(counter), np.uint32(nonce[0]), np.uint32(nonce[1]), np.uint32(nonce[2]))
    start = _initial_state(key, tail)
    state = start
    for _ in range(10):
        state = _double_round(state)
    _store_sum(state, start, out, 0)


@lean_jit
def fill_blocks(key: Words, lanes: Words, out: Words) -> None:
    """Write ``WIDTH`` keystream blocks to ``out[:WINDOW_WORDS]``, each as :func:`block` makes it.

    ``lanes`` is uint32[LANE_WORDS]: the block number of every lane, then each of its three nonce words; the
    rest is scratch space.
    """
    w = WIDTH
    state = lanes[4 * w :]
    for i in range(w):
        state[i], state[w + i], state[2 * w + i], state[3 * w + i] = _C0, _C1, _C2, _C3
    for i in range(8 * w):
        state[4 * w + i] = key[i // w]
    for i in range(4 * w):
        state[12 * w + i] = lanes[i]
    for _ in range(10):
        # A loop with no other inside becomes vector instructions.
        for i in range(w):
            x0, x1, x2, x3 = state[i], state[w + i], state[2 * w + i], state[3 * w + i]
            x4, x5, x6, x7 = state[4 * w + i], state[5 * w + i], state[6 * w + i], state[7 * w + i]
            x8, x9, x10, x11 = state[8 * w + i], state[9 * w + i], state[10 * w + i], state[11 * w + i]
            x12, x13, x14, x15 = state[12 * w + i], state[13 * w + i], state[14 * w + i], state[15 * w + i]
            x = _double_round((x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15))
            state[i], state[w + i], state[2 * w + i], state[3 * w + i] = x[0], x[1], x[2], x[3]
            state[4 * w + i], state[5 * w + i], state[6 * w + i], state[7 * w + i] = x[4], x[5], x[6], x[7]
            state[8 * w + i], state[9 * w + i], state[10 * w + i], state[11 * w + i] = (
                x[8],
                x[9],
                x[10],
                x[11],
            )
            state[12 * w + i], state[13 * w + i], state[14 * w + i] = x[12], x[13], x[14]
            state[15 * w + i] = x[15]
    for i in range(w):
        at = 16 * i
        out[at], out[at + 1] = _add(state[i], _C0), _add(state[w + i], _C1)
        out[at + 2], out[at + 3] = _add(state[2 * w + i], _C2), _add(state[3 * w + i], _C3)
        for word in range(8):
            out[at + 4 + word] = _add(state[(4 + word) * w + i], key[word])
        for word in range(4):
            out[at + 12 + word] = _add(state[(12 + word) * w + i], lanes[word * w + i])


@lean_jit
def open_stream(stage: int, destination: int, segment: int, stream: Stream) -> None:
    """Make ``stream`` the keystream of nonce (stage, destination, segment), from its first byte."""
    stream[POSITION] = 0
    stream[END] = 0
    stream[COUNTER] = 0
    stream[_NONCE] = stage
    stream[_NONCE + 1] = destination
    stream[_NONCE + 2] = segment
    stream[_RUN_OUT] = 0


@lean_jit
def take_blocks(window: Words, first: int, n_blocks: int, stream: Stream) -> None:
    """Give a newly opened stream its blocks 0 to ``n_blocks - 1``, which lanes from ``first`` on made."""
    words = stream[:POSITION].view(np.uint32)
    for word in range(16 * n_blocks):
        words[word] = window[16 * first + word]
    stream[END] = BLOCK_BYTES * n_blocks
    stream[COUNTER] = n_blocks


@lean_jit
def read_ahead(key: Words, lanes: Words, stream: Stream) -> int:
    """Make the stream's next ``WIDTH`` blocks if no bytes are left; return how many bytes are available.

    This does not change the stream's output. Near the end of the stream fewer blocks may be left, or none.
    """
    if stream[POSITION] >= stream[END]:
        n_blocks = min(np.int64(WIDTH), BLOCK_LIMIT - stream[COUNTER])
        for lane in range(WIDTH):
            lanes[lane] = (stream[COUNTER] + lane) & _MASK
        for lane in range(3 * WIDTH):
            lanes[WIDTH + lane] = stream[_NONCE + lane // WIDTH]
        fill_blocks(key, lanes, stream[:POSITION].view(np.uint32))
        stream[COUNTER] += n_blocks
        stream[POSITION] = 0
        stream[END] = BLOCK_BYTES * n_blocks
    return stream[END] - stream[POSITION]  # type: ignore[no-any-return]  # NumPy types an element as Any


@lean_jit
def _refill(key: Words, stream: Stream) -> None:
    """Make the stream's next block, or mark the stream as run out."""
    if stream[COUNTER] >= BLOCK_LIMIT:
        # The caller discards the whole result; zeros make its rejection loops end.
        stream[_RUN_OUT] = 1
        for word in range(8):
            stream[word] = 0
    else:
        block(key, stream[COUNTER], stream[_NONCE:_RUN_OUT], stream[:POSITION].view(np.uint32))
        stream[COUNTER] += 1
    stream[POSITION] = 0
    stream[END] = BLOCK_BYTES


@lean_jit
def has_run_out(stream: Stream) -> bool:
    """Whether a stream was asked for more than its 2^32 blocks; then its output must not be used."""
    return bool(stream[_RUN_OUT] != 0)


@lean_jit
def next_word(key: Words, stream: Stream) -> int:
    """Next 32 bits of the stream, 0 to 2^32 - 1."""
    position = (stream[POSITION] + 3) & -4
    if position >= stream[END]:
        _refill(key, stream)
        position = np.int64(0)
    stream[POSITION] = position + 4
    return (stream[position >> 3] >> (8 * (position & 4))) & _MASK  # type: ignore[no-any-return]  # NumPy types an element as Any


@lean_jit
def half_at(stream: Stream, position: int) -> int:
    """The 16 bits at a position in the blocks at hand: an even number of bytes."""
    return (stream[position >> 3] >> (8 * (position & 6))) & 0xFFFF  # type: ignore[no-any-return]  # NumPy types an element as Any


@lean_jit
def word_in(words: Words, place: int) -> int:
    """One of the words at hand, as a number that may be shifted and multiplied."""
    return np.int64(words[np.uint64(place)])  # type: ignore[return-value]  # NumPy types a whole number as one of its own


@lean_jit
def half_in(halves: npt.NDArray[np.uint16], place: int) -> int:
    """One of the 16-bit numbers at hand, as a number that may be shifted and multiplied."""
    return np.int64(halves[np.uint64(place)])  # type: ignore[return-value]  # NumPy types a whole number as one of its own


@lean_jit
def next_half(key: Words, stream: Stream) -> int:
    """Next 16 bits of the stream, 0 to 65,535."""
    position = stream[POSITION]
    if position >= stream[END]:
        _refill(key, stream)
        position = np.int64(0)
    stream[POSITION] = position + 2
    return half_at(stream, position)


@lean_jit
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


@lean_jit
def fill_words(key: Words, stream: Stream, nonces: Ints, ptr: Ints, start: int, stop: int, out: Words) -> int:
    """First words of each of the streams ``start`` to ``stop - 1``; how many is given by CSR ``ptr``.

    ``stream`` is scratch space for one stream, ``nonces`` is int64[S, 3]. Returns the first stream that ran out, or -1.
    """
    for address in range(start, stop):
        open_stream(nonces[address, 0], nonces[address, 1], nonces[address, 2], stream)
        for position in range(ptr[address], ptr[address + 1]):
            out[position] = next_word(key, stream)
        if has_run_out(stream):
            return address
    return -1


@lean_jit
def fill_bounded(key: Words, stream: Stream, bound: int, out: Ints) -> None:
    """Fill ``out`` with integers in [0, bound) from one open stream."""
    for position in range(out.size):
        out[position] = below(key, stream, bound)
