"""What the text of a cell of a published table means: a count, a mark for a suppressed count, or a range."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from engine.suppression.tables_given import LARGEST, SUPPRESSED
from mapapp.base.errors import UsageError

__all__ = ["MARKS", "Conventions", "Meaning", "conventions_of", "printable"]

STAR: Final = "*"
MARKS: Final = frozenset(
    {STAR, "**", "***", "(D)", "D", "(S)", "S", "c", "[c]", "(c)", ":c", ": c", "x", "X", "[x]", ".."}
)
"""Marks of offices for a suppressed cell that mean nothing else in a table of counts."""
_AMBIGUOUS: Final = frozenset({"-", "–", "—", ":", ".", "...", "…", "z", "[z]"})
"""Marks of some offices for a suppressed cell, and of others for zero."""
_AS_SUPPRESSED: Final = "suppressed"
_AS_ZERO: Final = "zero"
_SEPARATORS: Final = {",": ",", ".": ".", "'": "'’", "space": " \u00a0\u2009\u202f"}
_WHOLE: Final = re.compile(r"[0-9]+")
_GROUPED: Final = re.compile(
    r"[0-9]{1,3}(?P<mark>[,.'’ \u00a0\u2009\u202f])[0-9]{3}(?:(?P=mark)[0-9]{3})*(?:[.,]0{1,2})?"
)
_NO_FRACTION: Final = re.compile(r"(?P<whole>[0-9]+)[.,]0{1,2}")
_POWER: Final = re.compile(r"(?P<first>[0-9])(?:\.(?P<more>[0-9]+))?e\+(?P<zeros>[0-9]{1,2})")
"""As R and Python write a count. A spreadsheet writes E and rounds, so that is refused."""
_RANGE: Final = re.compile(r"(?P<low>[0-9]+)\s*(?:-|–|—|\.\.|to)\s*(?P<high>[0-9]+)")
_BELOW: Final = re.compile(r"(?P<sign><=?|≤|>=?|≥)\s*(?P<number>[0-9]+)")
_NEGATIVE: Final = re.compile(r"[-−–]\s*[0-9]|\([0-9]")
_FRACTION: Final = re.compile(r"[0-9]*[.,][0-9]+|[0-9.]+[eE][-+]?[0-9]+")
_SAID_RANGE: Final = re.compile(r"(?P<text>.+)=\s*(?P<low>[0-9]{1,12})\.\.(?P<high>[0-9]{1,12})?")
_ROUNDED: Final = re.compile(r"(?P<how>nearest:|random:)?(?P<base>[0-9]{1,6})")


class Meaning(NamedTuple):
    """The values that a cell can have.

    Attributes
    ----------
    value : int
        The count, or ``SUPPRESSED``.
    low : int
        Smallest value.
    high : int
        Largest value; ``SUPPRESSED`` without a limit.
    """

    value: int
    low: int = 0
    high: int = SUPPRESSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """How a publisher writes cells, as far as the table does not say it by itself.

    Attributes
    ----------
    marks, zeros : tuple of str
        Further texts of a suppressed cell, and of zero.
    shown : tuple of str
        Flags beside a count that is as published.
    ranges : dict of str to (int, int)
        Texts, marks among them, that mean from one number to another; ``SUPPRESSED`` without an upper end.
    thousands : str
        The separator of thousands: a key of ",", ".", "'", "space"; "" if nothing is said.
    base : int
        Counts, and each total by itself, are rounded to multiples of this; 1 if they are not rounded.
    is_random : bool
        They are rounded up or down, not to the nearest multiple.
    read : Counter of (str, str)
        Filled while tables are read: which text was read as what, in words, and in how many cells.
    subtotals : list of str
        The same of the rows that are sums of others.
    """

    marks: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    thousands: str = ""
    base: int = 1
    is_random: bool = False
    read: Counter[tuple[str, str]] = field(default_factory=Counter, compare=False)
    subtotals: list[str] = field(default_factory=list, compare=False)

    def meaning(self, text: str, delimiter: str = ",") -> Meaning:
        """Read the text of one cell.

        Raises
        ------
        UsageError
            It is no count and no mark, or can be read in two ways; the message does not name the cell.
        """
        if text in self.ranges:
            return self._range(text, *self.ranges[text])
        if text in self.marks or (text in MARKS and text not in self.zeros):
            if text != STAR:
                self.read[text, _AS_SUPPRESSED] += 1
            return Meaning(SUPPRESSED)
        if text in self.zeros:
            self.read[text, _AS_ZERO] += 1
            return self._count(0, text)
        if text in _AMBIGUOUS:
            raise UsageError(
                f"{printable(text)} can be zero or suppressed; say which with --zero or --mark, such as --mark='{text}'"
            )
        number = self._number(text, delimiter)
        if number is not None:
            return self._count(number, text)
        return self._range(text, *_range_of(text))

    def flagged(self, text: str, flag: str, delimiter: str = ",") -> Meaning:
        """Read the text of one cell that has a flag in the column after it; offices write 0 where they suppress.

        Raises
        ------
        UsageError
            As :meth:`meaning`, or the flag does not go with the count.
        """
        if not flag or flag in self.shown:
            return self.meaning(text, delimiter)
        if flag not in MARKS and flag not in self.marks and flag not in self.ranges:
            raise UsageError(
                f"the flag {printable(flag)} can mean suppressed or not; say which with --mark or --shown, such as "
                f"--shown={printable(flag)}"
            )
        if text not in ("", "0", flag) and text not in MARKS and text not in self.marks:
            raise UsageError(
                f"{printable(text)} with the flag {printable(flag)} is shown and suppressed; if counts with this flag "
                f"are as published, give --shown={printable(flag)}"
            )
        if flag in self.ranges:
            return self._range(flag, *self.ranges[flag])
        self.read[f"{text or 'empty'} with the flag {flag}", _AS_SUPPRESSED] += 1
        return Meaning(SUPPRESSED)

    def is_flag_column(self, texts: Sequence[str]) -> bool:
        """Whether the texts of a column can be flags: some cells are empty, and all others are no counts."""
        return any(texts) and not all(texts) and not any(re.search("[0-9]", text) for text in texts)

    @property
    def has_ranges(self) -> bool:
        """Whether a table that was read has ranges, or counts that are rounded."""
        return any(meaning not in (_AS_SUPPRESSED, _AS_ZERO) for _, meaning in self.read)

    def read_as(self) -> dict[str, int]:
        """What was read as what, and in how many cells; nothing if all cells are plain counts or stars."""
        return {f"{printable(text)} as {meaning}": n for (text, meaning), n in sorted(self.read.items())}

    def lines(self) -> list[str]:
        """The same in one sentence; none if there is nothing to say."""
        parts = [f"{text} ({n:,} {'cell' if n == 1 else 'cells'})" for text, n in self.read_as().items()]
        parts += self.subtotals
        return [f"Read: {'; '.join(parts)}."] if parts else []

    def _range(self, text: str, low: int, high: int) -> Meaning:
        _check_size(text, max(low, high))
        until = "or more" if high == SUPPRESSED else f"to {high:,}"
        self.read[text, f"{low:,} {until}"] += 1
        return Meaning(SUPPRESSED, low, high)

    def _count(self, number: int, text: str) -> Meaning:
        _check_size(text, number)
        if self.base == 1:
            return Meaning(number, number, number)
        if number % self.base:
            raise UsageError(f"{text} is no multiple of {self.base}; correct it, or leave out --rounded")
        # To the nearest of an even base, a tie may have gone up or down.
        away = self.base - 1 if self.is_random else self.base // 2
        self.read["counts", f"rounded to {self.base}, at most {away} away"] += 1
        return Meaning(SUPPRESSED, max(number - away, 0), number + away)

    def _number(self, text: str, delimiter: str) -> int | None:
        if _WHOLE.fullmatch(text):
            return int(text)
        match = _GROUPED.fullmatch(text)
        if match:
            mark = match["mark"]
            is_said = bool(self.thousands) and mark in _SEPARATORS[self.thousands]
            # A point, and beside semicolons a comma, could begin a fraction.
            if is_said or not (self.thousands or mark == "." or (mark == "," and delimiter == ";")):
                whole = re.split(r"[.,](?=0{1,2}$)", text)[0]
                return int(re.sub(r"[^0-9]", "", whole))
            if mark in ",.":
                raise UsageError(
                    f"{text} is not a whole number, unless {mark} separates thousands; then give --thousands {mark}"
                )
        match = _NO_FRACTION.fullmatch(text)
        if match:
            return int(match["whole"])
        match = _POWER.fullmatch(text)
        if match and len(match["more"] or "") <= int(match["zeros"]):
            more = match["more"] or ""
            return int(match["first"] + more + "0" * (int(match["zeros"]) - len(more)))
        return None


def conventions_of(
    marks: Sequence[str],
    zeros: Sequence[str],
    ranges: Sequence[str],
    thousands: str,
    rounded: str,
    shown: Sequence[str] = (),
) -> Conventions:
    """Read what options say about a publisher's tables.

    Raises
    ------
    UsageError
        An option cannot be read, or two contradict each other.
    """
    by_text: dict[str, tuple[int, int]] = {}
    for said in ranges:
        match = _SAID_RANGE.fullmatch(said.strip())
        if match is None or (match["high"] is not None and int(match["high"]) < int(match["low"])):
            raise UsageError(f"--range {said!r}: give MARK=LOW..HIGH with whole numbers, such as *=1..9")
        high = SUPPRESSED if match["high"] is None else int(match["high"])
        by_text[match["text"].strip()] = (int(match["low"]), high)
    flags = tuple(flag.strip() for flag in shown)
    texts = [*(mark.strip() for mark in marks), *(zero.strip() for zero in zeros), *flags, *by_text]
    for text in texts:
        if not text or _WHOLE.fullmatch(text):
            raise UsageError(f"{text!r} cannot be a mark; give the text of a cell that is no number")
        if texts.count(text) > 1:
            raise UsageError(
                f"{text!r} has two meanings; give it to one of --mark, --zero, --shown, and --range"
            )
    base, is_random = 1, False
    if rounded:
        match = _ROUNDED.fullmatch(rounded.strip())
        if match is None or int(match["base"]) < 2:
            raise UsageError(f"--rounded {rounded!r}: give a number from 2, such as 5, or random:5")
        base, is_random = int(match["base"]), match["how"] == "random:"
    return Conventions(
        marks=tuple(mark.strip() for mark in marks),
        zeros=tuple(zero.strip() for zero in zeros),
        shown=flags,
        ranges=by_text,
        thousands=thousands,
        base=base,
        is_random=is_random,
    )


def printable(text: str) -> str:
    """Untrusted text, short and safe to show."""
    return "".join(mark if mark.isprintable() else f"U+{ord(mark):04X}" for mark in text[:40])


def _range_of(text: str) -> tuple[int, int]:
    """The ends of a range; UsageError for anything else."""
    match = _RANGE.fullmatch(text)
    if match and int(match["low"]) <= int(match["high"]):
        return int(match["low"]), int(match["high"])
    match = _BELOW.fullmatch(text)
    if match:
        number, sign = int(match["number"]), match["sign"]
        if sign[0] in ">≥":
            return number + (sign == ">"), SUPPRESSED
        if number - (sign == "<") >= 0:
            return 0, number - (sign == "<")
    if not text:
        raise UsageError("empty; write * for a suppressed cell and 0 for zero")
    if _NEGATIVE.match(text):
        raise UsageError(f"{printable(text)} is negative; give counts of at least 0")
    if _FRACTION.fullmatch(text):
        raise UsageError(f"{printable(text)} is not a whole number; give counts, not rates")
    raise UsageError(
        f"{printable(text)!r} is no count; write a whole number, a range such as 1-9, or * for a suppressed cell; "
        "--mark names another mark"
    )


def _check_size(text: str, number: int) -> None:
    if number > LARGEST:
        raise UsageError(f"{printable(text)} is too large; counts may be up to {LARGEST:,}")
