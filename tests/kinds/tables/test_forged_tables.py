"""Every value of a certificate of a table, forged by itself: which forgeries `certify` cannot notice, and why."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from geodata.store.store import open_store
from mapapp.answers.tables.certificate import TableCertificate
from mapapp.kinds.base.certificate import UNREADABLE
from mapapp.kinds.tables.make import recheck
from tests.kinds.forgeries import forged, forgeries, general, leaves

ON_TRUST = {
    r"versions/\w+": "what computed the table",
    r"confidential_inputs/\w+": "the keyed hash of the jobs, which are confidential",
    r"prior/(origin|sha256|smoothing.*)": "where the prior comes from is the word of the publisher",
    r"tables/\*/title": "a title is the choice of the publisher",
    r"publication.*": "compared with the manifest before",
    r"run_id": "drawn at random",
}
"""Values that can be changed by themselves without being noticed here, by place, and why."""


def is_noticed(path: Path, certificate: dict[str, object]) -> bool:
    try:
        stated = msgspec.convert(certificate, TableCertificate)
        return not all(check.ok for check in recheck._claims(open_store(path, "table"), stated, certificate))
    except UNREADABLE:
        return True


def test_every_forged_value_is_noticed_or_listed(demo_table: Path) -> None:
    document = open_store(demo_table, "table").document("certificate.json")
    assert not is_noticed(demo_table, document)
    places = {general(place): (place, value) for place, value in reversed(list(leaves(document)))}
    missed = set()
    for number, (name, (place, value)) in enumerate(places.items()):
        others = [other for other in forgeries(value) if other != value]
        if is_noticed(demo_table, forged(document, place, others[number % len(others)])):
            continue
        missed.add(name)
    assert {name for name in missed if not any(re.fullmatch(known, name) for known in ON_TRUST)} == set()
