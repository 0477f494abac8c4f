"""Plain-language text on worker records: what a row is, what is promised and what is not, and how to read the numbers.

Every number comes from the certificate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.commutes.attributes import in_sentence
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.promise.chance_words import chance_in_words
from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.promise.lone_worker import round_factor
from mapapp.answers.promise.overlapping_releases import same_jobs
from mapapp.answers.publication import is_of_records
from mapapp.answers.records.claims import RecordsCertificate, SeedClaims, records_claims

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
    stated = records_claims(release.certificate)
    return [
        _synthetic(stated),
        _promise(stated),
        _not_promised(stated, beside_sentences(release, served)),
        _reading(stated),
    ]


def promised_rows(certificate: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the numbers of the promise with their labels, for the card of the certificate."""
    stated = records_claims(certificate)
    rows = [
        (f"{symbol}, {reading}", words.plain(amount.value))
        for amounts, reading in (
            (stated.promise.replace_one, "one worker changed"),
            (stated.promise.add_remove, "one worker added or removed"),
        )
        for symbol, amount in (("ε", amounts.epsilon), ("δ", amounts.delta))
    ]
    counts = stated.records
    of_seeds = [
        ("Records made from seeds", f"{counts.n_passed:,}"),
        ("Records drawn from the model", f"{counts.topped_up:,}"),
    ]
    return [
        *rows,
        *([("Accountant", words.accountant(certificate))] if stated.seeds else []),
        ("Records", f"{counts.n_total:,}"),
        *(of_seeds if stated.seeds else []),
    ]


def whole_record_void(release: OpenedPublication, served: Iterable[OpenedPublication]) -> list[str]:
    """Return the titles of releases and tables of the same jobs, beside which whole records are not protected."""
    return [publication.title for publication in _exact_beside(release, served)]


def _exact_beside(release: OpenedPublication, served: Iterable[OpenedPublication]) -> list[OpenedPublication]:
    """Publications of the same jobs that show exact numbers of workers."""
    if not is_of_records(release.certificate):
        return []
    others = [
        publication
        for publication in served
        if publication.version != release.version and not is_of_records(publication.certificate)
    ]
    return same_jobs(release, others)


def beside_sentences(release: OpenedPublication, served: Iterable[OpenedPublication]) -> list[str]:
    """Return a sentence for each release or table of the same jobs, beside which whole records are not protected."""
    return [
        f"This server also shows a {_kind(publication)} of the same jobs, "
        f"{publication.title} (digest {publication.version}…). "
        + (_BESIDE_TABLE if _kind(publication) == "table" else _BESIDE_RELEASE)
        for publication in _exact_beside(release, served)
    ]


def _kind(publication: OpenedPublication) -> str:
    return "table" if publication.certificate.get("kind") == "table" else "release"


def _synthetic(stated: RecordsCertificate) -> Chapter:
    known = list_names([in_sentence(attribute.title) for attribute in stated.attributes])
    return Chapter(
        title="These are synthetic worker records",
        parts=(
            NO_PERSON,
            "The publisher holds confidential records, one for each worker. Those are not shown. The records here were "
            "made in their place, so that tables and maps of many workers come out nearly the same."
            f" Each record has {known}. A PUMA is a census area of about 100,000 people or more.",
            *_how_drawn(stated),
            "The exact places of home and workplace follow from public data: workplaces were placed within their "
            "census tract, and homes where people live, at about the right distance from work. A dot is no real home.",
        ),
    )


def _how_drawn(stated: RecordsCertificate) -> list[str]:
    structure = {
        "public": "Which attribute depends on which was decided beforehand, without looking at any record.",
        "learned": "Which attribute depends on which was learned from some of the records, with chance added.",
    }[stated.model.structure]
    fitted = (
        "First, a statistical model was made. It says how often attributes go together, such as age and earnings in "
        "each industry. A random amount was added to every count behind it, to hide single workers (its share of the "
        f"promise is ε = {words.plain(stated.model.epsilon.value)}; see below). {structure}"
    )
    if stated.seeds is None:
        return [
            fitted,
            f"All {stated.records.n_total:,} records were then drawn at random from this model. None was made from a "
            "real worker's record.",
        ]
    return [fitted, *_how_seeded(stated, stated.seeds)]


