"""Checking a release from the release alone: its files, its tables, and its certificate made again.

The support points, the prior weights and everything in the certificate follow from public tables, from the seed of
domain editing and from the numbers of workers, all of which a release carries. So the certificate is written a
second time and compared. Taken on trust remain: that the likelihood was the one behind the keyed hash, that the
draws were made as described, and that their key was secret (the published test key is recognised).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.prices import LawVersion
from engine.parameters import Mechanism, SynthesisParameters
from engine.placement.placement import place_blocks
from engine.placement.points import CellTriangles
from engine.streams import PublicSeed, SecretKey
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.claims import as_json, refusal
from mapapp.answers.publication import (
    BOUND_FIELD,
    BOUND_SCHEMA,
    CERTIFICATE,
    FIRST_BOUND_SCHEMA,
    open_publication,
)
from mapapp.answers.release_claims import ReleaseCertificate
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.certificate import (
    EARLIER_MARGINS_CAVEAT,
    LATER_FIELDS_CHECK,
    MARGINS_CAVEAT,
    RUN_ID,
    TEST_KEY_REASON,
    UNREADABLE,
    Certificate,
    CertificateCheck,
)
from mapapp.kinds.base.certificate_comparison import compare_again
from mapapp.kinds.base.geography import Geography, Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.base.overlapping_publications import check_beside
from mapapp.kinds.base.public_counts import reasons_of_facts
from mapapp.kinds.base.publication_check import (
    check_facts,
    check_files,
    check_geography,
    check_publication,
    check_sizes,
)
from mapapp.kinds.base.row_checks import (
    JobsCheck,
    KeyCheck,
    PlacesCheck,
    PointsCheck,
    ReleaseRows,
    most_by_chance,
    release_rows,
)
from mapapp.kinds.base.rows_in_order import NotInOrder, blocks_to_compare, blocks_with_work
from mapapp.kinds.release.certificate.exponential import exponential_claims, read_privacy
from mapapp.kinds.release.certificate.labels_check import LabelsCheck
from mapapp.kinds.release.certificate.noise_check import NoiseCheck
from mapapp.kinds.release.choose.setting_choice import check_design
from mapapp.kinds.release.make.batch import SynthesisSource, open_source, prepare_all
from mapapp.kinds.release.make.marginal_segments import assigns_from_margins, has_marginal_segments
from mapapp.kinds.release.make.promise import make_certificate
from mapapp.kinds.release.make.shown_margins import check_margins
from mapapp.kinds.release.make.support import Support

# Home blocks placed again with the published test key, to recognize a release that was made with it.
#
# Which support point a worker was drawn in follows from the published home. The block within it is then drawn by public
# population, from words of the key's stream that belong to the worker's workplace, segment, and place among the workers
# there. The places are not published. So a home agrees if any of the places gives its block under the test key. Under
# another key this has a chance that is known exactly, and homes are independent given their support points.
#
# Source: docs/theory/method.md, section 11.

_MOST_WORKERS: Final = (1, 2, 4, 8)
"""Most workers of the synthesizers of each class: the fewer there are, the less agrees by chance."""
_ALARM: Final = 1e-9
"""False alarm rate of all classes together."""


class HomesOfKey:
    """Counts home blocks that the test key would have drawn, among workplaces and segments of up to 8 workers.

    Parameters
    ----------
    geography : Geography
    parameters : SynthesisParameters
        What the release says that it is made of.
    """

    def __init__(self, geography: Geography, parameters: SynthesisParameters) -> None:
        self._geography = geography
        self._mode = parameters.placement
        self._key = SecretKey.for_tests()
        n_classes = len(_MOST_WORKERS)
        self.n_compared = np.zeros(n_classes, dtype=np.int64)
        self.n_same = np.zeros(n_classes, dtype=np.int64)
        self.n_by_chance = np.zeros(n_classes)

    def add(self, homes: Inputs, support: Support) -> None:
        """Look at the homes of a batch."""
        coarsening = support.coarsening_of_homes
        point, _ = coarsening.find_homes(
            homes.tract, homes.worker_ptr, homes.worker_origin, self._geography.tract_of_block
        )
        for rank in range(1 if self._mode == "representative" else _MOST_WORKERS[-1]):
            self._add_rank(rank, homes, point, coarsening)

    def _add_rank(
        self, rank: int, homes: Inputs, point: npt.NDArray[np.int32], coarsening: Coarsening
    ) -> None:
        """Look at one worker of each synthesizer that has as many: the one of this rank among its homes."""
        chosen = np.flatnonzero((homes.count > rank) & (homes.count <= _MOST_WORKERS[-1]))
        worker = homes.worker_ptr[chosen] + rank
        at = coarsening.support_ptr[homes.tract[chosen]] + point[worker]
        is_placed = (point[worker] >= 0) & (coarsening.support_level[at] != LEVEL_REMAINDER)
        is_placed &= coarsening.support_population[at] > 0
        chosen, worker, at = chosen[is_placed], worker[is_placed], at[is_placed]
        if self._mode == "representative":  # workers of a tract and a point share one block
            _, first = np.unique(at, return_index=True)
            chosen, worker, at = chosen[first], worker[first], at[first]
        people = coarsening.support_population[at]
        agreement = self._compare_worker(homes, chosen, (worker, point[worker]), coarsening, people)
        of_class = np.searchsorted(_MOST_WORKERS, homes.count[chosen])
        self.n_compared += np.bincount(of_class, minlength=len(_MOST_WORKERS))
        self.n_same += np.bincount(of_class[agreement.same], minlength=len(_MOST_WORKERS))
        self.n_by_chance += np.bincount(of_class, agreement.chance, len(_MOST_WORKERS))

    def _compare_worker(
        self,
        homes: Inputs,
        chosen: Ints,
        worker: tuple[Ints, npt.NDArray[np.int32]],
        coarsening: Coarsening,
        people: Ints,
    ) -> _Agreement:
        """Whether the home of one worker (row, point) of each chosen synthesizer is as the test key draws it."""
        n_places, ptr = homes.count[chosen], np.append(0, np.cumsum(homes.count[chosen]))
        points = SyntheticPoints(synthetic_ptr=ptr, synthetic_point=np.repeat(worker[1], n_places))
        cells = Synthesizers(
            tract=homes.tract[chosen],
            destination=homes.destination[chosen],
            segment=homes.segment[chosen],
            worker_ptr=ptr,
            worker_point=points.synthetic_point,
            min_prior_weight=np.ones(chosen.size, dtype=np.int64),
        )
        block = place_blocks(
            self._key, cells, points, coarsening, self._geography.blocks, mode=self._mode
        ).astype(np.int64)
        owner = np.repeat(np.arange(chosen.size), n_places)
        same = np.zeros(chosen.size, dtype=np.bool_)
        same[owner[block == homes.worker_origin[worker[0]][owner]]] = True
        n_blocks = self._geography.n_blocks
        owner, block = np.divmod(np.unique(owner * n_blocks + block), n_blocks)
        residents = self._geography.blocks.block_population[block]
        chance = np.bincount(owner, residents / people[owner], chosen.size).astype(np.float64)
        return _Agreement(same, chance)

    @property
    def are_too_many(self) -> bool:
        """Whether more homes agree than would under another key, but once in a billion releases."""
        alarm = _ALARM / len(_MOST_WORKERS)
        rows = zip(self.n_compared.tolist(), self.n_by_chance.tolist(), self.n_same.tolist(), strict=True)
        return any(same > most_by_chance(n, mean, alarm) for n, mean, same in rows)


class _Agreement(NamedTuple):
    """Of some homes: whether they agree, and the chance of it under another key."""

    same: npt.NDArray[np.bool_]
    chance: npt.NDArray[np.float64]


_WITH_FLOATS = ("accounting", "construction", "readings", "lone_worker", "parameters")
"""Other machines may round what follows from a fitted prior differently, and a parameter may be written 4 or 4.0."""

_TRUE_TRACT = "true_tract of lone_worker"


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
    certificate = release.document(CERTIFICATE)
    checks = [check_files(release), check_sizes(release)]
    try:
        stated = msgspec.convert(certificate, ReleaseCertificate)
    except msgspec.ValidationError as error:
        checks.append(CertificateCheck("schema", False, refusal(error)))
    if not all(check.ok for check in checks):
        return checks
    used = blocks_with_work(release, "jobs")
    rows = _checked_rows(release, used)
    checks.append(rows.jobs.result())
    if not checks[-1].ok:
        return checks
    checks += [*check_publication(release, stated.publication), check_facts(release, np.flatnonzero(used))]
    checks += check_geography(release)
    checks += [rows.points.result(), rows.places.result()]
    try:
        checks += check_claims(release, stated, certificate, rows.key)
    except UNREADABLE as error:
        checks.append(
            CertificateCheck("certificate", False, f"cannot be interpreted ({type(error).__name__})")
        )
    return checks


def check_claims(
    release: Store, stated: ReleaseCertificate, document: Certificate, key: KeyCheck
) -> Iterator[CertificateCheck]:
    """Check what a certificate says of a release whose rows have been looked at; `document` is as it is written.

    Raises
    ------
    ValueError, LookupError, ArithmeticError
        The certificate cannot be interpreted.
    """
    source = _source(release, stated)
    yield _check_schema(stated, source.parameters.mechanism)
    yield from _check_later_fields(stated)
    inputs = stated.confidential_inputs
    yield CertificateCheck("hashes", bool(inputs), f"{len(inputs)} confidential inputs")
    yield from check_margins(release)
    yield from _check_segments(release, source.parameters)
    homes = HomesOfKey(source.geography, source.parameters)
    noise = NoiseCheck(source.geography, source.privacy, source.parameters, laws=source.laws)
    labels = LabelsCheck(release, source)
    yield _check_again(source, stated, document, homes, noise, labels)
    yield noise.result()
    yield from labels.result()
    yield key.result(TEST_KEY_REASON in stated.status_reasons, homes_agree=homes.are_too_many)
    if stated.beside is not msgspec.UNSET:
        yield check_beside(stated.beside, str(stated.beside_in_words))
    if stated.made_from.design is not msgspec.UNSET:
        if source.parameters.mechanism == "exponential" and source.laws != "by number":
            reason = "the choice was simulated with the noise of an earlier version"
            yield CertificateCheck("design", True, f"cannot be repeated: {reason}")
            return
        yield check_design(release, stated.parameters, stated.made_from.design)


class _RowChecks:
    """All checks of a release's rows, which are read once, some workplaces at a time."""

    def __init__(self, release: Store, cells: CellTriangles) -> None:
        self.jobs = JobsCheck(cells.triangle_ptr.size - 1)
        self.points = PointsCheck()
        self.places = PlacesCheck(release)
        self.key = KeyCheck(cells)

    def add(self, rows: ReleaseRows) -> None:
        """Look at the rows of some workplaces: all of these."""
        for check in (self.jobs, self.points, self.places, self.key):
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


