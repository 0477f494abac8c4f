"""One synthesis run: dataset → coarsen, edit, prior, certify, prune, sample → release."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from engine.accountant.sound import require_fixed_count
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.precompile import ensure_compiled, stages_of
from engine.streams import PublicSeed, SecretKey
from geodata.json_objects import JsonObject
from geodata.store.store import Store, StoreWriter, refuse_existing, store_digest, write_store
from mapapp.answers.claims import as_json
from mapapp.answers.publication import CERTIFICATE, PUBLISH_DIGEST_NOTE, bind_publication, public_facts
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import (
    RUN_ID,
    TEST_KEY_REASON,
    Certificate,
    are_liftable,
    is_charged,
    new_run_id,
)
from mapapp.kinds.base.geography import Workplaces, copy_public_tables, read_geography, read_workplaces
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerEntry, promised_amounts, running_total
from mapapp.kinds.base.overlapping_publications import (
    beside_in_words,
    confidential_hashes,
    publications_beside,
)
from mapapp.kinds.base.public_counts import reasons_of_facts
from mapapp.kinds.base.residents_only import open_dataset, reasons_of_homes
from mapapp.kinds.cluster.client import cluster_client
from mapapp.kinds.cluster.dask_types import Client
from mapapp.kinds.release.certificate.exponential import NO_ACCOUNTANT
from mapapp.kinds.release.choose.cascade_choice import CascadeFacts
from mapapp.kinds.release.choose.design_by_reader_errors import DrawnDesignFacts
from mapapp.kinds.release.choose.design_by_validity import DesignFacts
from mapapp.kinds.release.choose.public_part import public_part_of
from mapapp.kinds.release.choose.setting_choice import Choice, choose_setting, design_lines
from mapapp.kinds.release.make.batch import BatchRunner, Columns, SynthesisSource, ThreadRunner, source_of
from mapapp.kinds.release.make.cascade import CascadeRunner
from mapapp.kinds.release.make.last_release import add_last_release, last_release_lines
from mapapp.kinds.release.make.margin_options import WHOLE_DATASET, DatasetView
from mapapp.kinds.release.make.marginal_segments import add_joint_segments, assigns_from_margins
from mapapp.kinds.release.make.prior import FittedDecays, fit_decay
from mapapp.kinds.release.make.promise import CertifiedBatch, make_certificate
from mapapp.kinds.release.make.shown_margins import add_shown_margins

# How large a release is: public numbers that a run and a dry run report alike.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSizes:
    """Sizes of a release.

    Attributes
    ----------
    n_workers, n_synthesizers, n_destination_tracts : int
    n_support : tuple of (least, mean, greatest)
        Support points of a destination tract, after editing.
    """

    n_workers: int
    n_synthesizers: int
    n_destination_tracts: int
    n_support: tuple[int, float, int]

    @classmethod
    def of(cls, workplaces: Workplaces, certified: Sequence[CertifiedBatch]) -> ReleaseSizes:
        """Add up the batches."""
        sizes = [batch.n_support for batch in certified]
        n_tracts = workplaces.tract.size
        return cls(
            n_workers=int(workplaces.n_workers.sum()),
            n_synthesizers=sum(batch.weights.min_prior_weight.size for batch in certified),
            n_destination_tracts=n_tracts,
            n_support=(
                min(least for least, _, _ in sizes),
                sum(total for _, total, _ in sizes) / n_tracts,
                max(greatest for _, _, greatest in sizes),
            ),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        least, mean, greatest = self.n_support
        return {
            "n_workers": self.n_workers,
            "n_synthesizers": self.n_synthesizers,
            "n_destination_tracts": self.n_destination_tracts,
            "n_support": {"least": least, "mean": round(mean, 1), "greatest": greatest},
        }

    def support_line(self) -> str:
        """Support points, in a line for a person."""
        least, mean, greatest = self.n_support
        return f"  support points   {least}–{greatest}, mean {mean:.0f} ({self.n_destination_tracts} workplace tracts)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run reports to the analyst; all of it follows from public data and the certificate.

    Attributes
    ----------
    release : Path
        Where the release is.
    digest : str
        The release digest; see `geodata.store.store.store_digest`.
    certificate : dict
        As in the release.
    sizes : ReleaseSizes
    spent : tuple of (epsilon, delta)
        By all publications of the dataset together.
    """

    release: Path
    digest: str
    certificate: Certificate
    sizes: ReleaseSizes
    spent: tuple[Fraction, Fraction]

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        return {
            "release": str(self.release),
            "release_digest": self.digest,
            "status": self.certificate["status"],
            **{name: self.certificate[name]["value"] for name in ("epsilon", "delta", "epsilon_final")},
            **self.sizes.to_dict(),
            "spent": {"epsilon": str(self.spent[0]), "delta": str(self.spent[1])},
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        sizes = self.sizes
        return [
            f"{self.release}: {sizes.n_workers:,} synthetic workers from {sizes.n_synthesizers:,} synthesizers",
            f"  promise          {promise_line(self.certificate)}",
            *person_lines(self.certificate),
            sizes.support_line(),
            *design_lines(self.certificate),
            *last_release_lines(self.certificate["construction"]),
            *status_lines(self.certificate),
            f"  release digest   {self.digest}",
            f"                   {PUBLISH_DIGEST_NOTE}",
            running_total(self.spent),
        ]


def promise_line(certificate: Certificate) -> str:
    """What a certificate promises, in a line."""
    final, delta = (certificate[name]["value"] for name in ("epsilon_final", "delta"))
    return f"epsilon_final {final:.3f}, delta {delta:g} ({_grounds(certificate)})"


def status_lines(certificate: Certificate) -> list[str]:
    """Whether a release may be published, why not, and that it is charged all the same where it is."""
    reasons = certificate["status_reasons"]
    why = f": {'; '.join(reasons)}" if reasons else ""
    lines = [f"  status           {certificate['status']}{why}"]
    if are_liftable(reasons):
        lines.append(
            "                   charged in full all the same: it may be published once this reason no longer holds"
        )
    return lines


def person_lines(certificate: Certificate) -> list[str]:
    """What it promises a person with several jobs, if the dataset knows persons."""
    person = certificate["readings"]["differential_privacy"].get("person")
    return [] if person is None else [f"  persons          {person['in_words']}"]


def _grounds(certificate: Certificate) -> str:
    if certificate["accountant"] == NO_ACCOUNTANT:
        return "exponential: it needs no accountant"
    if certificate["accountant"] == "sound":
        return "sound accountant"
    return f"paper accountant: epsilon {certificate['epsilon']['value']:g} and the cost of pruning"


def run_synthesis(
    dataset_path: Path,
    release_path: Path,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    view: DatasetView = WHOLE_DATASET,
    design: Choice | None = None,
    beside: Sequence[Path] = (),
    test_key: bool = False,
    workers: int | str | None = None,
    report: Report = silent,
) -> Outcome:
    """Make a release from a dataset.

    The order matters: the promise is certified, then entered in the ledger, and only then is anything drawn. When the
    tables are written, the certificate is completed by what it binds: the public facts and the files.

    Parameters
    ----------
    dataset_path, release_path : Path
    privacy, parameters
        What the release is made of.
    view : DatasetView
        What is read in place of the dataset's own tables: fewer numbers of workers, or the flows of an earlier release.
    design : Choice, optional
        Choose from public data what the mechanism leaves open; `privacy` then holds the promise and `parameters`
        everything else.
    beside : sequence of Path
        Tables of the same jobs that the release is published beside on purpose.
    test_key : bool
        Use the published test key and seed; the release is marked not for release.
    workers : int or str, optional
        Number of threads, by default one for each processor; or the address of a Dask scheduler whose workers take
        the batches and see both paths. The release does not depend on it.
    report : callable
        Called with (stage, done, total).

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        Nothing is left at `release_path`.
    """
    scheduler = workers if isinstance(workers, str) else None
    threads = workers if isinstance(workers, int) else None
    require_fixed_count(privacy, parameters)
    may_cascade = parameters.cascade or (design is not None and design.cascade)
    if may_cascade and scheduler is not None:
        raise UsageError(
            f"--scheduler {scheduler} with --cascade: the cascade is drawn on one machine; leave one out"
        )
    refuse_existing(release_path)
    if scheduler is None:
        needed = replace(parameters, cascade=True) if may_cascade else parameters
        stages = stages_of(needed, design.mechanisms if design is not None else ())
        ensure_compiled(lambda: report("compiling kernels (once)", 0, 0), stages)
    key = SecretKey.for_tests() if test_key else SecretKey.fresh()
    seed = PublicSeed.for_tests() if test_key else PublicSeed.fresh()
    # The place is claimed before anything is spent: of several runs to one place, one goes on.
    with write_store(release_path, "release") as writer, cluster_client(scheduler, key) as client:
        dataset, source, facts = prepared_source(
            dataset_path,
            seed,
            privacy,
            parameters,
            view=view,
            design=design,
            for_release=not test_key,
            report=report,
            listed=client is None,  # workers on other machines read what they need themselves
            threads=threads or os.cpu_count() or 1,
        )
        with _runner(client, source, writer.directory, key, threads=threads, report=report) as runner:
            certified = runner.certify()
            certificate = claimed_certificate(dataset, source, certified, facts, is_test=key.is_test)
            certificate[RUN_ID] = new_run_id(is_test=key.is_test)
            certificate |= _claim_beside(dataset, certificate, Ledger(dataset.path).entries(), beside)
            claims, spent = _spend(dataset, release_path, certificate, beside)
            certificate |= claims
            if isinstance(runner, CascadeRunner):
                _stream(writer, "labels", runner.labels(key))
            _stream(writer, "jobs", runner.jobs(key))
            _stream(writer, "points", runner.points(key))
        report("writing the release", 0, 0)
        copy_public_tables(dataset, writer)
        dataset.require_unchanged(digests=False)  # drawing has read it, too
        certificate = bind_publication(certificate, public_facts(dataset.manifest), writer.list_files())
        writer.document(CERTIFICATE, certificate)
        writer.facts(**public_facts(dataset.manifest))
    return _outcome(release_path, certificate, source, certified, spent)


def _runner(
    client: Client | None,
    source: SynthesisSource,
    directory: Path,
    key: SecretKey,
    *,
    threads: int | None,
    report: Report,
) -> AbstractContextManager[BatchRunner]:
    """The runner that works on the batches: this machine's threads, or a cluster."""
    if client is None:
        kind = CascadeRunner if source.parameters.cascade else ThreadRunner
        return nullcontext(kind(source, threads=threads or os.cpu_count() or 1, report=report))
    from mapapp.kinds.cluster.release_runner import cluster_runner

    return cluster_runner(client, source, directory, secret=not key.is_test, report=report)


def prepared_source(
    dataset_path: Path,
    seed: PublicSeed,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    view: DatasetView,
    design: Choice | None,
    for_release: bool,
    report: Report,
    listed: bool = True,
    threads: int = 1,
) -> tuple[Store, SynthesisSource, DesignFacts | DrawnDesignFacts | CascadeFacts | None]:
    """Open a dataset, read what all batches share, and choose what is left open; nothing is spent or drawn.

    Parameters
    ----------
    dataset_path, seed, privacy, parameters, view, design, report
        As in :func:`run_synthesis`.
    for_release : bool
        Whether the release may be published.
    listed, threads
        As in :func:`mapapp.kinds.base.geography.read_workplaces`.

    Returns
    -------
    dataset : Store
        With the facts of the view, and its own jobs.
    source : SynthesisSource
        With the chosen setting.
    facts : dict or None
        How it was chosen.
    """
    report("reading the dataset", 0, 0)
    dataset = open_dataset(dataset_path)
    if view.last_release is not None:
        reasons = (*parameters.not_for_release_reasons(), *reasons_of_homes(dataset.manifest))
        publishable = for_release and not reasons
        dataset = add_last_release(dataset, view.last_release, for_release=publishable)
    units = (parameters.unit,) if design is None else design.units
    shown = add_shown_margins(dataset, view.margins)
    dataset = dataset.add_facts(**view.margins.facts_of(dataset.manifest))
    store = add_joint_segments(shown) if assigns_from_margins(shown, units) else shown
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography, listed=listed, threads=threads)
    facts: DesignFacts | DrawnDesignFacts | CascadeFacts | None = None
    fitted: FittedDecays = {}
    if design is not None:
        fit_decay(geography, workplaces, parameters, fitted, threads=threads)  # the choice needs it, too
        public = public_part_of(store, geography, workplaces, fitted)
        privacy, parameters, facts = choose_setting(
            public, privacy, parameters, design, report=report, threads=threads
        )
        if store is not shown and parameters.unit == "cell":
            store = shown
            workplaces = read_workplaces(store, geography, listed=listed, threads=threads)
    source = source_of(
        store, geography, workplaces, seed, privacy, parameters, fitted=fitted, threads=threads
    )
    return dataset, source, facts


