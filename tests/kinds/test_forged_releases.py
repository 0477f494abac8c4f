"""Certificates of releases, forged in every way that the tests know, and value by value: `certify` notices."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.json_objects import JsonObject
from geodata.store.store import Store, open_store
from mapapp.answers.release_claims import ReleaseCertificate
from mapapp.kinds.base.certificate import UNREADABLE
from mapapp.kinds.base.row_checks import KeyCheck
from mapapp.kinds.base.rows_in_order import blocks_with_work
from mapapp.kinds.release.certificate import recheck
from mapapp.kinds.release.certificate.noise_check import NoiseCheck
from mapapp.kinds.release.certificate.recheck import HomesOfKey
from mapapp.kinds.release.make import batch
from mapapp.kinds.release.make.batch import SynthesisSource, prepare_all
from tests.commands.running import run_here
from tests.kinds import test_certificate, test_certificate_sound, test_mechanisms
from tests.kinds.forgeries import forged, forgeries, general, leaves
from tests.kinds.test_certificate import Tamper

OPTIONS = {
    "paper": ("--preset", "onthemap-v3", "--accountant", "paper", "--delta", "0.01"),
    "sound": ("--preset", "onthemap-v3", "--prior", "gravity"),
    "exponential": ("--preset", "onthemap-v3", "--mechanism", "exponential"),
}
TAMPERED: dict[str, list[Tamper]] = {
    "paper": test_certificate.TAMPERED,
    "sound": test_certificate_sound.TAMPERED,
    "exponential": test_mechanisms.TAMPERED,
}
ON_TRUST = {
    r"versions/\w+": "what computed the release",
    r"confidential_inputs/\w+": "the keyed hash of homes, which are confidential",
    r"publication.*": "compared with the manifest before",
    r"schema_version": "a certificate with all fields is as good under schema 2",
}
"""Values that can be changed by themselves without being noticed here, by place, and why."""

ON_TRUST_OF = {
    "paper": {
        r"parameters/synthesis/retention_scale": "this accountant takes the least retention for all points"
    }
}
"""The same of some releases alone."""


class Published(NamedTuple):
    """A release, and what does not depend on its certificate."""

    kind: str
    store: Store
    key: KeyCheck
    certificate: JsonObject


@pytest.fixture(scope="module", params=OPTIONS)
def published(
    request: pytest.FixtureRequest, demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory
) -> Published:
    place = tmp_path_factory.mktemp("forged")
    dataset, path = shutil.copytree(demo_dataset, place / "d"), place / "r"
    assert run_here("synthesize", dataset, path, "-q", *OPTIONS[request.param]).code == 0
    store = open_store(path, "release")
    rows = recheck._checked_rows(store, blocks_with_work(store, "jobs"))
    return Published(request.param, store, rows.key, json.loads((path / "certificate.json").read_text()))


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from public tables and stated parameters is computed once for each of them."""
    sources: dict[str, SynthesisSource] = {}
    batches: dict[int, list[object]] = {}

    def open_source(
        store: Store, seed: PublicSeed, privacy: PrivacyParameters, parameters: SynthesisParameters
    ) -> SynthesisSource:
        key = repr((store.path, seed.digits, privacy, parameters))
        if key not in sources:
            sources[key] = batch.open_source(store, seed, privacy, parameters)
        return sources[key]

    def prepare(source: SynthesisSource, *, threads: int) -> Iterable[object]:
        if id(source) not in batches:
            batches[id(source)] = list(prepare_all(source, threads=threads))
        return batches[id(source)]

    monkeypatch.setattr(recheck, "open_source", open_source)
    monkeypatch.setattr(recheck, "prepare_all", prepare)
    monkeypatch.setattr(SynthesisSource, "inputs", lambda *_: None)
    for check in (HomesOfKey, NoiseCheck):
        monkeypatch.setattr(check, "add", lambda *_: None)


def is_noticed(published: Published, certificate: JsonObject) -> bool:
    """Whether the checks of a certificate's claims notice that it was changed."""
    try:
        stated = msgspec.convert(certificate, ReleaseCertificate)
        checks = recheck.check_claims(published.store, stated, certificate, published.key)
        return not all(check.ok for check in checks)
    except UNREADABLE:
        return True


def test_every_known_forgery_is_noticed(published: Published) -> None:
    assert not is_noticed(published, published.certificate)
    missed = []
    for number, tamper in enumerate(TAMPERED[published.kind]):
        changed = copy.deepcopy(published.certificate)
        tamper(changed)
        assert changed != published.certificate, number
        only_schema = {**changed, "schema_version": 3} == published.certificate
        if not only_schema and not is_noticed(published, changed):
            missed.append(number)
    assert missed == []


def test_every_forged_value_is_noticed_or_listed(published: Published) -> None:
    places = {
        general(place): (place, value) for place, value in reversed(list(leaves(published.certificate)))
    }
    missed = set()
    for number, (name, (place, value)) in enumerate(places.items()):
        others = [other for other in forgeries(value) if other != value]  # 0 is as good as 0.0
        if not is_noticed(published, forged(published.certificate, place, others[number % len(others)])):
            missed.add(name)
    on_trust = [*ON_TRUST, *ON_TRUST_OF.get(published.kind, ())]
    assert {name for name in missed if not any(re.fullmatch(known, name) for known in on_trust)} == set()
