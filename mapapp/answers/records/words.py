"""Plain-language text on worker records: what a row is, what is promised and what is not, and how to read the numbers.

Every number comes from the certificate, which is a file and may lack any of them; then the sentence is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, cast

from mapapp.answers import words
from mapapp.answers.commutes.attributes import in_sentence
from mapapp.answers.errors.certificate_terms import ErrorTerms
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.promise.chance_words import chance_in_words
from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.promise.lone_worker import rounded
from mapapp.answers.promise.overlapping_releases import same_jobs
from mapapp.answers.publication import is_of_records

NO_PERSON: Final = (
    "No row is a person. Each row was made by chance and describes a worker who could exist. It may be like a real "
    "worker, but the promise limits what it can reveal about anyone."
)
"""What a row of records means, wherever rows are shown."""
_CODE: Final = re.compile("`([^`]*)`")
GIVEN_SEGMENTS: Final = "given workplace and segment"
GIVEN_CELLS: Final = "given workplace, segment, and the cells of a table"
_GIVEN: Final = (
    "The promise covers the rest of a worker's record, given workplace and segment (age, earnings, and industry). It "
    "does not cover workplace and segment themselves, because exact counts of them are public."
)
_BESIDE_RELEASE: Final = (
    "Its counts by workplace, age, earnings, and industry are exact and public, so for a reader of both the protection "
    "of the whole record is void. What is left is protection of the rest of the record, given workplace and segment."
)
_BESIDE_TABLE: Final = (
    "The numbers of workers behind its cells are exact and public, and so are the values of released cells, which say "
    "where workers live. So for a reader of both the protection of the whole record is void. What is left is "
    "protection of what the table leaves open of the record, given workplace and segment."
)
_ALSO_CELLS: Final = (
    "A table of the same jobs also shows exact counts by home. Whatever odds it leaves between two records that one "
    "worker may have, these records change them by no more than the factor of the promise."
)


def record_chapters(release: OpenedPublication, served: Iterable[OpenedPublication] = ()) -> list[Chapter]:
    """Return the sections of text on one publication of worker records.

    Parameters
    ----------
    release : OpenedPublication
    served : iterable of OpenedPublication
        All publications that readers see beside it: releases, records, and tables.
    """
    certificate = release.certificate
    return [
        _synthetic(certificate),
        _promise(certificate),
        _not_promised(certificate, beside_sentences(release, served)),
        _reading(certificate),
    ]


def promised_rows(certificate: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the numbers of the promise with their labels, for the card of the certificate."""
    rows = [
        (f"{symbol}, {reading}", text)
        for name, reading in (
            ("replace_one", "one worker changed"),
            ("add_remove", "one worker added or removed"),
        )
        for symbol, text in zip(("ε", "δ"), _amounts(certificate, name), strict=True)
        if text
    ]
    accountant = [("Accountant", words.accountant(certificate))] if _section(certificate, "seeds") else []
    return [*rows, *accountant, *_drawn_rows(certificate)]


def _drawn_rows(certificate: Mapping[str, object]) -> list[tuple[str, str]]:
    numbers = _counts(certificate)
    found = [("Records", f"{numbers['n_total']:,}")] if "n_total" in numbers else []
    if _section(certificate, "seeds"):
        for name, label in (
            ("n_passed", "Records made from seeds"),
            ("topped_up", "Records drawn from the model"),
        ):
            found += [(label, f"{numbers[name]:,}")] if name in numbers else []
    return found


def whole_record_void(release: OpenedPublication, served: Iterable[OpenedPublication]) -> list[str]:
    """Return the titles of releases and tables of the same jobs, beside which whole records are not protected."""
    return [other.title for other in _exact_beside(release, served)]


def _exact_beside(release: OpenedPublication, served: Iterable[OpenedPublication]) -> list[OpenedPublication]:
    """Publications of the same jobs that show exact numbers of workers."""
    if not is_of_records(release.certificate):
        return []
    others = [
        each for each in served if each.version != release.version and not is_of_records(each.certificate)
    ]
    return same_jobs(release, others)


def beside_sentences(release: OpenedPublication, served: Iterable[OpenedPublication]) -> list[str]:
    """Return a sentence for each release or table of the same jobs, beside which whole records are not protected."""
    return [
        f"This server also shows a {_kind(other)} of the same jobs, {other.title} (digest {other.version}…). "
        + (_BESIDE_TABLE if _kind(other) == "table" else _BESIDE_RELEASE)
        for other in _exact_beside(release, served)
    ]