def _source(release: Store, stated: ReleaseCertificate) -> SynthesisSource:
    """What the release says it was made from."""
    source = open_source(
        release,
        PublicSeed(stated.made_from.editing_seed),
        read_privacy(stated.parameters),
        SynthesisParameters.from_dict(stated.parameters.synthesis),
    )
    return replace(source, laws=_laws_of(stated))


def _check_schema(stated: ReleaseCertificate, mechanism: Mechanism) -> CertificateCheck:
    """The fields that its schema has, and no others; :func:`_check_later_fields` has those that it may lack."""
    schema, wrong = stated.schema_version, _list_missing(stated)
    if schema != BOUND_SCHEMA:
        is_bound = stated.publication is not msgspec.UNSET
        wrong = [BOUND_FIELD] if is_bound != (schema >= FIRST_BOUND_SCHEMA) else []
    if (stated.mechanism is msgspec.UNSET) == (mechanism == "exponential"):
        wrong = [*wrong, "mechanism"]
    detail = f"unexpected or missing: {wrong}" if wrong else f"the fields of schema {schema}"
    return CertificateCheck("schema", not wrong, detail)


def _check_later_fields(stated: ReleaseCertificate) -> list[CertificateCheck]:
    """Name the fields that a certificate of an earlier schema lacks: earlier versions did, but anyone can delete them.

    The digest alone tells the two apart, so the check fails if a field of version 0.1 is missing. No check for schema
    3, which has all fields.
    """
    if stated.schema_version == BOUND_SCHEMA:
        return []
    missing = [*_list_missing(stated), *([_TRUE_TRACT] if _lacks_true_tract(stated) else [])]
    good = set(missing) <= {RUN_ID, _TRUE_TRACT}
    detail = f"schema {stated.schema_version} without {', '.join(missing)}"
    return [
        CertificateCheck(
            LATER_FIELDS_CHECK,
            good,
            detail if good else f"{detail}: anyone can delete them; compare the digest published elsewhere",
        )
    ]