def claimed_certificate(
    dataset: Store,
    source: SynthesisSource,
    certified: list[CertifiedBatch],
    design: DesignFacts | DrawnDesignFacts | CascadeFacts | None,
    *,
    is_test: bool,
) -> JsonObject:
    """The claims of a certificate, from what was certified of every batch."""
    return make_certificate(
        dataset,
        certified,
        source.prior,
        source.seed,
        source.privacy,
        source.parameters,
        confidential_inputs=confidential_hashes(dataset),
        reasons=(
            *([TEST_KEY_REASON] if is_test else []),
            *reasons_of_facts(dataset.manifest),
        ),
        design=design,
    )


def _stream(writer: StoreWriter, table: str, parts: Iterator[Columns]) -> None:
    with writer.stream(table) as stream:
        for rows in parts:
            stream.write(rows)


def _claim_beside(
    dataset: Store, certificate: Certificate, entries: tuple[LedgerEntry, ...], given: Sequence[Path]
) -> JsonObject:
    """Claims about publications beside the release; UsageError if the ledger has one that was not given."""
    known = entries if is_charged(certificate["status_reasons"]) else ()
    beside = publications_beside(dataset, "release", known, given)
    return {"beside": as_json(beside), "beside_in_words": beside_in_words(beside, "release")}


