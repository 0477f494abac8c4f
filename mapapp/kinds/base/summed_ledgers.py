"""What the promises of several datasets and releases add up to for a person who is in all of them.

A dataset counts with everything in its ledger, a release with the promise of its certificate. By basic composition,
epsilons add up, and so do deltas (docs/theory/method.md, section 1). This holds whether or not the releases were made
from the same workers, and needs no assumption about what the sources have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from geodata.errors import StoreError
from geodata.store.manifest import read_manifest
from geodata.store.same_files import source_files
from geodata.store.store import Store, open_store, store_digest
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import keyed_file_hash
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import (
    LedgerEntry,
    LedgerError,
    Reading,
    promised_amounts,
    release_entry,
    sum_readings,
    sum_spent,
)

__all__ = ["Source", "Sum", "sum_ledgers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A dataset or a release whose promises are added.

    Attributes
    ----------
    path : Path
    kind : {"dataset", "release", "records"}
    title, year : str or None, int or None
        As its manifest states them.
    entries : tuple of LedgerEntry
        A dataset's ledger, or the one entry that a release's certificate amounts to.
    unit_of_protection : str or None
        What a release's certificate says is protected; None for a dataset, whose ledger does not say.
    """

    path: Path
    kind: str
    title: str | None
    year: int | None
    entries: tuple[LedgerEntry, ...]
    unit_of_protection: str | None = None

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Sum of (epsilon, delta), exact."""
        return sum_spent(self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The promises of several sources, added.

    Attributes
    ----------
    sources : tuple of Source
        In the given order.
    entries : tuple of LedgerEntry
        Those of all sources but their budgets, which do not add up.
    notes : tuple of str
        What a reader of the sum has to know, a line each.
    """

    sources: tuple[Source, ...]
    entries: tuple[LedgerEntry, ...]
    notes: tuple[str, ...]

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Sum of (epsilon, delta), exact."""
        return sum_spent(self.entries)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The readings in which the promises of all sources hold, added."""
        return sum_readings(self.entries)


def sum_ledgers(paths: Sequence[Path]) -> Sum:
    """Add up the promises of several datasets and releases.

    Raises
    ------
    UsageError
        A source is given twice, or a release and the dataset whose ledger counts it already.
    StoreError, LedgerError
        A source cannot be read.
    """
    stores = [_open_source(path) for path in paths]
    _refuse_repeats(stores)
    sources = tuple(_source(store) for store in stores)
    _refuse_counted_releases(sources)
    entries = _each_line_once(sources)
    notes = (*_name_perhaps_counted(stores, sources), *_copies(stores, sources), *_differences(sources))
    return Sum(sources=sources, entries=entries, notes=notes)


def _open_source(path: Path) -> Store:
    """Open a store of either kind; of a dataset, only the ledger and its manifest are needed."""
    kind = read_manifest(path).get("kind")
    if kind == "table":
        raise UsageError(
            f"{path}: a table with suppressed cells has no epsilon or delta to add up, and no joint promise with "
            "anything beside it; leave it out"
        )
    if kind in ("release", "records"):
        return open_store(path, kind)
    return open_store(path, "dataset", verify=False)


def _refuse_repeats(stores: Sequence[Store]) -> None:
    seen: dict[tuple[str, str], Store] = {}
    for store in stores:
        same = str(store.path.resolve()) if store.kind == "dataset" else store_digest(store.path)
        first = seen.setdefault((store.kind, same), store)
        if first is not store:
            raise UsageError(
                f"{store.path} is the same {store.kind} as {first.path} and would count twice; give it once"
            )


def _refuse_counted_releases(sources: Sequence[Source]) -> None:
    """Refuse a release beside a dataset whose ledger counts its run; a copy of the dataset may not."""
    datasets = [source for source in sources if source.kind == "dataset"]
    for release in (source for source in sources if source.kind != "dataset"):
        ids = _runs(release)
        for dataset in datasets:
            if ids & _runs(dataset):
                raise UsageError(
                    f"{release.path} was made from {dataset.path}, whose ledger counts it already; leave out "
                    f"{release.path}"
                )


def _runs(source: Source) -> set[str]:
    """Ids of the runs that a source counts; those that count nothing may repeat."""
    return {entry.run_id for entry in source.entries if entry.run_id and entry.counts}


