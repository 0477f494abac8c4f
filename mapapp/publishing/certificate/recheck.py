"""Checking a release from the release alone: its files, its tables, and its certificate made again.

The support points, the prior weights and everything in the certificate follow from public tables, from the seed of
domain editing and from the numbers of workers, all of which a release carries. So the certificate is written a
second time and compared. Taken on trust remain: that the likelihood was the one behind the keyed hash, that the
draws were made as described, and that their key was secret (the published test key is recognised).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.errors import EngineError
from engine.parameters import SynthesisParameters
from engine.points import CellTriangles
from engine.streams import PublicSeed
from geodata.errors import StoreError
from geodata.store import Store
from mapapp.answers.publication import BOUND_SCHEMA, is_bound, open_publication
from mapapp.publishing.batch import SynthesisSource, open_source
from mapapp.publishing.batch_workers import prepare_all
from mapapp.publishing.beside import check_beside
from mapapp.publishing.block_cells import read_cells
from mapapp.publishing.certificate.certificate import CertificateCheck, check_certificate
from mapapp.publishing.certificate.check import check_later_fields
from mapapp.publishing.certificate.exponential import read_privacy
from mapapp.publishing.certificate.geography_check import check_geography
from mapapp.publishing.certificate.key_homes import HomesOfKey
from mapapp.publishing.certificate.noise_check import NoiseCheck
from mapapp.publishing.certificate.publication_check import (
    check_facts,
    check_files,
    check_publication,
    check_sizes,
)
from mapapp.publishing.certificate.row_checks import (
    JobsCheck,
    KeyCheck,
    PlacesCheck,
    PointsCheck,
    ReleaseRows,
    SynthesizerCounts,
    release_rows,
)
from mapapp.publishing.certificate.rows_in_order import NotInOrder, blocks_to_compare, blocks_with_work
from mapapp.publishing.certificate.stamps import software_versions
from mapapp.publishing.certificate.terms import (
    EARLIER_MARGINS_CAVEAT,
    LATER_FIELDS,
    MARGINS_CAVEAT,
    TEST_KEY_REASON,
    Certificate,
)
from mapapp.publishing.chosen_setting import check_design
from mapapp.publishing.marginal_segments import assigns_from_margins, has_marginal_segments
from mapapp.publishing.promise import make_certificate
from mapapp.publishing.residents_only import reasons_of_homes

__all__ = ["check_release"]

_FITTED = (
    "accounting",
    "construction",
    "preconditions",
    "readings",
    "worst_synthesizer",
    "epsilon_final",
    "lone_worker",
    "mechanism",
)
_AGREE = 1e-6  # relative; other machines may round the last digits of a fitted prior differently


def check_release(path: Path) -> list[CertificateCheck]:
    """Check a release from the release alone.

    Returns
    -------
    list of CertificateCheck
        Every claim, whether it holds, and the numbers.

    Raises
    ------
    StoreError
        When it is no release, its files are not those of its manifest, its certificate cannot be read, or its mechanism
        has left.
    """
    release = open_publication(path, "release")
    certificate = _read_certificate(release)
    checks = [check_files(release), check_sizes(release)]
    if not all(check.ok for check in checks):
        return checks
    used = blocks_with_work(release, "jobs")
    rows = _checked_rows(release, used)
    checks.append(rows.jobs.result())
    if not checks[-1].ok:
        return checks
    checks += [*check_publication(release, certificate), check_facts(release, np.flatnonzero(used))]
    checks += check_geography(release)
    checks += [rows.points.result(), rows.places.result()]
    try:
        checks += [*check_certificate(certificate, rows.counts.by_n), *check_later_fields(certificate)]
        source = _source(release, certificate)
        homes = HomesOfKey(source.geography, source.parameters)
        checks += _check_segments(release, source.parameters)
        noise = NoiseCheck(
            source.geography, source.privacy, source.parameters, priced=_is_priced(certificate)
        )
        checks.append(_check_again(source, certificate, homes, noise))
        checks.append(noise.result())
        is_stated = TEST_KEY_REASON in certificate["status_reasons"]
        checks.append(rows.key.result(is_stated, homes_agree=homes.are_too_many))
        if "beside" in certificate:
            checks.append(check_beside(certificate))
        if "design" in certificate["construction"]:
            checks.append(check_design(release, certificate))
    except (EngineError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        checks.append(
            CertificateCheck("certificate", False, f"cannot be interpreted ({type(error).__name__})")
        )
    return checks


class _RowChecks:
    """All checks of a release's rows, which are read once, some workplaces at a time."""

    def __init__(self, release: Store, cells: CellTriangles) -> None:
        self.jobs = JobsCheck(cells.triangle_ptr.size - 1)
        self.counts = SynthesizerCounts()
        self.points = PointsCheck()
        self.places = PlacesCheck(release)
        self.key = KeyCheck(cells)

    def add(self, rows: ReleaseRows) -> None:
        """Look at the rows of some workplaces: all of these."""
        for check in (self.jobs, self.counts, self.points, self.places, self.key):
            check.add(rows)


