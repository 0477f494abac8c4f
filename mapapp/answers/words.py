"""Words and number formats that pages and reports share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from geodata.store.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from geodata.text import list_names
from mapapp.answers.areas.levels import level_label
from mapapp.answers.areas.unit_names import state_names
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.publication import is_of_records, is_published
from mapapp.answers.wording import nouns_of, reader_text
from mapapp.question.question import Question

BAND_LABELS: Final = {"age": AGE_BANDS, "earnings": EARNINGS_BANDS, "industry": INDUSTRY_GROUPS}
DIRECTION_NAMES: Final = {
    "N": "North",
    "NE": "Northeast",
    "E": "East",
    "SE": "Southeast",
    "S": "South",
    "SW": "Southwest",
    "W": "West",
    "NW": "Northwest",
    "": "Same place",
}
"""By direction, in the order of `mapapp.answers.commutes.prepared.DIRECTIONS`."""
BAND_TITLES: Final = {"age": "Age", "earnings": "Earnings", "industry": "Industry"}
HOW_CERTAIN: Final = (
    "Judge a number by its ±: a count whose ± is half of it or more says little, however large it is. Where no ± is "
    "shown, use counts of 3 to 9 with caution; counts of 1 and 2 vary substantially from draw to draw."
)
VERB: Final = {"work": "work", "home": "live"}
OTHER_END: Final = {"work": "homes", "home": "workplaces"}

Attributes: TypeAlias = dict[str, Any]
"""HTML attributes to pass on with `**`: Dash takes any `aria-` and `data-` attribute, but types only its own."""

PART: Final[Attributes] = {"data-part": ""}
"""Marks a part of the page that shows an address, and is dimmed while a newer choice is loading."""


def aria(**attributes: object) -> Attributes:
    """Return attributes of a component for screen readers: `label="…"` becomes `aria-label`."""
    return {f"aria-{name}": value for name, value in attributes.items()}


def place_name(release: OpenedPublication, question: Question) -> str:
    """Return a short name of the chosen areas, of which there must be at least one."""
    return steps_name(release, question.areas)


def steps_name(release: OpenedPublication, steps: tuple[str, ...]) -> str:
    """Return a short name of the steps of an area, of which there must be at least one."""
    units = all(step in release.areas for step in steps)
    if units and len(steps) > 2:
        return f"{release.areas[steps[0]].name} and {len(steps) - 1} more"
    return release.areas.select(" ".join(steps)).name


def level_word(level: str) -> str:
    """Return the word for a unit of a level within a sentence, such as "county"."""
    known = {"stplc": "place", "zcta": "ZIP area", "puma": "PUMA", "tract": "tract", "cbsa": "metro area"}
    if level in known:
        return known[level]
    label = level_label(level).split(" (")[0]
    has_names = any(letter.isupper() for letter in label[1:])
    return label if has_names else label[0].lower() + label[1:]


def plural(word: str) -> str:
    """Return the plural of a word, such as "counties"."""
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def coverage(states: list[str], *, of_residents: bool) -> str:
    """Return which workplaces a release covers, and whom numbers of residents therefore lack; empty without states."""
    if not states:
        return ""
    covered = f"Only workplaces in {list_names(states)} are covered"
    return f"{covered}, so residents who work elsewhere are not counted." if of_residents else f"{covered}."


def drawn_label(question: Question) -> str:
    """Return the label of the choice between points, tracts and density."""
    end = {"home": "homes", "work": "workplaces"}[question.shown_end]
    return f"Show their {end} as" if question.areas else f"Show {end} as"


def number(certificate: Mapping[str, object], key: str) -> float | None:
    """Return a parameter of the certificate, stated with or without its exact form, as a number."""
    value = certificate.get(key)
    value = value.get("value") if isinstance(value, dict) else value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def number_text(certificate: Mapping[str, object], key: str) -> str:
    """Return a parameter of the certificate as formatted text."""
    value = number(certificate, key)
    return "not stated" if value is None else plain(value)


def plain(value: float) -> str:
    """Format a number with at most three significant digits, small ones with powers of ten."""
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    if abs(value) < 1e-3:
        value = float(f"{value:.3g}")  # round first, so that 9.999e-7 does not become 10 × 10⁻⁷
        exponent = math.floor(math.log10(abs(value)))
        factor = value / 10**exponent
        power = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return power if math.isclose(factor, 1) else f"{factor:.3g} × {power}"
    return f"{value:.3g}"


def mechanism(certificate: Mapping[str, object]) -> str:
    """Return the name of the mechanism; the default one if the certificate of a release does not name it."""
    if is_published(certificate):
        return "none"
    if is_of_records(certificate):
        return (
            "worker records from seeds and a model"
            if certificate.get("seeds")
            else "worker records from a model"
        )
    section = certificate.get("mechanism")
    name = section.get("name") if isinstance(section, dict) else None
    return str(name or "dirichlet-multinomial")


def subject(certificate: Mapping[str, object]) -> str:
    """Return whom a publication counts: "synthetic workers", or "workers" if nobody was drawn."""
    return "workers" if is_published(certificate) else "synthetic workers"


def origin(certificate: Mapping[str, object]) -> str:
    """Return whom or what a publication counts, and its promise, in one line for a picture or a notebook."""
    if is_published(certificate):
        return f"Jobs · {promise(certificate)}"
    return f"Synthetic workers · {promise(certificate)} · {grounds(certificate)}"


def publisher(certificate: Mapping[str, object]) -> str:
    """Return who published the counts of a publication with nothing drawn."""
    section = certificate.get("publisher")
    return str(section.get("name") or "its publisher") if isinstance(section, dict) else "its publisher"


def _doubt(certificate: Mapping[str, object]) -> str:
    """Return what follows the name of a publisher whom only the importer, or the names of files, vouch for."""
    section, sources = certificate.get("publisher"), certificate.get("sources")
    if isinstance(section, dict) and section.get("declared"):
        return ", as declared by the importer"
    od = (
        [source for source in sources if isinstance(source, dict) and source.get("totals")]
        if isinstance(sources, list)
        else []
    )
    return "" if all(source.get("listed_sha256") for source in od) else " (not compared with its list)"


def by_name(publisher: str) -> str:
    """Return a publisher's name as a sentence has it: with an article if it is the Bureau's."""
    return (
        f"the {publisher}" if publisher.endswith(("Bureau", "Office", "Department", "Agency")) else publisher
    )


def promise(certificate: Mapping[str, object]) -> str:
    """Return epsilon_final and delta in one line; of published counts, who published them."""
    if is_published(certificate):
        return f"as published by {by_name(publisher(certificate))}{_doubt(certificate)}"
    shown = "epsilon_final" if number(certificate, "epsilon_final") is not None else "epsilon"
    return f"ε = {number_text(certificate, shown)} · δ = {number_text(certificate, 'delta')}"


def accountant(certificate: Mapping[str, object]) -> str:
    """Return the name of the accountant."""
    value = certificate.get("accountant")
    if isinstance(value, dict):
        value = value.get("name") or value.get("text") or value.get("description")
    return str(value) if value else "unnamed"


def has_accountant(certificate: Mapping[str, object]) -> bool:
    """Return whether an accountant certifies the promise; if not, the mechanism has its own proof."""
    return accountant(certificate) != "none"


def grounds(certificate: Mapping[str, object]) -> str:
    """Return the basis of the promise: an accountant, or the mechanism's own proof."""
    if has_accountant(certificate):
        return f"{accountant(certificate)} accountant"
    return f"{mechanism(certificate)} mechanism"


