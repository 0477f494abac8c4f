"""ChaCha20 in plain Python integers, written from RFC 8439, and the draws the engine documents."""

from collections.abc import Iterator, Sequence

TEST_KEY = bytes(range(32))
STAGES = {
    "EDIT": 1,
    "RETAIN": 2,
    "SAMPLE": 3,
    "REMAINDER": 4,
    "PLACE": 5,
    "REPRESENTATIVE": 6,
    "POINT": 7,
    "DIGEST": 8,
    "NOISE": 16,
    "TOTAL": 17,
    "ATTEMPT": 18,
    "MOVE": 19,
    "DEAL": 20,
    "FAR": 21,
    "CLEAN": 22,
    "TABLE": 23,
    "RECORD_SEED": 24,
    "RECORD_PASS": 25,
    "RECORD_SPLIT": 26,
    "RECORD_NOISE": 27,
    "RECORD_DRAW": 28,
    "RECORD_TOP_UP": 29,
    "RECORD_ENTROPY": 30,
    "RECORD_PLACE": 31,
    "CASCADE": 32,
}


def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """64 bytes of keystream (RFC 8439, section 2.3)."""
    constants = b"expand 32-byte k"
    start = [
        int.from_bytes(word, "little")
        for text in (constants, key, counter.to_bytes(4, "little"), nonce)
        for word in (text[at : at + 4] for at in range(0, len(text), 4))
    ]
    state = list(start)
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            for left, right, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[left] = (state[left] + state[right]) % 2**32
                mixed = state[turned] ^ state[left]
                state[turned] = (mixed << bits | mixed >> (32 - bits)) % 2**32
    mixed_in = ((now + before) % 2**32 for now, before in zip(state, start, strict=True))
    return b"".join(word.to_bytes(4, "little") for word in mixed_in)


class Stream:
    """The keystream of one nonce as an endless run of bytes."""

    def __init__(
        self, stage: str, destination: int, segment: int, *, attempt: int = 0, key: bytes = TEST_KEY
    ):
        tag = STAGES[stage] + 256 * attempt
        nonce = b"".join(word.to_bytes(4, "little") for word in (tag, destination, segment))
        self._bytes = self._keystream(key, nonce)
        self._n_read = 0

    @staticmethod
    def _keystream(key: bytes, nonce: bytes) -> Iterator[int]:
        counter = 0
        while True:
            yield from chacha20_block(key, counter, nonce)
            counter += 1

    def _integer(self, n_bytes: int) -> int:
        """The next bytes from the next multiple of their number on, least significant first."""
        while self._n_read % n_bytes:
            next(self._bytes)
            self._n_read += 1
        self._n_read += n_bytes
        return int.from_bytes(bytes(next(self._bytes) for _ in range(n_bytes)), "little")

    def half(self) -> int:
        return self._integer(2)

    def word(self) -> int:
        return self._integer(4)

    def below(self, bound: int) -> int:
        """Low bits of one word (two for wide bounds), again and again until less than ``bound``."""
        n_bits = (bound - 1).bit_length()
        if n_bits == 0:
            return 0
        while True:
            value = self.word()
            if n_bits > 32:
                value += self.word() << 32
            value %= 1 << n_bits
            if value < bound:
                return value


class WrittenStream(Stream):
    """A stream of given words, for draws that chance would never bring about."""

    def __init__(self, words: Sequence[int]):
        self._bytes = iter(b"".join(word.to_bytes(4, "little") for word in words))
        self._n_read = 0
