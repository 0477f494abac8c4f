"""The chance of an unsafe value as an exact fraction, for small cells and for decisions that bounds leave open."""

from fractions import Fraction

__all__ = ["exact_unsafe_probability"]


def exact_unsafe_probability(people: int, rate: Fraction, low: int, high: int) -> Fraction:
    """P(V < low or V > high) for V ~ Binomial(people, rate), from whole numbers.

    The cost grows with the square of the number of people.

    Parameters
    ----------
    people : int
        At least 0.
    rate : Fraction
        0 to 1.
    low, high : int
        Safe interval; if ``low > high``, every value is unsafe.
    """
    success, failure = rate.numerator, rate.denominator - rate.numerator
    if low > high:
        return Fraction(1)
    if success == 0 or failure == 0:
        certain = people if failure == 0 else 0
        return Fraction(not low <= certain <= high)
    # Terms C(people, k) success^k failure^(people - k); each follows from the one before without a remainder.
    term, unsafe = failure**people, 0
    for k in range(people + 1):
        if not low <= k <= high:
            unsafe += term
        term = term * ((people - k) * success) // ((k + 1) * failure)
    return Fraction(unsafe, rate.denominator**people)