def _kind(publication: OpenedPublication) -> str:
    return "table" if publication.certificate.get("kind") == "table" else "release"


def _synthetic(certificate: Mapping[str, object]) -> Chapter:
    listed = words.listed([in_sentence(title) for title in _titles(certificate).values() if title])
    return Chapter(
        title="These are synthetic worker records",
        parts=(
            NO_PERSON,
            "The publisher holds confidential records, one for each worker. Those are not shown. The records here were "
            "made in their place, so that tables and maps of many workers come out nearly the same."
            + (
                f" Each record has {listed}. A PUMA is a census area of about 100,000 people or more."
                if listed
                else ""
            ),
            *_how_drawn(certificate),
            "The exact places of home and workplace follow from public data: workplaces were placed within their "
            "census tract, and homes where people live, at about the right distance from work. A dot is no real home.",
        ),
    )


def _titles(certificate: Mapping[str, object]) -> dict[str, str]:
    """Return the titles of the attributes, by name."""
    listed = cast(Sequence[Mapping[str, object]], certificate.get("attributes") or ())
    return {str(each.get("name")): str(each["title"]) for each in listed if "title" in each}


def _how_drawn(certificate: Mapping[str, object]) -> list[str]:
    model, seeds, numbers = (
        _section(certificate, "model"),
        _section(certificate, "seeds"),
        _counts(certificate),
    )
    structure = {
        "public": " Which attribute depends on which was decided beforehand, without looking at any record.",
        "learned": " Which attribute depends on which was learned from some of the records, with chance added.",
    }.get(str(model.get("structure")), "")
    epsilon = _exact(model.get("epsilon"))
    noise = f" (its share of the promise is ε = {epsilon}; see below)" if epsilon else ""
    fitted = (
        "First, a statistical model was made. It says how often attributes go together, such as age and earnings in "
        f"each industry. A random amount was added to every count behind it, to hide single workers{noise}."
        f"{structure}"
    )
    if not seeds:
        total = f"All {numbers['n_total']:,} records" if "n_total" in numbers else "All records"
        return [
            fitted,
            f"{total} were then drawn at random from this model. None was made from a real worker's record.",
        ]
    return [fitted, *_how_seeded(certificate, seeds, numbers)]


def _how_seeded(
    certificate: Mapping[str, object], seeds: Mapping[str, object], numbers: Mapping[str, int]
) -> list[str]:
    titles = _titles(certificate)
    names = [str(name) for name in cast(Sequence[object], seeds.get("kept") or ())]
    kept = words.listed([in_sentence(titles.get(name, name.replace("_", " "))) for name in names])
    k = seeds.get("min_plausible_seeds")
    enough = f"about {k:,} or more real workers" if isinstance(k, int) else "enough real workers"
    made = (
        f" Of {numbers['n_tried']:,} tries, {numbers['n_passed']:,} became records."
        if {"n_tried", "n_passed"} <= numbers.keys()
        else ""
    )
    topped = (
        f" Another {numbers['topped_up']:,} records were drawn from the model alone, so that maps count everybody. "
        "Records are not marked by how they were made."
        if numbers.get("topped_up")
        else ""
    )
    return [
        f"Some records then began with a real worker, called the seed. Such a record keeps its seed's "
        f"{kept or 'first attributes'}, and everything else is drawn from the model. It was used only if {enough} "
        "have the same "
        f"{kept or 'attributes'}, so that each of them could equally have been the seed; the limit is blurred by "
        f"chance.{made}{topped}",
        str(seeds.get("records_in_words") or ""),
    ]


def _promise(certificate: Mapping[str, object]) -> Chapter:
    stated = _section(certificate, "promise")
    add, replace = (
        words.number(_section(stated, reading), "epsilon") for reading in ("add_remove", "replace_one")
    )
    parts: list[str | tuple[str, ...]] = []
    if add is not None:
        parts.append(
            "Take any one worker, and imagine that this worker's record had not been there. "
            f"{_almost(_amounts(certificate, 'add_remove')[1])} result that could be published is at most "
            f"about {rounded(math.exp(add))} times as likely with the record as without it, and the other way round. "
            "The closer this factor is to 1, the less anybody can learn about the worker; a factor of hundreds or more "
            "promises little."
        )
    if replace is not None:
        parts.append(
            f"If the worker's record had been different in any way, the factor is at most about "
            f"{rounded(math.exp(replace))}. This reading adds up with the promises of other publications of the same "
            "workers."
        )
    parts += _numbers_in_words(certificate)
    return Chapter(title="What is promised", parts=tuple(parts) or ("The certificate does not say.",))


