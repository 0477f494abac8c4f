"""Everyday words for workers, and the words of labels that they may mean.

A publication's own labels decide (`mapapp.question.sentence.labels`): a phrase means the first of its names that some
label has, and nothing if no label has any of them. So `women` is `Female` in one publication and `Women` in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Everyday:
    """A phrase of everyday words.

    Attributes
    ----------
    n_words : int
    names : tuple of str
        Names of values that it may mean, most likely first.
    is_people : bool
        Whether it is a noun for people: `women in Newport` live there, as `people in Newport` do.
    """

    n_words: int
    names: tuple[str, ...]
    is_people: bool


_DEGREE: Final = "(?:college|university|four year|undergraduate)"
_SECTOR: Final = "(?:in (?:the )?)?(?:{})(?: (?:industry|industries|sectors?))?"
_PEOPLE: Final = (
    ("wom[ae]n|females?|ladies", ("female", "women", "woman", "f")),
    ("m[ae]n|males?|guys", ("male", "men", "man", "m")),
    ("hispanics?|latin(?:o|a|x|e)s?|spanish origin", ("hispanic", "latino")),
    ("blacks?|african americans?", ("black", "african american")),
    ("whites?|caucasians?", ("white", "caucasian")),
    ("asians?|asian americans?", ("asian",)),
    (
        "native americans?|american indians?|indigenous(?: people)?|alaska natives?",
        ("american indian", "native american"),
    ),
    ("pacific islanders?|native hawaiians?|hawaiians?", ("pacific islander", "native hawaiian")),
    (
        "multiracial(?: people)?|biracial(?: people)?|mixed race",
        ("two or more races", "multiracial", "two or more"),
    ),
    (
        f"{_DEGREE} (?:graduates?|grads?|educated)|graduates|degree holders",
        ("bachelor's degree", "bachelor", "college degree", "college", "college or more"),
    ),
    ("high school graduates?", ("high school",)),
    ("(?:high school )?dropouts?", ("less than high school", "no high school", "below high school")),
)
_OTHERS: Final = (
    ("non (?:hispanics?|latin(?:o|a|x|e)s?)", ("not hispanic", "non hispanic", "not hispanic or latino")),
    (
        f"(?:an? )?(?:{_DEGREE} |bachelor(?:s)? |ba |bs )(?:degrees?|education)|bachelors?|an? degree|degrees|"
        "(?:finished|completed) college",
        ("bachelor's degree", "bachelor", "college degree", "college", "college or more"),
    ),
    (
        "(?:an? )?(?:advanced|graduate|postgraduate|master(?:s)?|doctoral|professional) degrees?|masters|"
        "doctorates?|phds?",
        ("advanced degree", "graduate degree", "master", "master's degree", "doctorate"),
    ),
    ("(?:an? )?high school (?:diplomas?|degrees?|education)|geds?", ("high school", "high school diploma")),
    (
        "(?:without|no|did not finish|below|under) (?:an? )?high school(?: diplomas?| degrees?| education)?",
        ("less than high school", "no high school", "below high school"),
    ),
    (
        "(?:an? )?associate(?:s)? degrees?|community college",
        ("associate degree", "associate's degree", "some college"),
    ),
    (_SECTOR.format("farm(?:s|ing|ers?)?|agricultural"), ("agriculture",)),
    (_SECTOR.format("factor(?:y|ies)|manufacturers?|plants"), ("manufacturing",)),
    (_SECTOR.format("builders|building trades"), ("construction",)),
    (_SECTOR.format("shops?|stores?|retail"), ("retail trade", "retail")),
    (_SECTOR.format("wholesale"), ("wholesale trade", "wholesale")),
    (
        _SECTOR.format("transport|logistics|warehous(?:e|es|ing)|trucking"),
        ("transportation", "warehousing", "logistics"),
    ),
    (_SECTOR.format("health|medical|hospitals?"), ("health care", "healthcare", "health")),
    (
        "(?:in (?:the )?)?(?:schools?|universit(?:y|ies)|colleges?|teaching)(?: (?:industry|sectors?))?",
        ("educational services", "education services", "education"),
    ),
    (
        "in (?:the )?education(?: (?:industry|sector))?|education (?:industry|sector|services|jobs|workers)",
        ("educational services", "education services"),
    ),
    (_SECTOR.format("hotels?|lodging"), ("accommodation", "hotels", "hospitality")),
    (
        _SECTOR.format("restaurants?|hospitality|tourism"),
        ("accommodation and food services", "food services", "hospitality"),
    ),
    (_SECTOR.format("banks?|banking|financial"), ("finance and insurance", "finance")),
    (_SECTOR.format("government"), ("public administration", "government")),
    (_SECTOR.format("tech(?:nology)?|software|media"), ("information", "technology")),
    (_SECTOR.format("leisure"), ("arts entertainment and recreation", "arts", "leisure")),
)
ATTRIBUTE_NAMES: Final = (
    ("sex", "gender"),
    ("gender", "sex"),
    ("race", "racial group", "racial groups"),
    ("ethnicity", "ethnic group", "ethnic groups", "hispanic origin"),
    ("education", "educational attainment", "education level", "level of education", "schooling", "degree"),
    ("educational attainment", "education", "education level", "level of education", "schooling", "degree"),
    ("industry", "sector", "industry sector", "economic sector"),
    ("naics sector", "industry", "sector", "naics"),
    (
        "firm size",
        "company size",
        "employer size",
        "size of firm",
        "size of employer",
        "size of company",
        "size of the firm",
    ),
    ("firm age", "company age", "employer age", "age of firm", "age of the firm"),
    ("distance from home to work", "distance", "commute distance", "distance to work", "length of commute"),
)
"""Names of attributes, each with others that mean the same."""


OFTEN_MISSPELLED: Final = (
    *("women", "females", "males", "hispanic", "latino", "asians", "whites", "indigenous", "multiracial"),
    *("graduates", "bachelors", "masters", "doctorate", "dropouts", "hawaiians"),
    *("factories", "restaurants", "hospitals", "warehouses", "government", "universities"),
)
"""Words with which a misspelled word is compared; each is one of the phrases."""


def _compile_patterns(
    patterns: tuple[tuple[str, tuple[str, ...]], ...],
) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    return tuple((re.compile(rf"(?:{pattern})(?!\S)"), names) for pattern, names in patterns)


_VALUES: Final = tuple(
    (pattern, names, is_people)
    for is_people, group in ((True, _PEOPLE), (False, _OTHERS))
    for pattern, names in _compile_patterns(group)
)


def everyday_values_at(joined: str, position: int) -> Iterator[Everyday]:
    """Yield the phrases that start at a position of `Sentence.joined`."""
    for pattern, names, is_people in _VALUES:
        match = pattern.match(joined, position)
        if match:
            yield Everyday(match[0].count(" ") + 1, names, is_people)