def may_be_released(certificate: Mapping[str, object]) -> bool:
    """Return whether the certificate explicitly says so; otherwise the answer is no."""
    return str(certificate.get("status", "")).strip().lower() == "for release"


def why_not_for_release(certificate: Mapping[str, object]) -> str:
    """Return why a publication must not be published, as a sentence; empty if it may be."""
    if may_be_released(certificate):
        return ""
    reasons = certificate.get("status_reasons")
    texts = [str(reason) for reason in reasons] if isinstance(reasons, list) else []
    return f"Not for release: {'; '.join(texts) or 'the certificate does not say why'}."


def standing(certificate: Mapping[str, object]) -> str:
    """Return the same with the promise, for text that has no banner beside it; empty if it may be published."""
    why = why_not_for_release(certificate)
    return f"{why} Its certificate states {promise(certificate)}." if why else ""


def covered_states(release: OpenedPublication) -> list[str]:
    """Return names of the states whose workplaces are in the release; empty if the manifest does not say."""
    return release.once(("covered states",), lambda: state_names(release.store, release.covered_states))


def source_words(release: OpenedPublication) -> str:
    """Return source and year for a picture."""
    sources = release.facts.get("sources")
    first = sources[0] if isinstance(sources, list) and sources else None
    name = first.get("name") if isinstance(first, dict) else first
    return (
        ", ".join(str(part) for part in (name, release.facts.get("year")) if part) if name else release.title
    )


