import copy
import pickle

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels import chacha
from engine.kernels.arrays import Words
from engine.streams import SecretKey, Stage, bounded_integers, check_addresses, stream_words
from tests.oracles.chacha import STAGES, TEST_KEY, Stream, chacha20_block

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6
WORD = st.integers(0, 2**32 - 1)


def block_bytes(key: bytes, counter: int, nonce: bytes) -> bytes:
    words = np.zeros(16, np.uint32)
    nonce_words = np.frombuffer(nonce, "<u4").astype(np.int64)
    chacha.block(np.frombuffer(key, "<u4").astype(np.uint32), counter, nonce_words, words)
    return words.astype("<u4").tobytes()


# RFC 8439, section 2.3.2 and appendix A.1, test vectors 1 to 5.
RFC_BLOCKS = [
    (
        bytes(range(32)),
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        bytes(32),
        0,
        "000000000000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "000000000000000000000000",
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        1,
        "000000000000000000000000",
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        "000000000000000000000000",
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    (
        bytes(32),
        0,
        "000000000000000000000002",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("key", "counter", "nonce", "expected"), RFC_BLOCKS)
def test_blocks_are_those_of_the_rfc(key: bytes, counter: int, nonce: str, expected: str) -> None:
    assert block_bytes(key, counter, bytes.fromhex(nonce)).hex() == expected
    assert chacha20_block(key, counter, bytes.fromhex(nonce)).hex() == expected


@given(st.binary(min_size=32, max_size=32), WORD, st.binary(min_size=12, max_size=12))
def test_blocks_are_those_of_the_cryptography_package(key: bytes, counter: int, nonce: bytes) -> None:
    cipher = Cipher(algorithms.ChaCha20(key, counter.to_bytes(4, "little") + nonce), mode=None)
    assert block_bytes(key, counter, nonce) == cipher.encryptor().update(bytes(64))


ONE = np.array([1])


def lanes_of(addresses: npt.ArrayLike) -> Words:
    """Lanes for (block number, three nonce words) of each, the room after them filled with rubbish."""
    room = np.full(chacha.LANE_WORDS - 4 * chacha.WIDTH, 77, np.uint32)
    return np.concatenate((np.asarray(addresses, np.uint32).T.ravel(), room))


@given(st.binary(min_size=32, max_size=32), st.data())
def test_blocks_made_together_are_those_made_one_by_one(key: bytes, data: st.DataObject) -> None:
    addresses = np.array(data.draw(st.lists(st.tuples(*[WORD] * 4), min_size=16, max_size=16)), np.uint32)
    lanes = lanes_of(addresses)
    together = np.zeros(chacha.WINDOW_WORDS, np.uint32)
    chacha.fill_blocks(np.frombuffer(key, "<u4").astype(np.uint32), lanes, together)
    for (counter, *nonce), words in zip(addresses.tolist(), together.reshape(chacha.WIDTH, 16), strict=True):
        assert words.tobytes() == block_bytes(key, counter, np.array(nonce, "<u4").tobytes())


@pytest.mark.jit_off
@given(WORD, WORD, st.integers(0, 2**24 - 1), st.integers(0, 70))
def test_words_are_the_twin_s(destination: int, segment: int, attempt: int, count: int) -> None:
    ptr, words = stream_words(
        KEY, Stage.POINT, np.array([destination]), np.array([segment]), np.array([count]), attempt=attempt
    )
    twin = Stream("POINT", destination, segment, attempt=attempt)
    assert words.tolist() == [twin.word() for _ in range(count)]
    assert ptr.tolist() == [0, count]


@pytest.mark.jit_off
@given(st.integers(1, 2**63 - 1) | st.integers(1, 2**34) | st.sampled_from([2**32, 2**32 + 1, 2**62]), WORD)
def test_bounded_integers_are_the_twin_s(bound: int, destination: int) -> None:
    twin = Stream("SAMPLE", destination, 5)
    values = bounded_integers(KEY, Stage.SAMPLE, destination, 5, bound=bound, count=20)
    assert values.tolist() == [twin.below(bound) for _ in range(20)]


@pytest.mark.parametrize("bound", [3, 5, 6, 7, 100])
def test_bounded_integers_are_uniform(bound: int) -> None:
    values = bounded_integers(KEY, Stage.SAMPLE, 11, 0, bound=bound, count=200_000)
    assert stats.chisquare(np.bincount(values, minlength=bound)).pvalue > FALSE_ALARM


def test_wide_bounded_integers_are_uniform() -> None:
    bound = 3 << 60  # a third of the range: a quarter of the masked draws are refused
    values = bounded_integers(KEY, Stage.SAMPLE, 12, 0, bound=bound, count=100_000)
    assert values.max() < bound
    assert stats.chisquare(np.bincount(values // (bound // 96), minlength=96)).pvalue > FALSE_ALARM


@pytest.mark.jit_off
@given(WORD, st.lists(st.sampled_from(["half", "word"]), max_size=60))
def test_halves_and_words_are_the_twin_s(destination: int, kinds: list[str]) -> None:
    stream = np.zeros(chacha.STREAM_FIELDS, np.int64)
    chacha.open_stream(STAGES["SAMPLE"], destination, 2, stream)
    twin = Stream("SAMPLE", destination, 2)
    read = {"half": chacha.next_half, "word": chacha.next_word}
    for kind in kinds:
        assert read[kind](KEY.words, stream) == getattr(twin, kind)()


@pytest.mark.jit_off
@pytest.mark.parametrize("n_blocks", [0, 1, 5, 16])
def test_a_stream_given_its_first_blocks_is_the_same_stream(n_blocks: int) -> None:
    plain, prepared = np.zeros((2, chacha.STREAM_FIELDS), np.int64)
    first = chacha.WIDTH - n_blocks
    others = [(5, 6, 7, 8)] * first
    lanes = lanes_of([*others, *((counter, 2, 77, 5) for counter in range(n_blocks))])
    window = np.zeros(chacha.WINDOW_WORDS, np.uint32)
    chacha.fill_blocks(KEY.words, lanes, window)
    chacha.open_stream(2, 77, 5, plain)
    chacha.open_stream(2, 77, 5, prepared)
    chacha.take_blocks(window, first, n_blocks, prepared)
    for _ in range(600):
        assert chacha.next_word(KEY.words, plain) == chacha.next_word(KEY.words, prepared)


@given(st.integers(0, 40), st.lists(st.integers(0, 300), max_size=4))
def test_reading_ahead_changes_nothing_but_what_is_at_hand(n_before: int, counts: list[int]) -> None:
    plain, ahead = np.zeros((2, chacha.STREAM_FIELDS), np.int64)
    lanes = lanes_of([(1, 2, 3, 4)] * chacha.WIDTH)
    for stream in (plain, ahead):
        chacha.open_stream(2, 77, 5, stream)
    for count in (n_before, *counts):
        for _ in range(count):
            assert chacha.next_half(KEY.words, plain) == chacha.next_half(KEY.words, ahead)
        at_hand = chacha.read_ahead(KEY.words, lanes, ahead)
        assert 0 < at_hand <= chacha.WIDTH * chacha.BLOCK_BYTES
    for _ in range(600):
        assert chacha.next_word(KEY.words, plain) == chacha.next_word(KEY.words, ahead)


@pytest.mark.jit_off
@pytest.mark.parametrize("reads_ahead", [False, True])
@pytest.mark.parametrize("n_left", [1, 3, 16, 20])
def test_a_stream_that_ends_says_so_and_lets_rejection_loops_end(n_left: int, reads_ahead: bool) -> None:
    stream = np.zeros(chacha.STREAM_FIELDS, np.int64)
    chacha.open_stream(STAGES["SAMPLE"], 1, 2, stream)
    stream[chacha.COUNTER] = 2**32 - n_left
    nonce = bytes.fromhex("030000000100000002000000")
    for counter in range(2**32 - n_left, 2**32):
        keystream = chacha20_block(TEST_KEY, counter, nonce)
        if reads_ahead:
            assert chacha.read_ahead(KEY.words, lanes_of([(1, 2, 3, 4)] * 16), stream) <= 64 * n_left
        for at in range(0, 64, 4):
            word = int.from_bytes(keystream[at : at + 4], "little")
            assert chacha.next_word(KEY.words, stream) == word
    if reads_ahead:
        assert chacha.read_ahead(KEY.words, lanes_of([(1, 2, 3, 4)] * 16), stream) == 0
    assert not chacha.has_run_out(stream)
    values = np.empty(40, np.int64)
    chacha.fill_bounded(KEY.words, stream, 7, values)
    assert chacha.has_run_out(stream)
    assert values.tolist() == [0] * 40


def test_words_are_the_twin_s_and_do_not_depend_on_threads() -> None:
    destination, segment, count = np.arange(40), np.arange(40) % 27, np.arange(40) % 7
    ptr, words = stream_words(KEY, Stage.POINT, destination, segment, count)
    again = stream_words(KEY, Stage.POINT, destination, segment, count, threads=3)[1]
    assert words.tobytes() == again.tobytes()
    for one in range(40):
        twin = Stream("POINT", one, one % 27)
        assert words[ptr[one] : ptr[one + 1]].tolist() == [twin.word() for _ in range(count[one])]
    drawn = stream_words(KEY, Stage.POINT, ONE, ONE, 100_000 * ONE)[1] / 2.0**32
    assert stats.kstest(drawn, "uniform").pvalue > FALSE_ALARM


@pytest.mark.jit_off
def test_stages_and_attempts_have_their_own_streams() -> None:
    assert {stage.name: int(stage) for stage in Stage} == STAGES
    first = {
        stream_words(KEY, stage, 9 * ONE, 4 * ONE, 2 * ONE, attempt=attempt)[1].tobytes()
        for stage in Stage
        for attempt in (0, 1)
    }
    assert len(first) == 2 * len(Stage)


@pytest.mark.jit_off
def test_the_key_shows_itself_nowhere() -> None:
    key = SecretKey.fresh()
    assert (repr(key), str(key), f"{key}") == ("SecretKey(hidden)",) * 3
    assert not key.is_test
    assert KEY.is_test
    assert KEY.words.astype("<u4").tobytes() == TEST_KEY
    assert key.words.tobytes() != SecretKey.fresh().words.tobytes()
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            leak(key)
    with pytest.raises(TypeError):
        vars(key)
    with pytest.raises(ParameterError, match="fresh"):
        SecretKey()
    with pytest.raises(ValueError, match="read-only"):
        key.words[0] = 1


@pytest.mark.jit_off
def test_the_keyed_digest_depends_on_key_and_message() -> None:
    assert KEY.keyed_digest(b"counts") == SecretKey.for_tests().keyed_digest(b"counts")
    assert (
        len(
            {
                KEY.keyed_digest(b"counts"),
                KEY.keyed_digest(b"other"),
                SecretKey.fresh().keyed_digest(b"counts"),
            }
        )
        == 3
    )


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("destination", "segment", "message"),
    [
        ([1, 2, 1], [5, 5, 5], "destination 1, segment 5 occurs twice"),
        ([2**32], [0], "allowed are 0 to 4294967295"),
        ([0], [-1], "allowed are 0 to 4294967295"),
        ([0.5], [1], "integer array"),
        ([1, 2], [1], "give one of each"),
    ],
)
def test_bad_addresses_are_refused(destination: list[float], segment: list[int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_addresses(np.array(destination), np.array(segment))


@pytest.mark.jit_off
def test_other_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="attempt"):
        stream_words(KEY, Stage.POINT, ONE, ONE, ONE, attempt=2**24)
    with pytest.raises(ParameterError, match="give one per address"):
        stream_words(KEY, Stage.POINT, ONE, ONE, np.array([1, 2]))
    for bound in (0, 2**63):
        with pytest.raises(ParameterError, match="bound"):
            bounded_integers(KEY, Stage.POINT, 1, 1, bound=bound, count=1)
    with pytest.raises(ParameterError, match="threads"):
        stream_words(KEY, Stage.POINT, ONE, ONE, ONE, threads=0)
    assert issubclass(OverflowRefusedError, ValueError)