def _check_again(
    source: SynthesisSource,
    stated: ReleaseCertificate,
    document: Certificate,
    *homes: HomesOfKey | NoiseCheck | LabelsCheck,
) -> CertificateCheck:
    """Make the certificate again from the public tables, and compare it field by field; show all homes to `homes`."""
    certified = []
    for number, batch in enumerate(prepare_all(source, threads=os.cpu_count() or 1)):
        certified.append(batch.certified)
        inputs = source.inputs(number)
        for check in homes:
            check.add(inputs, batch.support)
    again = make_certificate(
        source.store,
        certified,
        source.prior,
        source.seed,
        source.privacy,
        source.parameters,
        confidential_inputs=stated.confidential_inputs,
        reasons=(
            *([TEST_KEY_REASON] if TEST_KEY_REASON in stated.status_reasons else []),
            *reasons_of_facts(source.store.manifest),
        ),
        design=stated.made_from.design or None,
        versions=stated.versions,
    )
    if source.parameters.mechanism == "exponential" and source.laws != "by number":
        again |= _earlier_claims(source, again)
    if stated.schema_version != BOUND_SCHEMA:  # a later one lacks no field
        _leave_out_later_fields(again, stated)
    return compare_again(
        again, document, "public tables", skipped=("schema_version",), with_floats=_WITH_FLOATS
    )