def _checked_rows(release: Store, used: npt.NDArray[np.bool_]) -> _RowChecks:
    """Look at all rows; `used` says which blocks are workplaces."""
    cells = read_cells(release, blocks_to_compare(used), threads=os.cpu_count() or 1)
    checks = _RowChecks(release, cells)
    try:
        for rows in release_rows(release):
            checks.add(rows)
    except NotInOrder:  # no program of ours wrote it; it may still be right
        checks = _RowChecks(release, cells)
        checks.add(ReleaseRows(release.table("jobs"), release.table("points")))
    return checks


def _read_certificate(release: Store) -> Certificate:
    try:
        certificate = release.document("certificate.json")
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{release.path}/certificate.json: not readable ({error}); do not use this release"
        ) from error
    if not isinstance(certificate, dict):
        raise StoreError(f"{release.path}/certificate.json: not a certificate; do not use this release")
    return certificate


def _source(release: Store, certificate: Certificate) -> SynthesisSource:
    """What the release says it was made from."""
    return open_source(
        release,
        PublicSeed(certificate["construction"]["editing_seed"]),
        read_privacy(certificate["parameters"]),
        SynthesisParameters.from_dict(certificate["parameters"]["synthesis"]),
    )


def _check_again(
    source: SynthesisSource, certificate: Certificate, *homes: HomesOfKey | NoiseCheck
) -> CertificateCheck:
    """Make the certificate again from the public tables, and compare it field by field; show all homes to `homes`."""
    certified = []
    for number, batch in enumerate(prepare_all(source, threads=os.cpu_count() or 1)):
        certified.append(batch.certified)
        inputs = source.inputs(number)
        for each in homes:
            each.add(inputs, batch.support)
    again = make_certificate(
        source.store,
        certified,
        source.prior,
        source.seed,
        source.privacy,
        source.parameters,
        confidential_inputs=certificate["confidential_inputs"],
        reasons=(
            *([TEST_KEY_REASON] if TEST_KEY_REASON in certificate["status_reasons"] else []),
            *reasons_of_homes(source.store.manifest),
        ),
        design=certificate["construction"].get("design"),
        versions=certificate["versions"],
    )
    if is_bound(certificate):
        del again["schema_version"]  # checked with the other fields; the publication has a check of its own
    if certificate["schema_version"] != BOUND_SCHEMA:  # a later one lacks no field
        for field in LATER_FIELDS:
            if field not in certificate:
                again.pop(field, None)
        if _lacks_true_tract(certificate):
            again["lone_worker"].pop("true_tract", None)
        again["caveats"] = [
            EARLIER_MARGINS_CAVEAT if each == MARGINS_CAVEAT else each for each in again["caveats"]
        ]
    differs = [
        field
        for field, value in again.items()
        if not (_same(value, certificate.get(field)) if field in _FITTED else value == certificate.get(field))
    ]
    if set(certificate["versions"]) != set(software_versions()):
        differs.append("versions")
    detail = f"differs in {', '.join(differs)}" if differs else f"all {len(again)} fields match"
    return CertificateCheck("made again from public tables", not differs, detail)


def _check_segments(release: Store, parameters: SynthesisParameters) -> list[CertificateCheck]:
    """Check that joint segments of larger units come from margins of workplaces, where the source had no others."""
    if not assigns_from_margins(release, (parameters.unit,)):
        return []
    good = has_marginal_segments(release)
    detail = "are those computed" if good else "are not those computed"
    return [CertificateCheck("segments", good, f"numbers of workers {detail} from the margins of workplaces")]


def _is_priced(certificate: Certificate) -> bool:
    """Whether tables of up to 20 workers were drawn with a price; those of earlier versions were not."""
    return "price_bits" in certificate.get("mechanism", {}).get("numbers", {})


def _lacks_true_tract(certificate: Certificate) -> bool:
    """Whether a certificate states what a lone worker risks, but is from before it stated the true tract."""
    lone = certificate.get("lone_worker")
    return isinstance(lone, Mapping) and "true_tract" not in lone


def _same(one: object, other: object) -> bool:
    """Equal, numbers to within rounding."""
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and set(one) == set(other)
            and all(_same(one[k], other[k]) for k in one)
        )
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, int | float) and not isinstance(one, bool):
        if not isinstance(other, int | float) or isinstance(other, bool) or not math.isfinite(other):
            return False
        return abs(one - other) <= _AGREE * max(abs(one), abs(other))
    return bool(one == other)
