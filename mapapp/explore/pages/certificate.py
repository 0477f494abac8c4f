"""The certificate of a release: as a banner, as a card, and in full."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.opened_publication import OpenedPublication, certificate_json
from mapapp.answers.promise.joint_promise import joint_promise
from mapapp.answers.promise.overlapping_releases import same_jobs
from mapapp.answers.publication import is_bound, is_of_records, is_published
from mapapp.answers.published.words import source_rows
from mapapp.answers.records.words import promised_rows, whole_record_void
from mapapp.answers.release import Release
from mapapp.answers.words import aria
from mapapp.explore.pages.folding import folding_card
from mapapp.kinds.tables.read.served_table import ServedTable

RELEASE_BADGES: Final = {True: ("For release", "teal.9"), False: ("Not for release", "red.9")}
"""The status of a publication and its color, by whether it may be released."""


def banner(publication: OpenedPublication) -> Component | None:
    """A prominent warning if a publication is not for release; nothing otherwise."""
    if words.may_be_released(publication.certificate):
        return None
    reasons = publication.certificate.get("status_reasons")
    texts = [str(reason) for reason in reasons] if isinstance(reasons, list) else []
    return html.Div(
        [
            html.Strong("Not for release. "),
            html.Span(" · ".join(texts) or "The certificate does not say why."),
        ],
        className="banner",
        role="alert",
    )


def card(
    release: Release,
    served: Collection[Release] = (),
    tables: Collection[ServedTable] = (),
) -> Component:
    """Epsilon, delta, accountant and status, with a link to the full explanation.

    `served` are all releases of the server: with others of the same place, a row has the sum of their promises.
    `tables` are its tables: those of the same jobs are named.
    """
    certificate = release.certificate
    if is_published(certificate):
        return summary_card(
            "Source",
            source_rows(certificate, digest=f"{release.version}…"),
            ("How these counts were made", f"./method?release={release.slug}"),
            badge=("As published", "teal.9"),
        )
    good = words.may_be_released(certificate)
    rows = _list_promises(certificate)
    joint = joint_promise(release, served)
    if joint is not None:
        rows.append((joint.label, joint.text))
    beside = [table.title for table in tables if same_jobs(table, [release])]
    if beside:
        rows.append(("Not accounted for", f"a table of the same jobs, {list_names(beside)}"))
    rows += [
        ("Whole records", f"not protected beside {title}")
        for title in whole_record_void(release, (*served, *tables))
    ]
    rows.append(("Mechanism", words.mechanism(certificate)))
    rows.append((digest_label(certificate), f"{release.version}…"))
    if not is_bound(certificate):
        rows.append(("Title, year, states, row counts", "not covered by this certificate (schema 1)"))
    return summary_card(
        "Privacy certificate",
        rows,
        ("What this promise covers", f"./method?release={release.slug}"),
        badge=RELEASE_BADGES[good],
    )


def digest_label(certificate: Mapping[str, object]) -> str:
    """What the digest of a publication is called."""
    if is_published(certificate):
        return "Counts digest"
    return "Records digest" if is_of_records(certificate) else "Release digest"


def summary_card(
    heading: str, rows: Sequence[tuple[str, str]], link: tuple[str, str], *, badge: tuple[str, str]
) -> Component:
    """Facts of a publication, its status with a color, and a link to the method, as text and address."""
    text, href = link
    return folding_card(
        "certificate",
        html.H2([heading, dmc.Badge(badge[0], color=badge[1], variant="filled", radius="sm")]),
        [
            html.Dl(
                [part for term, value in rows for part in (html.Dt(term), html.Dd(value))], className="facts"
            ),
            dcc.Link(text, href=href, className="more"),
        ],
        **aria(label=heading),
    )


def _list_promises(certificate: Mapping[str, object]) -> list[tuple[str, str]]:
    """The numbers of the promise, and the accountant that certifies them."""
    if is_of_records(certificate):
        return promised_rows(certificate)
    final, delta = (words.number_text(certificate, name) for name in ("epsilon_final", "delta"))
    if not words.has_accountant(certificate):
        return [("ε (epsilon)", final), ("δ (delta)", delta), ("Accountant", "none needed")]
    drawn, total = (words.number(certificate, number) for number in ("epsilon", "epsilon_final"))
    return [
        *([("ε before pruning", words.number_text(certificate, "epsilon"))] if drawn != total else []),
        ("ε (epsilon), including pruning", final),
        ("δ (delta)", delta),
        ("Accountant", words.accountant(certificate)),
    ]


def in_full(publication: OpenedPublication) -> Component:
    """The complete certificate."""
    return html.Pre(
        certificate_json(publication.certificate),
        className="certificate",
        tabIndex=0,
        **aria(label="Certificate as JSON"),
    )