def _earlier_claims(source: SynthesisSource, again: Certificate) -> JsonObject:
    """The claims of a release of the exponential mechanism that was drawn with earlier laws."""
    rows = again["accounting"]["rows"]
    claims = exponential_claims(source.privacy, source.parameters, rows, laws=source.laws)
    return as_json({name: claims[name] for name in ("accounting", "mechanism")})


def _leave_out_later_fields(again: JsonObject, stated: ReleaseCertificate) -> None:
    """Leave out what a certificate of an earlier schema lacks, and say what it says of margins."""
    for field in _list_missing(stated):
        again.pop(field, None)
    if _lacks_true_tract(stated):
        again["lone_worker"].pop("true_tract", None)
    again["caveats"] = [
        EARLIER_MARGINS_CAVEAT if caveat == MARGINS_CAVEAT else caveat for caveat in again["caveats"]
    ]


def _check_segments(release: Store, parameters: SynthesisParameters) -> list[CertificateCheck]:
    """Check that joint segments of larger units come from margins of workplaces, where the source had no others."""
    if not assigns_from_margins(release, (parameters.unit,)):
        return []
    good = has_marginal_segments(release)
    detail = "are those computed" if good else "are not those computed"
    return [CertificateCheck("segments", good, f"numbers of workers {detail} from the margins of workplaces")]


def _laws_of(stated: ReleaseCertificate) -> LawVersion:
    """Which laws tables were drawn with, by the numbers that a certificate of the exponential mechanism states."""
    numbers = {} if stated.mechanism is msgspec.UNSET else stated.mechanism.numbers
    if "most_priced_workers" in numbers:
        return "by number"
    return "priced to 20" if "price_bits" in numbers else "unpriced"


def _list_missing(stated: ReleaseCertificate) -> list[str]:
    """The fields that a certificate lacks; which mechanism it is of decides on `mechanism`."""
    return [name for name in stated.missing if name != "mechanism"]


def _lacks_true_tract(stated: ReleaseCertificate) -> bool:
    """Whether a certificate states what a lone worker risks, but is from before it stated the true tract."""
    lone = stated.lone_worker
    return lone is not msgspec.UNSET and lone.true_tract is msgspec.UNSET