AS_PUBLISHED: Final = "Counts as LODES publishes them"
"""The source of counts that are copied from published files, in place of what a release promises."""


def caption(release: OpenedPublication, what: str, *, is_published: bool = False) -> list[str]:
    """Return the lines on a picture: a warning if needed, its subject, source, year, epsilon and delta.

    Counts that are copied from published files have neither epsilon nor delta.
    """
    warning = [] if may_be_released(release.certificate) else ["NOT FOR RELEASE"]
    if is_published:
        return [*warning, what, f"{AS_PUBLISHED} · {release.title}"]
    of_whom, _ = origin(release.certificate).split(" · ", 1)
    source = f"{of_whom} · {source_words(release)} · {promise(release.certificate)}"
    return [*warning, what, reader_text(source, nouns_of(release.facts))]


def error_text(error: float | None, sign: str = "± ") -> str:
    """Format an expected error beside its number; "exact" if it is 0, empty if unknown."""
    if error is None or math.isnan(error):
        return ""
    if error == 0:
        return "exact"
    return f"{sign}{error:,.0f}" if error >= 9.5 else f"{sign}{max(error, 0.1):.1f}"


def all_exact(errors: Iterable[float | None]) -> bool:
    """Return whether there are numbers and all of them are exact, so that a table says it once for all rows."""
    known = list(errors)
    return bool(known) and all(error == 0 for error in known)


def exact_title(title: str, *, is_exact: bool) -> str:
    """Return the title of a table or chart, which says so if all its counts are exact."""
    return f"{title} (exact counts)" if is_exact else title


ERRORS_NOTE: Final = (
    "± is the expected error: how far a count typically is from the confidential count. Counts by workplace alone are "
    "exact, because they are published unchanged."
)


RECORD_ERRORS_NOTE: Final = (
    "± is the expected error: how far a count typically is from the confidential count, because of the noise in the "
    "model and of drawing records. It is stated for work areas of whole tracts and home areas of whole PUMAs."
)


def errors_note(promise: Mapping[str, object]) -> str:
    """Return what the errors of an answer mean, given its `About.promise`."""
    return RECORD_ERRORS_NOTE if is_of_records(promise) else ERRORS_NOTE


def miles(value: float | None) -> str:
    """Format a distance; a dash if unknown."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f} mi" if value >= 100 else f"{value:.1f} mi"


def miles_error(error: float | None, sign: str = "± ") -> str:
    """Format the expected error of a distance beside its number; empty if unknown."""
    if error is None or math.isnan(error):
        return ""
    return f"{sign}{error:,.0f} mi" if error >= 9.95 else f"{sign}{max(error, 0.1):.1f} mi"


def ratio(value: float | None) -> str:
    """A ratio, or a dash."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.2f}" if value < 9.995 else f"{value:,.1f}" if value < 99.95 else f"{value:,.0f}"


def ratio_change(value: float | None) -> str:
    """Format the change of a ratio; a dash if unknown."""
    return "–" if value is None or math.isnan(value) else f"{value:+,.2f}"


def ratio_error(error: float | None, sign: str = "± ") -> str:
    """Format the expected error of a ratio beside its number; empty if unknown."""
    if error is None or math.isnan(error):
        return ""
    if error == 0:
        return "exact"
    return f"{sign}{max(error, 0.01):.2f}" if error < 9.995 else f"{sign}{error:,.1f}"


def percent(share: float | None) -> str:
    """Format a share; a dash if unknown."""
    return "–" if share is None else f"{100 * share:.1f}%"