def _how_seeded(stated: RecordsCertificate, seeds: SeedClaims) -> list[str]:
    counts, titles = stated.records, {attribute.name: attribute.title for attribute in stated.attributes}
    kept = list_names([in_sentence(titles.get(name, name)) for name in seeds.kept])
    topped = (
        f" Another {counts.topped_up:,} records were drawn from the model alone, so that maps count everybody. "
        "Records are not marked by how they were made."
        if counts.topped_up
        else ""
    )
    return [
        f"Some records then began with a real worker, called the seed. Such a record keeps its seed's {kept}, and "
        f"everything else is drawn from the model. It was used only if about {seeds.min_plausible_seeds:,} or more "
        f"real workers have the same {kept}, so that each of them could equally have been the seed; the limit is "
        f"blurred by chance. Of {counts.n_tried:,} tries, {counts.n_passed:,} became records.{topped}",
        seeds.records_in_words,
    ]


def _promise(stated: RecordsCertificate) -> Chapter:
    add, replace = stated.promise.add_remove, stated.promise.replace_one
    return Chapter(
        title="What is promised",
        parts=(
            "Take any one worker, and imagine that this worker's record had not been there. "
            f"{'Almost every' if add.delta.value else 'Every'} result that could be published is at most "
            f"about {round_factor(math.exp(add.epsilon.value))} times as likely with the record as without it, and the "
            "other way round. The closer this factor is to 1, the less anybody can learn about the worker; a factor of "
            "hundreds or more promises little.",
            f"If the worker's record had been different in any way, the factor is at most about "
            f"{round_factor(math.exp(replace.epsilon.value))}. This reading adds up with the promises of other "
            "publications of the same workers.",
            *_numbers_in_words(stated),
        ),
    )


def _numbers_in_words(stated: RecordsCertificate) -> list[str]:
    """Return what epsilon and delta are, with their values in both readings, and what the accountant counts."""
    add, replace = (
        words.plain(amounts.epsilon.value)
        for amounts in (stated.promise.add_remove, stated.promise.replace_one)
    )
    delta = stated.promise.add_remove.delta
    exceptions = (
        f"“Almost every” leaves exceptions with a probability of at most δ (delta), which is "
        f"{words.plain(delta.value)}, or {chance_in_words(delta.fraction)}."
        if delta.value
        else "There are no exceptions (δ, delta, is 0)."
    )
    by = {
        "sound": "Every try was counted, including those that gave no record.",
        "paper": "The accountant is that of the published paper: it counts each try by itself, and the promise holds "
        "only for the records, not for which tries failed.",
    }[stated.accountant]
    return [
        f"Each factor is e to the power ε (epsilon). Here ε is {add} for a record left out, and {replace} for a "
        f"record changed. {exceptions}",
        *([by] if stated.seeds else []),
    ]


def _not_promised(stated: RecordsCertificate, beside: Sequence[str]) -> Chapter:
    given = [
        *([_GIVEN] if stated.whole_record in (GIVEN_SEGMENTS, GIVEN_CELLS) else []),
        *([_ALSO_CELLS] if stated.whole_record == GIVEN_CELLS else []),
    ]
    limits = [_CODE.sub(r"“\1”", text) for text in (*stated.does_not_promise, stated.beside_in_words)]
    return Chapter(title="What is not promised", parts=(*beside, *given, tuple(dict.fromkeys(limits))))


def _reading(stated: RecordsCertificate) -> Chapter:
    return Chapter(
        title="How to read the numbers",
        parts=(
            (
                error_words(stated),
                "No count is exact: workplaces are synthetic, too.",
                "Within a PUMA, homes were placed by public population and distance. Counts of homes in smaller areas "
                "say little about real homes there.",
                "Some attributes are linked in the model only through others, so differences between them may be "
                "flattened. A cross table says so.",
                words.HOW_CERTAIN,
            ),
        ),
    )


def error_words(stated: RecordsCertificate) -> str:
    """Return what ± means for these records, and what it leaves out."""
    if not stated.expected_error:
        return "The certificate does not state expected errors, so no number has a ±."
    seeded = (
        " Some records were made from real ones; ± is then that of records drawn from the model alone."
        if stated.seeds
        else ""
    )
    return (
        "± is the expected error from the noise in the model and from drawing records. It is stated for work areas of "
        "whole tracts and for home areas of whole PUMAs, if a table of the model holds the attributes of the areas, "
        f"the filters, and the number together. Other numbers have no ±.{seeded}"
    )