def _spend(
    dataset: Store, release: Path, certificate: Certificate, given: Sequence[Path]
) -> tuple[JsonObject, tuple[Fraction, Fraction]]:
    """Enter the promise in the dataset's ledger; return the claims about publications beside it, and what is spent.

    Raises
    ------
    LedgerError
        The promise would pass the budget.
    StoreError
        The dataset is not the one that was read: another may have taken its place, with a ledger of its own.
    UsageError
        A table was made meanwhile.
    """

    claims: JsonObject = {}

    def others(entries: tuple[LedgerEntry, ...]) -> tuple[str, ...]:
        claims.update(_claim_beside(dataset, certificate, entries, given))
        return tuple(str(claim["digest"] or claim["name"]) for claim in claims["beside"])

    ledger = Ledger(dataset.path)
    ledger.spend(
        **promised_amounts(certificate),
        release=release.name,
        beside=others,
        check=dataset.require_unchanged,
    )
    return claims, ledger.spent()


def _outcome(
    release: Path,
    certificate: Certificate,
    source: SynthesisSource,
    certified: list[CertifiedBatch],
    spent: tuple[Fraction, Fraction],
) -> Outcome:
    return Outcome(
        release=release,
        digest=store_digest(release),
        certificate=certificate,
        sizes=ReleaseSizes.of(source.workplaces, certified),
        spent=spent,
    )
