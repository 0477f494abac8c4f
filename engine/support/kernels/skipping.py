"""Pruning without looking at every support point: exact jumps from one candidate to the next.

The points of a destination tract are sorted into classes by their retention probability f. In class c < 9
the points have 2^-(c+1) < f <= 2^-c (class 8 has all smaller ones as well). Every point of the class is a
*candidate* with probability exactly 2^-c, and a candidate stays with probability exactly f 2^c. Candidates
are reached by jumps: with q = 1 - 2^-c, a jump passes over at least j points with probability q^j, which is
the chance that a uniform number U lies below q^j.

Each jump uses one word of the stream. Its low ``CELL_BITS`` bits are the first digits of U: a table says
which jump they mean, unless some q^j has the same digits; then another word is read, and where even that
leaves it open (chance below 2^-33), q^j is worked out to its last bit. Its high bits are the first digits
of the number that decides whether the candidate stays. The longest jump in the table has no candidate at
its end: the next word goes on from there, as the past does not matter to what is still to come.

The loop over candidates indexes by unsigned numbers: for a signed one, compiled code first looks whether it is negative
and counts from the end.

Symbols: c class, j jump, q = 1 - 2^-c, f retention probability in units of 2^-32.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Indices, Ints, Words
from engine.kernels.chacha import END, POSITION, next_word, word_in
from engine.kernels.units import RETENTION_BITS

__all__ = [
    "CERTAIN_CLASS",
    "JUMP_DIGITS",
    "JUMP_TABLES",
    "N_CLASSES",
    "ClassLists",
    "JumpTables",
    "KeptPoints",
    "keep_by_chance",
    "point_of",
    "sort_into_classes",
]

LAST_CLASS = 8
CERTAIN_CLASS = LAST_CLASS + 1
N_CLASSES = CERTAIN_CLASS + 1

CELL_BITS = 12
_LOW_BITS = (1 << CELL_BITS) - 1
_LONG_BITS = CELL_BITS + 32
# Longest jump of one word, in units of 2^c points: passed over with probability about e^-4.
_SPAN = 4
JUMP_DIGITS = LAST_CLASS * (_SPAN << LAST_CLASS) // 16 + 1
"""Scratch space, in digits of 16 bits, that :func:`keep_by_chance` needs."""

_POINT_BITS = 31
_POINT_MASK = (1 << _POINT_BITS) - 1
_LAST_THRESHOLD = (1 << RETENTION_BITS) - 1


class JumpTables(NamedTuple):
    """By class: the jump for every first digits of U; and floor(2^44 q^j) from j = 0 on.

    Where the first digits leave the jump open, the cell holds -1 less the shortest jump that they allow.
    """

    cells: npt.NDArray[np.int16]
    powers: Ints


class ClassLists(NamedTuple):
    """The points of each (tract, class): CSR offsets, and a number for each point that holds it and its threshold.

    The low 31 bits of ``entry`` are the local point (:func:`point_of`), the others its retention probability in units
    of 2^-32; 1, which no jump asks for, is stored as the number before it. A candidate's threshold is in the
    cache line of its point: in an array of its own it was what a jump mostly waited for.
    """

    ptr: Ints
    entry: Ints


class KeptPoints(NamedTuple):
    """Kept points of one synthesizer (room for k + 1), a mark for each point, and the mark of those already kept."""

    point: Indices
    marks: Ints
    mark: int


def _jump_tables() -> JumpTables:
    cells = np.zeros((LAST_CLASS + 1, 1 << CELL_BITS), dtype=np.int16)
    powers = np.zeros((LAST_CLASS + 1, (_SPAN << LAST_CLASS) + 1), dtype=np.int64)
    powers[:, 0] = 1 << _LONG_BITS
    for c in range(1, LAST_CLASS + 1):
        top = 1 << CELL_BITS
        for j in range(1, (_SPAN << c) + 1):
            numerator = ((1 << c) - 1) ** j
            powers[c, j] = (numerator << _LONG_BITS) >> (c * j)
            first_below, rest = divmod(numerator << CELL_BITS, 1 << (c * j))
            # Digits from first_below (more, if q^j has more bits) up to the last power's cell mean j - 1.
            cells[c, first_below + (rest > 0) : top] = j - 1
            # Of several powers in a cell, the first allows the shortest jump.
            if rest and cells[c, first_below] >= 0:
                cells[c, first_below] = -j
            top = min(top, first_below)
        cells[c, :top] = _SPAN << c
    return JumpTables(cells, powers)


JUMP_TABLES = _jump_tables()


@lean_jit
def _class_of(threshold: int) -> int:
    """Class of a retention probability, ``CERTAIN_CLASS`` for 1."""
    if threshold >= 1 << RETENTION_BITS:
        return CERTAIN_CLASS
    retention_class = 0
    for c in range(1, LAST_CLASS + 1):
        retention_class += threshold <= 1 << (RETENTION_BITS - c)
    return retention_class


@lean_jit
def _count_classes(threshold: Ints, n_of: Ints) -> None:
    """Count the points of each class; points of one class often follow each other, and one look tells that they do."""
    for c in range(N_CLASSES):
        n_of[c] = 0
    above, up_to = 1, 0  # the thresholds of no class
    run, c = 0, 0
    for point_threshold in threshold:
        if above < point_threshold <= up_to:
            run += 1
            continue
        n_of[c] += run
        c, run = _class_of(point_threshold), 1
        above, up_to = _bounds_of(c)
    n_of[c] += run


@lean_jit
def _bounds_of(c: int) -> tuple[int, int]:
    """The thresholds of a class: above the first number, up to the second."""
    if c == CERTAIN_CLASS:
        return (1 << RETENTION_BITS) - 1, 1 << RETENTION_BITS
    up_to = min(1 << (RETENTION_BITS - c), (1 << RETENTION_BITS) - 1)
    return (0, up_to) if c == LAST_CLASS else (1 << (RETENTION_BITS - c - 1), up_to)


@lean_jit
def sort_into_classes(
    support_ptr: Ints, threshold: Ints, n_of: Ints, class_ptr: Ints, class_entry: Ints
) -> None:
    """Sort the points of each tract by class, in point order within a class.

    ``class_ptr`` (int64[T * N_CLASSES + 1]) receives the CSR offsets of (tract, class) and ``class_entry``
    (int64[K]) the entries of :class:`ClassLists`; ``n_of`` is room for N_CLASSES numbers.
    """
    for tract in range(support_ptr.size - 1):
        first, last = support_ptr[tract], support_ptr[tract + 1]
        here, entries = threshold[first:last], class_entry[first:last]
        _count_classes(here, n_of)
        at = np.int64(0)
        for c in range(N_CLASSES):
            class_ptr[tract * N_CLASSES + c] = first + at
            at += n_of[c]
            n_of[c] = at - n_of[c]
        above, up_to = 1, 0
        c, place = 0, n_of[0]
        for point in range(here.size):
            if not above < here[point] <= up_to:
                n_of[c] = place
                c = _class_of(here[point])
                above, up_to = _bounds_of(c)
                place = n_of[c]
            entries[np.uint64(place)] = min(here[point], _LAST_THRESHOLD) << _POINT_BITS | point
            place += 1
    class_ptr[class_ptr.size - 1] = threshold.size


@lean_jit
def point_of(entry: int) -> int:
    """The local point of an entry of :class:`ClassLists`."""
    return entry & _POINT_MASK


@lean_jit
def _fill_numerator(c: int, j: int, digits: Ints) -> None:
    """Fill the digits, of 16 bits and least first, of (2^c - 1)^j."""
    for at in range(digits.size):
        digits[at] = 0
    digits[0] = 1
    for _ in range(j):
        carry = np.int64(0)
        for at in range(c * j // 16 + 1):
            carry += digits[at] * ((1 << c) - 1)
            digits[at] = carry & 0xFFFF
            carry >>= 16


@lean_jit
def _is_below_power(key: Words, stream: Ints, c: int, j: int, digits: Ints) -> bool:
    """Whether U lies below q^j, when all its digits read so far are those of q^j: read on until they differ."""
    _fill_numerator(c, j, digits)
    n_bits = c * j
    for start in range(_LONG_BITS, n_bits, 32):
        wanted = np.int64(0)
        for bit in range(n_bits - 1 - start, n_bits - 33 - start, -1):
            wanted <<= 1
            if bit >= 0:
                wanted |= (digits[bit >> 4] >> (bit & 15)) & 1
        drawn = next_word(key, stream)
        if drawn != wanted:
            return bool(drawn < wanted)
    return False


@lean_jit
def _long_jump(key: Words, stream: Ints, powers: Ints, digits: Ints, c: int, cell: int, shortest: int) -> int:
    """Jump of a U whose first digits do not decide it: the greatest j up to the limit with U < q^j.

    The search begins at the ``shortest`` jump that the first digits allow; few others are possible.

    After one more word, at most one power may still have all the digits of U: q^j = (2^c - 1)^j / 2^(c j), of
    c j bits, the last of them 1. Its numerator is worked out and compared with U word by word until they differ; a U
    that is equal to the end does not lie below.
    """
    drawn = (cell << 32) | next_word(key, stream)
    limit = _SPAN << c
    jump = shortest
    while jump < limit and drawn < powers[c, jump + 1]:
        jump += 1
    if jump == limit or drawn != powers[c, jump + 1]:
        return jump
    return jump + 1 if _is_below_power(key, stream, c, jump + 1, digits) else jump


@lean_jit
def keep_by_chance(
    key: Words,
    stream: Ints,
    tables: JumpTables,
    digits: Ints,
    classes: ClassLists,
    tract: int,
    kept: KeptPoints,
    n_kept: int,
) -> int:
    """Add the points of a tract that stay by chance to the kept ones; return how many are kept now.

    The words read from the stream depend only on the tract's classes and thresholds. ``digits`` is scratch space for
    ``JUMP_DIGITS`` digits.
    """
    # The place in the stream is a local number: if it were written to memory, every jump would wait for the one before.
    words, marks, mark = stream[:POSITION].view(np.uint32), kept.marks, kept.mark
    place, end = (stream[POSITION] + 3) >> 2, stream[END] >> 2
    for c in range(CERTAIN_CLASS):
        at = classes.ptr[tract * N_CLASSES + c]
        last = classes.ptr[tract * N_CLASSES + c + 1]
        cells = tables.cells[c]
        while at < last:
            if place < end:
                word = word_in(words, place)
                place += 1
            else:
                stream[POSITION] = place << 2
                word = next_word(key, stream)
                place, end = stream[POSITION] >> 2, stream[END] >> 2
            jump = int(cells[np.uint64(word & _LOW_BITS)])
            if jump < 0:
                stream[POSITION] = place << 2
                jump = _long_jump(key, stream, tables.powers, digits, c, word & _LOW_BITS, -1 - jump)
                place, end = stream[POSITION] >> 2, stream[END] >> 2
            at += jump
            if at >= last or jump == _SPAN << c:
                continue
            entry = classes.entry[np.uint64(at)]
            at += 1
            point = np.uint64(entry & _POINT_MASK)
            chance = (entry >> _POINT_BITS) << c
            drawn, wanted = word >> CELL_BITS, chance >> CELL_BITS
            stays = drawn < wanted
            if drawn == wanted:
                stream[POSITION] = place << 2
                stays = (next_word(key, stream) & _LOW_BITS) < (chance & _LOW_BITS)
                place, end = stream[POSITION] >> 2, stream[END] >> 2
            # Without a branch, which would be mispredicted whenever a candidate does not stay.
            before = marks[point]
            kept.point[np.uint64(n_kept)] = point
            n_kept += stays & (before != mark)
            marks[point] = mark if stays else before
    stream[POSITION] = place << 2
    return n_kept