def _numbers_in_words(certificate: Mapping[str, object]) -> list[str]:
    """Return what epsilon and delta are, with their values in both readings, and what the accountant counts."""
    add, replace = _amounts(certificate, "add_remove"), _amounts(certificate, "replace_one")
    if not add[0] or not replace[0]:
        return []
    exceptions = (
        "There are no exceptions (δ, delta, is 0)."
        if add[1] == "0"
        else f"“Almost every” leaves exceptions with a probability of at most δ (delta), which is {add[1]}"
        f"{_rarely(certificate)}."
    )
    found = [
        f"Each factor is e to the power ε (epsilon). Here ε is {add[0]} for a record left out, and {replace[0]} for a "
        f"record changed. {exceptions}"
    ]
    by = {
        "sound": "Every try was counted, including those that gave no record.",
        "paper": "The accountant is that of the published paper: it counts each try by itself, and the promise holds "
        "only for the records, not for which tries failed.",
    }.get(words.accountant(certificate))
    return found + ([by] if by and _section(certificate, "seeds") else [])


def _rarely(certificate: Mapping[str, object]) -> str:
    """Return the delta of a record left out in words, after a comma; empty if it cannot be read."""
    delta = words.number(_section(_section(certificate, "promise"), "add_remove"), "delta")
    return f", or {chance_in_words(Fraction(str(delta)))}" if delta is not None and 0 < delta < 1 else ""


def _almost(delta: str) -> str:
    return "Every" if delta == "0" else "Almost every"


def _not_promised(certificate: Mapping[str, object], beside: Sequence[str]) -> Chapter:
    whole = certificate.get("whole_record")
    given = [
        *([_GIVEN] if whole in (GIVEN_SEGMENTS, GIVEN_CELLS) else []),
        *([_ALSO_CELLS] if whole == GIVEN_CELLS else []),
    ]
    listed = certificate.get("does_not_promise")
    stated = [str(text) for text in listed] if isinstance(listed, list) else []
    more = certificate.get("beside_in_words")
    stated += [more] if isinstance(more, str) else []
    stated = [_CODE.sub(r"“\1”", text) for text in stated]
    return Chapter(title="What is not promised", parts=(*beside, *given, tuple(dict.fromkeys(stated))))


def _reading(certificate: Mapping[str, object]) -> Chapter:
    return Chapter(
        title="How to read the numbers",
        parts=(
            (
                error_words(certificate),
                "No count is exact: workplaces are synthetic, too.",
                "Within a PUMA, homes were placed by public population and distance. Counts of homes in smaller areas "
                "say little about real homes there.",
                "Some attributes are linked in the model only through others, so differences between them may be "
                "flattened. A cross table says so.",
                words.HOW_CERTAIN,
            ),
        ),
    )


def error_words(certificate: Mapping[str, object]) -> str:
    """Return what ± means for these records, and what it leaves out."""
    if not ErrorTerms(certificate).are_stated:
        return "The certificate does not state expected errors, so no number has a ±."
    seeded = (
        " Some records were made from real ones; ± is then that of records drawn from the model alone."
        if _section(certificate, "seeds")
        else ""
    )
    return (
        "± is the expected error from the noise in the model and from drawing records. It is stated for work areas of "
        "whole tracts and for home areas of whole PUMAs; other numbers have no ±. It does not include what the model "
        f"leaves out.{seeded}"
    )


def _amounts(certificate: Mapping[str, object], reading: str) -> tuple[str, str]:
    """Return epsilon and delta of one reading of the promise as text; empty if they are not stated."""
    amounts = _section(_section(certificate, "promise"), reading)
    return _exact(amounts.get("epsilon")), _exact(amounts.get("delta"))


def _exact(stated: object) -> str:
    value = words.number({"stated": stated}, "stated")
    return "" if value is None else words.plain(value)


def _section(certificate: Mapping[str, object], name: str) -> Mapping[str, object]:
    section = certificate.get(name)
    return section if isinstance(section, Mapping) else {}


def _counts(certificate: Mapping[str, object]) -> dict[str, int]:
    return {
        name: value
        for name, value in _section(certificate, "records").items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
