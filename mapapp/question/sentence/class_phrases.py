"""Phrases that ask for the share of jobs in one class, as published counts have it: `share of jobs in health care`."""

from __future__ import annotations

import re
from typing import Final

from geodata.store.characteristic_groups import LABEL_OF
from mapapp.question.fields import USUAL_CHARACTERISTIC
from mapapp.question.sentence.meanings import ClassOfJobs

_DEGREE: Final = "(?:a |the )?(?:bachelors?|college|university|advanced)"
_CLASSES: Final = (
    ("agricultur(?:e|al)|farm(?:s|ing)?|forestry|fishing", "CNS01"),
    ("mining|quarrying|oil and gas(?: extraction)?", "CNS02"),
    ("utilities|utility", "CNS03"),
    ("construction|building trades", "CNS04"),
    ("manufacturing|factor(?:y|ies)", "CNS05"),
    ("wholesale(?: trade)?", "CNS06"),
    ("retail(?: trade)?|shops?|stores?", "CNS07"),
    ("transportation(?: and warehousing)?|warehousing|warehouses?|logistics", "CNS08"),
    ("information|media", "CNS09"),
    ("financ(?:e|ial)(?: and insurance| services)?|insurance|bank(?:s|ing)?", "CNS10"),
    ("real estate(?: and rental and leasing)?", "CNS11"),
    ("professional(?:(?: ,)? scientific(?: ,)?(?: and)? technical)?(?: services)?", "CNS12"),
    ("management(?: of companies(?: and enterprises)?)?", "CNS13"),
    ("administrative(?: and support(?: and waste management)?)?(?: services)?", "CNS14"),
    ("education(?:al)?(?: services)?|schools?", "CNS15"),
    ("health ?care(?: and social assistance)?|health|medical|social assistance", "CNS16"),
    ("arts(?: ,)?(?: entertainment)?(?: ,)?(?: and)?(?: recreation)?|entertainment|recreation", "CNS17"),
    ("(?:accommodations? and )?food services?|accommodations?|hospitality|restaurants?|hotels?", "CNS18"),
    ("other services", "CNS19"),
    ("public administration|government", "CNS20"),
    ("m[ae]n|males?", "CS01"),
    ("wom[ae]n|females?", "CS02"),
    ("whites?", "CR01"),
    ("blacks?(?: or african americans?)?|african americans?", "CR02"),
    ("american indians?|native americans?|alaska natives?", "CR03"),
    ("asians?", "CR04"),
    ("native hawaiians?|pacific islanders?", "CR05"),
    ("two or more races?(?: groups)?|multiracial", "CR07"),
    ("(?:non|not) (?:hispanics?|latin[oax]s?)", "CT01"),
    ("hispanics?(?: or latin[oax]s?)?|latin[oax]s?", "CT02"),
    ("less than high school|(?:without|no) (?:a )?high school(?: diploma)?", "CD01"),
    ("(?:a )?high school(?: diploma| degree| education)?", "CD02"),
    ("some college|an? associates?(?: degree)?", "CD03"),
    (f"{_DEGREE}(?: s)?(?: degrees?| graduates?)?|(?:a )?degrees?|graduates", "CD04"),
    ("(?:young|new) firms?|start ?ups?", "CFA01"),
    ("small firms?", "CFS01"),
    ("large firms?|big firms?", "CFS05"),
)
_SHARE: Final = "(?:the )?(?:shares?|percent(?:age)?s?|proportions?|fractions?)(?: of)?(?: all| the)?"
_JOBS: Final = "(?:jobs?|employment|workers?|employees)"
_PEOPLE: Final = "(?:residents?|people)(?: jobs)?"
_LINK: Final = "(?: (?:that|who|which|are|is|have|has|work|held|in|by|for|with|at|of|the))*"
_SECTOR: Final = "(?: (?:industry|industries|sectors?))?"
_NAICS: Final = re.compile(
    r"(?:by )?(?:all )?(?:naics|twenty|20|detailed)(?: naics)?(?: industry)? (?:sectors?|industries)(?!\S)"
)


def _compile_classes() -> tuple[tuple[re.Pattern[str], ClassOfJobs], ...]:
    patterns = []
    for pattern, code in _CLASSES:
        job_class = f"(?:{pattern}){_SECTOR}"
        at_home = rf"{_SHARE} {_PEOPLE}{_LINK} {job_class}(?!\S)"
        at_work = rf"{_SHARE} (?:{_JOBS}{_LINK} {job_class}|{job_class} {_JOBS})(?!\S)"
        patterns += [
            (re.compile(at_home), ClassOfJobs(code, LABEL_OF[code], "home")),
            (re.compile(at_work), ClassOfJobs(code, LABEL_OF[code])),
        ]
    usual = USUAL_CHARACTERISTIC
    return (*patterns, (_NAICS, ClassOfJobs(usual, LABEL_OF[usual])))


CLASS_PHRASES: Final = _compile_classes()


def class_at(joined: str, position: int) -> tuple[ClassOfJobs, int] | None:
    """Return the class of jobs whose share is asked for at a position of `Sentence.joined`, and where that ends."""
    matches = [
        (meaning, match.end())
        for pattern, meaning in CLASS_PHRASES
        if (match := pattern.match(joined, position))
    ]
    return max(matches, key=lambda match: match[1], default=None)
