"""Candidates from seeds: a seed, its kept attributes, the others from the model, and the test, in exact integers.

Every candidate has streams of its own, addressed by its number. So the records depend on the key, the seeds, the model,
and the test, and not on threads or on how the tries are divided into chunks.

Source: P17 §2, Mechanism 1, and §3.2; docs/theory/synthetic-records.md, "Counting".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError, ParameterError
from engine.mechanisms.chances import digits_of, draw_with_digits, noise_digits
from engine.records.acceptance import Acceptance
from engine.records.drawing import blocks
from engine.records.groups import GroupTable, Seeds
from engine.records.kernels import candidates as kernels
from engine.records.tables import Codes, Model, check_codes
from engine.streams import SecretKey
from engine.threads import run_ranges

__all__ = ["Candidates", "check_n_seeds", "draw_candidates"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates that passed.

    Attributes
    ----------
    codes : int32[R, m]
        Their records, in the order of their numbers.
    number : int64[R]
        Their numbers. Confidential: which candidates failed is not published, and records are put in another order.
    """

    codes: Codes
    number: Ints

    @property
    def n_passed(self) -> int:
        """R."""
        return self.number.size


def check_n_seeds(n_min: int, asked: int) -> None:
    """Refuse fewer than 2 seeds, and more than are certain to be there (ParameterError); public numbers only."""
    if asked < 2:
        raise ParameterError(f"seeds: {asked:,} asked for; a seed hides among others: give at least 2")
    if asked > n_min:
        raise ParameterError(
            f"seeds: {asked:,} asked for, but only {n_min:,} are certain to exist (n min): ask for fewer, "
            "or raise n min"
        )


def draw_candidates(
    seeds: Codes | Seeds,
    groups: GroupTable,
    acceptance: Acceptance,
    model: Model,
    *,
    n: int,
    first: int = 0,
    key: SecretKey,
    threads: int = 1,
) -> Candidates:
    """Try candidates ``first`` to ``first + n - 1``.

    Parameters
    ----------
    seeds : int32[n_seeds, m] or Seeds
        Records, a row for each, at least 2. Columns are in the order in which the model draws. Only kept attributes
        are used.
    groups : GroupTable
        Of the kept attributes of these seeds, which are the first ones of the model.
    acceptance : Acceptance
    model : Model
        It draws the attributes that are not kept.
    n, first : int
        Tries one after the other are the same in one chunk or in many.
    key : SecretKey
        Draws come from stages RECORD_SEED and RECORD_PASS, addressed by the candidate's number.
    threads : int

    Returns
    -------
    Candidates
        Possibly none.

    Raises
    ------
    ParameterError
        There are fewer than 2 seeds, or the arrays do not agree.
    OverflowRefusedError
        A random stream ran past its end.
    """
    kept, domain = groups.radix.size, model.structure.domain
    if not isinstance(seeds, Seeds):
        rows, seeds = check_codes(seeds, domain), Seeds(domain[:kept])
        seeds.add(rows[:, :kept])
    prefixes = seeds.prefixes
    if prefixes.size < 2:
        raise ParameterError("there are fewer than 2 seeds: a seed hides among others")
    if groups.n_seeds != prefixes.size or not groups.radix.tolist() == list(seeds.domain) == list(
        domain[:kept]
    ):
        raise ParameterError(
            "the group table counts other seeds or other attributes: make it from these seeds"
        )
    if n < 0 or not 0 <= first <= (1 << 62) - n:
        raise ParameterError(f"candidates {first} to {first + n - 1}: allowed are 0 to 2^62")
    passed, codes = np.zeros(n, dtype=np.bool_), np.empty((n, len(domain)), dtype=np.int32)

    def draw(n_digits: int, short: Ints) -> list[int]:
        test = _acceptance_arrays(acceptance, n_digits)

        def over_range(start: int, stop: int) -> int:
            return kernels.candidates_range(
                (start, stop),
                first,
                prefixes,
                groups.arrays,
                test,
                model.tables,
                key.words,
                short,
                passed,
                codes,
            )

        return run_ranges(over_range, blocks(n), threads)

    if max(draw_with_digits(draw), default=-1) >= 0:
        raise OverflowRefusedError("a random stream passed its 2^32 blocks: draw with another key")
    return Candidates(codes[passed], first + np.flatnonzero(passed))


def _acceptance_arrays(acceptance: Acceptance, n_digits: int) -> kernels.AcceptanceArrays:
    """The test with its chances as digits in base 2^32; a chance of 0 has none."""
    rate, beta = acceptance.threshold_epsilon, acceptance.forced_fail
    noise = np.zeros((0, n_digits), dtype=np.int64) if rate is None else noise_digits(rate, n_digits)
    forced = np.zeros(0, dtype=np.int64) if beta == 0 else _rational_digits(beta, n_digits)
    return kernels.AcceptanceArrays(acceptance.min_plausible_seeds, acceptance.least_passing, forced, noise)


def _rational_digits(chance: Fraction, n_digits: int) -> Ints:
    """First digits of a chance; a draw that equals them all asks for more."""
    return digits_of(partial(_bounds, chance), n_digits)


def _bounds(chance: Fraction, bits: int) -> tuple[int, int]:
    exact = (chance.numerator << bits) // chance.denominator
    return exact, exact