def _each_line_once(sources: Sequence[Source]) -> tuple[LedgerEntry, ...]:
    """Entries but budgets. A line that the ledgers of two copies of a dataset share counts once.

    Only lines that agree in everything are the same: the id of a run alone could be copied into another certificate.
    """
    entries: list[LedgerEntry] = []
    shared: set[LedgerEntry] = set()
    for source in sources:
        lines = {entry for entry in source.entries if entry.run_id and source.kind == "dataset"}
        entries += [entry for entry in source.entries if entry.kind != "budget" and entry not in shared]
        shared |= lines
    return tuple(entries)


def _name_perhaps_counted(stores: Sequence[Store], sources: Sequence[Source]) -> list[str]:
    """Say which releases without an id of their run may be counted by the ledger of a dataset as well."""
    unnamed = [
        store
        for store, source in zip(stores, sources, strict=True)
        if store.kind != "dataset" and any(e.counts and not e.run_id for e in source.entries)
    ]
    notes = []
    for dataset in (store for store in stores if store.kind == "dataset" and unnamed):
        own = keyed_file_hash(bytes.fromhex(dataset.manifest["commitment_key"]), dataset.file("jobs"))
        for release in unnamed:
            stated = release.document("certificate.json").get("confidential_inputs")
            if isinstance(stated, dict) and stated.get("jobs") == own:
                notes.append(
                    f"{release.path} was made from the jobs of {dataset.path} by a version that gave runs no id: if "
                    f"the ledger of {dataset.path} counts it, it counts twice, so the sum is an upper bound"
                )
    return notes


def _source(store: Store) -> Source:
    title, year = (store.manifest.get(name) for name in ("title", "year"))
    source = partial(Source, path=store.path, kind=store.kind, title=title, year=year)
    if store.kind == "dataset":
        return source(entries=Ledger(store.path).entries())
    certificate = store.document("certificate.json")
    try:
        entry = release_entry(**promised_amounts(certificate), release=store.path.name)
        protected = str(certificate["unit_of_protection"])
    except (KeyError, TypeError, AttributeError, ValueError, LedgerError) as error:
        raise StoreError(
            f"{store.path}/certificate.json: its promise cannot be read ({type(error).__name__}); use a release that "
            "`commutemap certify` accepts"
        ) from error
    return source(entries=(entry,), unit_of_protection=protected if entry.is_private else None)


def _copies(stores: Sequence[Store], sources: Sequence[Source]) -> list[str]:
    """Say which datasets are copies of one another, or imported from the same files."""
    datasets = [
        (store, source) for store, source in zip(stores, sources, strict=True) if store.kind == "dataset"
    ]
    first: dict[str, Source] = {}
    imported: dict[frozenset[str], Source] = {}
    notes = []
    for store, source in datasets:
        original = first.setdefault(store_digest(store.path), source)
        files = source_files(store.manifest)
        same = imported.setdefault(files, source) if files else source
        if original is not source:
            notes.append(
                f"{original.path} and {source.path} are copies of one dataset: {_describe_shared(original, source)}"
            )
        elif same is not source:
            notes.append(
                f"{same.path} and {source.path} were imported from the same files, so they are about the same workers"
            )
    return notes


def _describe_shared(original: Source, copy: Source) -> str:
    """What the ledgers of two copies of a dataset share, in words."""
    if any(
        e.counts and not e.run_id and (e.epsilon or e.delta) for e in original.entries if e.kind != "budget"
    ):
        return (
            "what was spent before the copy was made counts twice where its line has no id of the run, so the sum is "
            "an upper bound"
        )
    n_shared = len(_runs(original) & _runs(copy))
    counted = "1 run is in both ledgers, and counts once"
    return counted if n_shared == 1 else f"{n_shared:,} runs are in both ledgers, and count once each"


def _differences(sources: Sequence[Source]) -> list[str]:
    """Say where the promises that are added are not about the same thing."""
    notes = []
    by_itself = list(
        dict.fromkeys(
            reading.holds_for
            for source in sources
            for entry in source.entries
            for reading in entry.readings
            if reading.name == "probabilistic_differential_privacy"
        )
    )
    if len(by_itself) > 1:
        notes.append(
            f"the releases draw different groups of workers together ({'; '.join(by_itself)}), so their neighboring "
            "tables differ; the sum holds for one worker, who is in one group of each release"
        )
    protected = {source.unit_of_protection: source for source in sources if source.unit_of_protection}
    if len(protected) > 1:
        listed = "; ".join(f"{source.path}: {text}" for text, source in protected.items())
        notes.append(f"the certificates protect different things, and the sum is about all of them: {listed}")
    return notes
