"""Chances as fractions, drawn by their binary digits, and guesses of how many workers a table frees."""

import math
from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Ints, Words
from engine.kernels.chacha import next_half

__all__ = ["Chance", "FreedGuess", "chance_of", "first_guess", "happens", "is_slow", "next_guess"]


_SHORT_WHOLE = 1 << 46  # below it, 16 digits at once stay below 2^63


class Chance(NamedTuple):
    """A chance as a fraction: its first 16 binary digits, and rest / whole of a unit of the last of them."""

    digit: int
    rest: int
    whole: int


class FreedGuess(NamedTuple):
    """How many workers a round expects to free, and the guesses that were too few and too many in earlier rounds."""

    freed: int
    too_few: int
    too_many: int


@lean_jit
def _next_digit(rest: int, whole: int) -> tuple[int, int]:
    """Next 16 binary digits of rest / whole, at most 1, and what is left; doubling stays below 2^63."""
    if whole < _SHORT_WHOLE:
        digit = (rest << 16) // whole
        return digit, (rest << 16) - digit * whole
    digit = 0
    for _ in range(16):
        rest, digit = rest << 1, digit << 1
        if rest >= whole:
            rest, digit = rest - whole, digit + 1
    return digit, rest


@lean_jit
def chance_of(part: int, whole: int) -> Chance:
    """The chance part / whole, for whole below 2^62."""
    if part == whole:
        return Chance(1 << 16, 0, whole)
    digit, rest = _next_digit(part, whole)
    return Chance(digit, rest, whole)


@lean_jit
def happens(key: Words, stream: Ints, chance: Chance) -> bool:
    """Draw an event of this chance: whether a uniform number, drawn 16 digits at a time, is below it."""
    drawn, digit, rest = next_half(key, stream), chance.digit, chance.rest
    while drawn == digit and rest > 0:
        digit, rest = _next_digit(rest, chance.whole)
        drawn = next_half(key, stream)
    return bool(drawn < digit)


@lean_jit
def _root(value: int) -> int:
    """Whole part of the square root of 0 to 2^62."""
    root = int(math.sqrt(value))
    while root * root > value:
        root -= 1
    while (root + 1) * (root + 1) <= value:
        root += 1
    return root


@lean_jit
def first_guess(n_occupied: int, n_points: int, numerator: int, denominator: int) -> int:
    """About the number of workers freed where few of each point are: F with F^2 = s theta (F + k)."""
    # In units of 2^-8 of a worker; s theta is below 2^22 workers, and k below 2^20.
    product = (((n_occupied * numerator) << 8) // denominator) >> 1
    return (product + _root(product * product + ((product * n_points) << 9))) >> 8


@lean_jit
def is_slow(ratio: Chance, count: int) -> bool:
    """Whether a geometric number of this ratio is likely to pass ``count``: (count + 1) (1 - ratio) is below 1."""
    return (count + 1) * ((1 << 16) - ratio.digit) < 1 << 16


@lean_jit
def next_guess(guess: FreedGuess, total: int, likeliest: int, n_workers: int) -> FreedGuess:
    """The guess after a round that freed ``total`` workers, with another ``likeliest`` number, and was not accepted.

    It lies half-way between the two, where they agree better, unless an earlier round found that to be too few or too
    many.
    """
    here, too_few, too_many = min(max(guess.freed, 1), n_workers), guess.too_few, guess.too_many
    if total > likeliest:
        too_few = here
    else:
        too_many = here
    if too_many - too_few <= 1:
        # Chance led the search astray, or the guess is right and the round was bad luck.
        too_few, too_many = 0, n_workers + 1
    freed = (total + likeliest) >> 1
    if not too_few < freed < too_many:
        # One worker more in few points may free all of them instead of hardly any: halve what is left.
        freed = (too_few + too_many) >> 1
    return FreedGuess(freed, too_few, too_many)
