"""Phrases that contain numbers: distances, ages, earnings, coordinates, and years."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from mapapp.question.filters import BANDS, CHARACTERISTICS
from mapapp.question.sentence.meanings import Bands, Meaning, Miles, Missing, Near, Point, Year

_SPELLED: Final = {
    "half a": 0.5,
    "a half": 0.5,
    "a quarter": 0.25,
    "quarter": 0.25,
    "half": 0.5,
    "a": 1.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "seven": 7.0,
    "eight": 8.0,
    "nine": 9.0,
    "ten": 10.0,
    "fifteen": 15.0,
    "twenty": 20.0,
    "twenty five": 25.0,
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "fifty five": 55.0,
    "one hundred": 100.0,
    "a hundred": 100.0,
}
_NUMBER: Final = (
    r"(-?\d+(?:\.\d+)?|" + "|".join(sorted(_SPELLED, key=len, reverse=True)) + r")(?: (k|thousand))?(?![^\s])"
)
_MILES: Final = r"(miles?|mi|kilometers?|kilometres?|kms?)"
_MI_PER_KM: Final = 0.621371192
_OF: Final = r"(?:of|from|around|about|to|away from)"
_ROUND: Final = r"(?:radius|circle|ring|corridor|buffer|distance)"
_MORE: Final = (
    r"(?:(?:is |are )?(?:more|farther|further|longer|greater|older|higher|bigger) than|over|"
    r"above|beyond|at least|from)"
)
_LESS: Final = (
    r"(?:(?:is |are )?(?:less|shorter|younger|fewer|lower|smaller) than|under|below|at most|"
    r"up to|no more than|within)"
)
_OR_MORE: Final = r"(?:plus|(?:or|and) (?:more|older|over|above|up|higher))"
_OR_LESS: Final = r"(?:(?:or|and) (?:less|younger|under|below|fewer))"
_AGED: Final = r"(?:(?:people |workers |those )?(?:aged?|ages) )?"
_YEARS: Final = r"(?: years?(?: (?:olds?|of age))?)?"
_EARN: Final = (
    r"(?:(?:who )?(?:earn(?:s|ing)?|mak(?:e|es|ing)|paid|with|wages?(?: of)?|pay(?: of)?|earnings(?: of)?) )?"
)
_PERIOD: Final = r"(?: ?(?:dollars|usd))?(?: (?:a|per|each|every) (month|year))?"
_MONTHS: Final = 12
_YEARLY_FROM: Final = 8_000.0
"""An amount this large without `a month` is an amount a year."""

_LAST_AGES: Final = (29.0, 54.0)
_LAST_EARNINGS: Final = (1_250.0, 3_333.0)
_LIKELY_AGES: Final = (14.0, 99.0)
_WORDS: Final = {
    "age": "Ages are counted as 29 or younger, 30 to 54, and 55 or older",
    "earnings": "Earnings are counted as $1,250 a month or less, $1,251 to $3,333, and more",
}


def _value(number: str, thousand: str | None = None) -> float:
    value = _SPELLED[number] if number in _SPELLED else float(number)
    return value * 1000 if thousand else value


def _miles(number: str, unit: str) -> float:
    return _value(number) * (_MI_PER_KM if unit.startswith("k") else 1.0)


def _near(match: re.Match[str]) -> Meaning:
    return Near(0.0, round(_miles(match[1], match[3]), 5))


def _ring(match: re.Match[str]) -> Meaning | None:
    inner, outer = sorted((_miles(match[1], match[5]), _miles(match[3], match[5])))
    return Near(round(inner, 5), round(outer, 5)) if inner < outer else None


def _edge(match: re.Match[str]) -> Meaning | None:
    miles = round(_miles(match[1], match[3]), 5)
    return Miles((miles,)) if miles > 0 else None


def _edges(match: re.Match[str]) -> Meaning | None:
    numbers = re.findall(r"\d+(?:\.\d+)?", match[1])
    return Miles(tuple(sorted({float(number) for number in numbers} - {0.0}))) if numbers else None


def _point(match: re.Match[str]) -> Meaning | None:
    """Return a place given by two numbers: latitude first, unless only longitude first is possible or likely."""
    first, second = float(match[1]), float(match[2])
    if abs(first) > 90 or (first < 0 < second):
        first, second = second, first
    return Point(second, first) if abs(first) <= 90 and abs(second) <= 180 else None


def _split(characteristic: str, least: float, most: float, note: str) -> Meaning:
    """Return the bands that hold values from `least` to `most`; the note says how far they differ from that."""
    ends = _LAST_AGES if characteristic == "age" else _LAST_EARNINGS
    slack = (
        1.0 if characteristic == "age" else 4.0
    )  # "under 30" and "29 or younger"; 40,000 a year is 3,333.33
    first, last, is_exact = 1, 3, True
    if least > 0:
        nearest = min(range(2), key=lambda place: abs(math.log((ends[place] + 1) / least)))
        first, is_exact = nearest + 2, abs(ends[nearest] + 0.5 - least) <= slack
    if most < math.inf:
        nearest = min(range(2), key=lambda place: abs(math.log(ends[place] / most)))
        last, is_exact = nearest + 1, is_exact and abs(ends[nearest] + 0.5 - most) <= slack
    bands = tuple(band for band in BANDS if first <= band <= max(first, last))
    labels = " or ".join(CHARACTERISTICS[characteristic][band - 1] for band in bands)
    return Bands(
        characteristic, bands, "" if is_exact else f"{_WORDS[characteristic]}; {note} is shown as {labels}."
    )


def _ages(least: str | None, most: str | None, said: str) -> Meaning | None:
    values = [_value(text) for text in (least, most) if text]
    if not all(_LIKELY_AGES[0] <= value <= _LIKELY_AGES[1] for value in values):
        return None
    return _split("age", _value(least) if least else 0.0, _value(most) if most else math.inf, f"“{said}”")


def _older(match: re.Match[str]) -> Meaning | None:
    return _ages(match[1], None, match[0])


def _younger(match: re.Match[str]) -> Meaning | None:
    return _ages(None, match[1], match[0])


def _aged(match: re.Match[str]) -> Meaning | None:
    low, high = sorted((match[1], match[3]), key=_value)
    return _ages(None if _value(low) <= 18 else low, high, match[0])


def _monthly(number: str, thousand: str | None, period: str | None) -> float:
    value = _value(number, thousand)
    return value / _MONTHS if period == "year" or (period is None and value >= _YEARLY_FROM) else value


def _richer(match: re.Match[str]) -> Meaning | None:
    amount = _monthly(match[1], match[2], match[3])
    return _split("earnings", amount, math.inf, f"“{match[0]}”") if amount > 0 else None


def _poorer(match: re.Match[str]) -> Meaning | None:
    amount = _monthly(match[1], match[2], match[3])
    return _split("earnings", 0.0, amount, f"“{match[0]}”") if amount > 0 else None


def _paid_between(match: re.Match[str]) -> Meaning | None:
    low, high = sorted(_monthly(match[first], match[first + 1], match[5]) for first in (1, 3))
    return _split("earnings", low, high, f"“{match[0]}”") if low > 0 else None


def _year(match: re.Match[str]) -> Meaning:
    return Year(int(match[1]))


def _earlier_year(match: re.Match[str]) -> Meaning:
    return Year(int(match[1]), is_earlier=True)


def _several_distances(_: re.Match[str]) -> Meaning:
    return Missing("Name one distance, such as “within 5 miles”. Circles on the map can have several rings.")


def _no_change(_: re.Match[str]) -> Meaning:
    return Missing("Name the year to compare with, such as “compared with 2018”.")


_YEAR: Final = r"((?:19|20)\d\d)(?! (?:miles?|mi)\b)"
_PATTERNS: Final[tuple[tuple[str, Callable[[re.Match[str]], Meaning | None]], ...]] = (
    (
        rf"(?:between |from )?{_NUMBER}(?: (?:miles?|mi))? (?:and|to) {_NUMBER} {_MILES} {_OF}(?: {_ROUND} {_OF})?",
        _ring,
    ),
    (rf"(?:with)?in (?:a |an )?(?:{_ROUND} of )?{_NUMBER} {_MILES} {_OF}", _near),
    (
        rf"(?:with)?in {_NUMBER}(?: {_MILES})?(?: (?:, )?(?:and |or )?{_NUMBER}(?: {_MILES})?)+ {_OF}",
        _several_distances,
    ),
    (rf"(?:(?:with)?in )?(?:a |an )?{_NUMBER} {_MILES} {_ROUND} {_OF}", _near),
    (rf"(?:{_LESS} )?{_NUMBER} {_MILES} {_OF}", _near),
    (rf"(?:a )?radius of {_NUMBER} {_MILES} {_OF}", _near),
    (rf"(?:{_MORE}|{_LESS}) (?:a )?{_NUMBER} {_MILES}", _edge),
    (rf"{_NUMBER} {_MILES} {_OR_MORE}", _edge),
    (
        r"(?:in )?(?:distance )?bands? (?:of|at|ending at)"
        r"((?: (?:\d+(?:\.\d+)?|,|and|to|under|over|more than|less than))+)(?: miles?| mi)?",
        _edges,
    ),
    (r"(-?\d{1,3}\.\d+) (?:, )?(-?\d{1,3}\.\d+)", _point),
    (rf"{_AGED}(?:{_MORE}) (?:the age of )?{_NUMBER}{_YEARS}", _older),
    (rf"{_AGED}{_NUMBER}{_YEARS} {_OR_MORE}", _older),
    (rf"{_AGED}(?:{_LESS}) (?:the age of )?{_NUMBER}{_YEARS}", _younger),
    (rf"{_AGED}{_NUMBER}{_YEARS} {_OR_LESS}", _younger),
    (rf"{_AGED}(?:between |from )?{_NUMBER} (?:and|to) {_NUMBER}{_YEARS}", _aged),
    (
        rf"{_EARN}{_MORE} (?:\$ )?{_NUMBER}(?= (?:dollars|usd|a month|a year|per month|per year)){_PERIOD}",
        _richer,
    ),
    (
        rf"{_EARN}{_LESS} (?:\$ )?{_NUMBER}(?= (?:dollars|usd|a month|a year|per month|per year)){_PERIOD}",
        _poorer,
    ),
    (rf"{_EARN}{_MORE} \$ {_NUMBER}{_PERIOD}", _richer),
    (rf"{_EARN}{_LESS} \$ {_NUMBER}{_PERIOD}", _poorer),
    (rf"{_EARN}\$ {_NUMBER}{_PERIOD} {_OR_MORE}", _richer),
    (rf"{_EARN}{_NUMBER}(?= dollars| usd){_PERIOD} {_OR_MORE}", _richer),
    (rf"{_EARN}{_NUMBER}(?= dollars| usd){_PERIOD} {_OR_LESS}", _poorer),
    (rf"{_EARN}\$ {_NUMBER}{_PERIOD} {_OR_LESS}", _poorer),
    (rf"{_EARN}(?:between |from )?\$ {_NUMBER} (?:and|to) (?:\$ )?{_NUMBER}{_PERIOD}", _paid_between),
    (
        rf"(?:since|compared? (?:to|with)|versus|vs|against|from|between|changed? (?:since|from)) {_YEAR}",
        _earlier_year,
    ),
    (rf"(?:in |for |of |to |and |year )*{_YEAR}", _year),
    (r"chang(?:e|es|ed|ing)|growth|grew|grown|trends?|over time|over the years", _no_change),
)
_COMPILED: Final = tuple((re.compile(rf"(?:{pattern})(?!\S)"), make) for pattern, make in _PATTERNS)


def amount_at(joined: str, position: int) -> tuple[Meaning, int] | None:
    """Return the meaning of the longest phrase with numbers at a position of `Sentence.joined`, and where it ends."""
    best: tuple[Meaning, int] | None = None
    for pattern, make in _COMPILED:
        match = pattern.match(joined, position)
        if match and (best is None or match.end() > best[1]) and (meaning := make(match)) is not None:
            best = (meaning, match.end())
    return best
