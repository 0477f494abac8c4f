"""Plain-language text on worker records: what a row is, what is promised and what is not, and how to read the numbers.

Every number comes from the certificate, which is a file and may lack any of them; then the sentence is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from mapapp.answers import words
from mapapp.answers.attributes import in_sentence
from mapapp.answers.chapters import Chapter
from mapapp.answers.publication import is_of_records
from mapapp.answers.records.error_terms import ErrorTerms
from mapapp.answers.served_publication import ServedPublication
from mapapp.answers.tables.beside import same_jobs

NO_PERSON: Final = (
    "No row is a person. Each row was made by chance and describes a worker who could exist. It may be like a real "
    "worker, but the promise limits what it can reveal about anyone."
)
"""What a row of records means, wherever rows are shown."""
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


def record_chapters(release: ServedPublication, served: Iterable[ServedPublication] = ()) -> list[Chapter]:
    """Return the sections of text on one publication of worker records.

    Parameters
    ----------
    release : ServedPublication
    served : iterable of ServedPublication
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
    return [*rows, ("Accountant", words.accountant(certificate)), *_drawn_rows(certificate)]


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


def whole_record_void(release: ServedPublication, served: Iterable[ServedPublication]) -> list[str]:
    """Return the titles of releases and tables of the same jobs, beside which whole records are not protected."""
    return [other.title for other in _exact_beside(release, served)]


def _exact_beside(release: ServedPublication, served: Iterable[ServedPublication]) -> list[ServedPublication]:
    """Publications of the same jobs that show exact numbers of workers."""
    if not is_of_records(release.certificate):
        return []
    others = [
        each for each in served if each.version != release.version and not is_of_records(each.certificate)
    ]
    return same_jobs(release, others)


def beside_sentences(release: ServedPublication, served: Iterable[ServedPublication]) -> list[str]:
    """Return a sentence for each release or table of the same jobs, beside which whole records are not protected."""
    return [
        f"This server also shows a {_kind(other)} of the same jobs, {other.title} (digest {other.version}…). "
        + (_BESIDE_TABLE if _kind(other) == "table" else _BESIDE_RELEASE)
        for other in _exact_beside(release, served)
    ]


def _kind(publication: ServedPublication) -> str:
    return "table" if publication.certificate.get("kind") == "table" else "release"


def _synthetic(certificate: Mapping[str, object]) -> Chapter:
    attributes = [
        str(each["title"])
        for each in cast(Sequence[Mapping[str, object]], certificate.get("attributes") or ())
        if "title" in each
    ]
    listed = words.listed([in_sentence(title) for title in attributes if title])
    return Chapter(
        title="These are synthetic worker records",
        parts=(
            NO_PERSON,
            "The map starts from confidential records, one for each worker. "
            + (f"Each record here has these attributes: {listed}." if listed else ""),
            *_how_drawn(certificate),
            "A worker's exact home and workplace within their areas follow from public data: homes were placed where "
            "people live, at about the distance that was drawn. A dot represents no real home.",
        ),
    )


def _how_drawn(certificate: Mapping[str, object]) -> list[str]:
    model, seeds, numbers = (
        _section(certificate, "model"),
        _section(certificate, "seeds"),
        _counts(certificate),
    )
    structure = {
        "public": "Which attribute depends on which was set in public, without looking at the records.",
        "learned": "Which attribute depends on which was learned from noisy statistics of some of the records.",
    }.get(str(model.get("structure")), "")
    epsilon = _exact(model.get("epsilon"))
    noise = f" The counts behind it are noisy (ε = {epsilon})." if epsilon else ""
    private = f"A model of the attributes was made from the records. {structure}{noise}".strip()
    if not seeds:
        total = f"All {numbers['n_total']:,} records" if "n_total" in numbers else "All records"
        return [f"{private} {total} were drawn from this model; none was made from a real record."]
    k = seeds.get("min_plausible_seeds")
    kept = words.listed(
        [str(name).replace("_", " ") for name in cast(Sequence[object], seeds.get("kept") or ())]
    )
    tried = (
        f"{numbers['n_tried']:,} candidates were tried" if "n_tried" in numbers else "Candidates were tried"
    )
    passed = f", and {numbers['n_passed']:,} of them became records" if "n_passed" in numbers else ""
    topped = (
        f" Another {numbers['topped_up']:,} records were drawn from the model, so that maps count everybody. Records "
        "are not marked by how they were made."
        if numbers.get("topped_up")
        else ""
    )
    enough = f"about {k:,} or more real workers" if isinstance(k, int) else "enough real workers"
    return [
        private,
        f"A candidate copies {kept or 'some attributes'} from a real worker, its seed, and draws all others from the "
        f"model. It becomes a record only if {enough} could equally have been the seed; the threshold itself is "
        f"noisy. {tried}{passed}.{topped}",
        str(seeds.get("records_in_words") or ""),
    ]


def _promise(certificate: Mapping[str, object]) -> Chapter:
    parts: list[str | tuple[str, ...]] = []
    stated = _section(certificate, "promise").get("in_words")
    if isinstance(stated, str) and stated:
        parts.append(stated)
    replace, add = _amounts(certificate, "replace_one"), _amounts(certificate, "add_remove")
    epsilon = words.number(_section(_section(certificate, "promise"), "replace_one"), "epsilon")
    if replace[0] and epsilon is not None:
        parts.append(
            f"If one worker's record were different in any way, the probability of {_almost(replace[1])} publication "
            f"would change by a factor of at most {words.plain(math.exp(epsilon))} (ε = {replace[0]}, δ = "
            f"{replace[1]}). This reading adds up with the promises of other publications of the same workers."
        )
    if add[0]:
        parts.append(f"If one worker were added or left out, ε = {add[0]} and δ = {add[1]}.")
    by = {
        "sound": "The accountant counts every try, including those that gave no record.",
        "paper": "The accountant is that of the published paper: it counts each try by itself, and the promise holds "
        "only for the records, not for which tries failed.",
    }.get(words.accountant(certificate))
    if by and _section(certificate, "seeds"):
        parts.append(by)
    return Chapter(title="What is promised", parts=tuple(parts) or ("The certificate does not say.",))


def _almost(delta: str) -> str:
    return "every" if delta == "0" else "almost every"


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
    return Chapter(title="What is not promised", parts=(*beside, *given, tuple(dict.fromkeys(stated))))


def _reading(certificate: Mapping[str, object]) -> Chapter:
    return Chapter(
        title="How to read the numbers",
        parts=(
            (
                error_words(certificate),
                "No count is exact: workplaces are synthetic here, too.",
                "Homes are modeled by PUMA and by distance, and were placed within the PUMA by public population. "
                "Counts of homes in smaller areas say little about real homes there.",
                "Attributes that the model does not link are related only through others; a cross table of them says "
                "so.",
                "Counts of 10 or more are safe to use. Use counts of 3 to 9 with caution. Counts of 1 and 2 vary "
                "substantially from draw to draw.",
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
